//! EXPLAIN: the plan as noisegate sees it. Charges nothing, and is built from public data only.

use super::Plan;
use super::release::{Output, Part, PartKind, Release};
use crate::answer::{Field, Outcome, text_cells};
use crate::dp::Ratio;
use crate::policy::{Policy, Privacy};
use crate::sql::ast::{Expr, ExprKind};
use crate::sql::names::output_name;
use bigdecimal::{BigDecimal, ToPrimitive, Zero};
use bytes::Bytes;
use futures::StreamExt;

/// The lines of the plan.
pub fn lines(plan: &Plan, policy: &Policy) -> Vec<String> {
    let mut out = Vec::new();
    let Some(charge) = &plan.charge else {
        out.push("Price: nothing (no private rows are read)".into());
        for r in &plan.releases {
            out.push(format!("  Groups only: {}", r.groups_why));
        }
        return out;
    };
    let delta = if *charge.selection_delta.numer() == 0 {
        String::new()
    } else {
        format!(", delta {:.3e} to select private groups", approximate(&charge.selection_delta))
    };
    out.push(format!("Price: epsilon {}{delta}", decimal(&charge.epsilon)));
    for (i, r) in plan.releases.iter().enumerate() {
        release(&mut out, i + 1, r, plan, policy);
    }
    out.push(
        "Finish: everything above the releases is computed by PostgreSQL over the noisy values, at no price"
            .into(),
    );
    out
}

fn release(out: &mut Vec<String>, number: usize, r: &Release, plan: &Plan, policy: &Policy) {
    let name = |t: usize| policy.tables.get(t).map(|t| t.name.as_str()).unwrap_or_default();
    if r.is_domain_only() {
        out.push(format!("Release {number}: group keys alone, no private rows are read"));
        out.push(format!("  Groups {}", r.groups_why));
        return;
    }
    out.push(match r.parts.len() {
        0 => format!("Release {number}: group keys, selected by a noisy number of units"),
        1 => format!("Release {number}: discrete Laplace noise on 1 integer per group"),
        n => format!("Release {number}: discrete Laplace noise on {n} integers per group"),
    });
    for (place, scan) in r.source.scans.iter().enumerate() {
        let table = policy.tables.get(scan.table);
        let what = match table.map(|t| &t.privacy) {
            Some(Privacy::Private { unit, .. }) if place == r.source.private => {
                format!("private, unit {unit}")
            }
            _ if scan.nullable => "public, outer join".into(),
            _ => "public".into(),
        };
        out.push(format!("  Table {}: {what}", name(scan.table)));
    }
    if !r.source.filter.is_empty() {
        out.push(format!("  Filter: {} condition(s) on single rows", r.source.filter.len()));
    }
    out.push(format!("  Groups {}", r.groups_why));
    if let Some(s) = &r.spec.selection {
        out.push(format!(
            "    kept where the number of units, with noise of scale {}, is at least {}",
            decimal(&s.scale),
            s.threshold
        ));
    }
    for why in &r.bounding.why {
        out.push(format!("  Bound: {why}"));
    }
    for (part, noise) in r.parts.iter().zip(&r.spec.aggregates) {
        let unit = grid(part).map_or_else(String::new, |g| format!(" steps of {}", g.to_plain_string()));
        out.push(format!(
            "  Noise on {}: one unit changes at most {} group(s) by {}{unit}; scale {}{unit}",
            part.label,
            r.spec.l0,
            noise.linf,
            decimal(&noise.scale),
        ));
    }
    for (aggregate, output) in &r.outputs {
        let e = Expr::new(ExprKind::Aggregate(Box::new(aggregate.clone())), None);
        out.push(format!(
            "  Expected error of {}: {}",
            output_name(&e, &plan.statement.bindings),
            error95(r, output)
        ));
    }
}

fn grid(part: &Part) -> Option<&BigDecimal> {
    match &part.kind {
        PartKind::Sum(s) => Some(&s.grid),
        _ => None,
    }
}

/// The 95 % error of an aggregate: a number where it does not depend on the data, else a formula in n.
fn error95(r: &Release, output: &Output) -> String {
    let of = |part: usize| {
        let steps = r.spec.aggregates.get(part).map_or(0.0, |n| n.error95());
        let unit = r.parts.get(part).and_then(grid).and_then(ToPrimitive::to_f64).unwrap_or(1.0);
        steps * unit
    };
    match output {
        Output::Count(part) | Output::Sum(part, _) => format!("95 % within ±{}", short(of(*part))),
        Output::Avg { sum, count, .. } => {
            let span = match r.parts.get(*sum).map(|p| &p.kind) {
                Some(PartKind::Sum(s)) => ((&s.high - &s.low).to_f64().unwrap_or(0.0)) / 2.0,
                _ => 0.0,
            };
            // |s'/n' - s/n| <= (|sum error| + |mean - center| * |count error|) / n', with the mean within half the range.
            format!(
                "about 95 % within ±{} / n for n rows in the group (n above {})",
                short(of(*sum) + span * of(*count)),
                short(of(*count))
            )
        }
    }
}

fn short(x: f64) -> String {
    if x == 0.0 {
        "0".into()
    } else if x >= 100.0 || x.fract() == 0.0 {
        format!("{x:.0}")
    } else {
        let digits = usize::try_from((2 - x.log10().floor().to_i64().unwrap_or(0)).clamp(0, 12)).unwrap_or(2);
        format!("{x:.digits$}")
    }
}

fn approximate(r: &Ratio) -> f64 {
    r.numer().to_f64().unwrap_or(f64::NAN) / r.denom().to_f64().unwrap_or(f64::NAN)
}

/// A ratio as a short decimal.
pub fn decimal(r: &Ratio) -> String {
    let x = BigDecimal::from(*r.numer()) / BigDecimal::from(*r.denom());
    let text = x.round(6).normalized();
    if text.is_zero() && *r.numer() != 0 {
        return format!("{:.3e}", approximate(r));
    }
    text.to_plain_string()
}

/// The columns of EXPLAIN: one of text, like PostgreSQL's own.
pub fn fields() -> Vec<Field> {
    vec![Field { name: "QUERY PLAN".into(), type_oid: 25, type_size: -1, type_modifier: -1, format: 0 }]
}

/// The plan as rows under these columns; text looks the same in both formats.
pub fn outcome(plan: &Plan, policy: &Policy, fields: Vec<Field>) -> Outcome {
    let rows: Vec<Result<Bytes, crate::error::ClientError>> =
        lines(plan, policy).iter().map(|l| Ok(text_cells(&[Some(l)]))).collect();
    Outcome::Rows { fields, rows: futures::stream::iter(rows).boxed(), verb: "EXPLAIN", count: false }
}
