//! A plan in sentences for whoever asks: how wrong the answer will be, and what is cut. From public data only (soundness
//! rule 30), like the numbers in [`crate::explain`].

use crate::Plan;
use crate::bound::bounding::{Groups, Norm, Rows};
use crate::quantile_ends::is_end;
use crate::release::expected_error::{deciding, fixed95, moment_errors, part_error};
use crate::release::output::Statistic;
use crate::release::{Output, Release};
use crate::words::decimal;
use crate::words::short;
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use dp::Pick;
use policy::Policy;
use sql::ast::{Aggregate, Expr, ExprKind};
use sql::names::derive;

/// How wrong the answer will be, and what is cut; of what costs nothing, what it is.
pub fn sentences(plan: &Plan, policy: &Policy) -> Vec<String> {
    let collected = super::collected::of(plan, policy);
    let estimated = || collected.iter().flat_map(|c| super::collected::sentences(c));
    if plan.charge.is_none() {
        if plan.free.is_none() && !collected.is_empty() {
            return estimated().collect();
        }
        let told = match &plan.free {
            Some(free) => format!("{}.", free.line()),
            None => "The answer is exact.".to_owned(),
        };
        return vec![told];
    }
    let price = plan.accuracy.as_ref().zip(plan.charge.as_ref());
    let price = price.map(|(reached, charge)| {
        let (wanted, epsilon) = (short(reached.wanted.half_width), decimal(&charge.epsilon));
        format!(
            "Epsilon {epsilon} is the least price for an accuracy of ±{wanted}: each number is {}.",
            reached.told()
        )
    });
    price.into_iter().chain([errors(plan), cuts(plan, policy)]).chain(estimated()).collect()
}

fn paying(plan: &Plan) -> impl Iterator<Item = &Release> {
    plan.releases.iter().filter(|r| !r.is_domain_only())
}

/// `a, b and c`.
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

fn add(list: &mut Vec<String>, item: String) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn errors(plan: &Plan) -> String {
    let mut each = Vec::new();
    for r in paying(plan) {
        for (aggregate, output) in r.outputs.iter().filter(|(a, _)| !is_end(a)) {
            add(&mut each, error(r, output, &super::parts::name(aggregate, &plan.statement.bindings)));
        }
    }
    if each.is_empty() {
        return "Noise decides which groups come back; no number of theirs is told.".into();
    }
    let by_rows = each.iter().any(|e| e.contains("/ n"));
    let n = if by_rows { ", n being the number of its rows" } else { "" };
    let ends = paying(plan).any(|r| r.outputs.iter().any(|(a, _)| is_end(a)));
    let ends =
        if ends { "; each end of a quantile's interval is a choice that shares its price" } else { "" };
    let totals = plan.grouping_sets.iter().flat_map(|s| &s.sets).any(|s| s.added.is_some());
    let totals = if totals { "; totals of groups are off by more" } else { "" };
    format!("95 times in 100, noise leaves {}{n}{ends}{totals}.", listed(&each))
}

/// One aggregate's, as `count within ±30`.
fn error(r: &Release, output: &Output, name: &str) -> String {
    let of = |part: usize| part_error(r, part);
    match output {
        Output::Count(_) | Output::Sum(..) | Output::CentredSum { .. } => {
            format!("{name} within ±{}", short(fixed95(r, output).unwrap_or(0.0)))
        }
        Output::Zero(_) => format!("{name} exact"),
        Output::Constant { .. } => format!("{name} exact where there are rows"),
        Output::Avg { sum, count, low, high, .. } => {
            let span = (high - low).to_f64().unwrap_or(0.0) / 2.0;
            format!("{name} within ±{} / n", short(of(*sum) + span * of(*count)))
        }
        Output::Moment(m) => {
            let (middle, end) = moment_errors(r, m);
            let (middle, end) = (short(middle), short(end));
            match m.what {
                Statistic::Variance { root: false, .. } | Statistic::Covariance { .. } => {
                    format!("{name} within ±{middle} / n to ±{end} / n")
                }
                Statistic::Variance { root: true, .. } => {
                    format!("the square of {name} within ±{middle} / n to ±{end} / n")
                }
                Statistic::Squares | Statistic::Products => format!("{name} within ±{middle} to ±{end}"),
                _ => format!("the covariance that {name} rests on within ±{middle} / n to ±{end} / n"),
            }
        }
        Output::Points { parts, .. } => {
            let Some((points, cells)) = r.spec.points.as_ref().zip(r.cells.as_ref()) else {
                return name.to_owned();
            };
            let error = short(points.error95(cells.points).ceil());
            match parts.iter().any(|part| cells.picks.get(*part) == Some(&Pick::Mode)) {
                true => format!("{name} a value with at most {error} rows fewer than the most frequent"),
                false => format!("{name} within {error} rows of its rank"),
            }
        }
        Output::Truth { deciding: part, .. } => {
            format!("{name} right where no row decides it, or {} do", 2 * deciding(r, *part, 1))
        }
    }
}

pub(crate) fn cuts(plan: &Plan, policy: &Policy) -> String {
    let unit = policy.unit_column();
    let mut each = Vec::new();
    for r in paying(plan) {
        if let Some(s) = r.spec.selection.as_ref().filter(|_| !r.is_followed()) {
            add(&mut each, format!("groups with fewer than about {} {unit}s stay hidden", s.units()));
        }
        bounds(&mut each, r, unit);
        for (aggregate, output) in r.outputs.iter().filter(|(a, _)| !is_end(a)) {
            for (name, low, high) in ranges(r, aggregate, output, plan) {
                let [low, high] = [low, high].map(|x| x.normalized().to_plain_string());
                add(&mut each, format!("{name} is cut to {low} to {high}"));
            }
        }
    }
    match each.is_empty() {
        true => "Nothing is cut.".into(),
        false => format!("Before the noise: {}.", each.join("; ")),
    }
}

/// How the rows of a unit are bounded, where that can bind.
fn bounds(each: &mut Vec<String>, r: &Release, unit: &str) {
    let bounding = &r.bounding;
    let most = |n: u32, what: &str| match n {
        1 => format!("at most 1 {what} of a {unit} counts"),
        n => format!("at most {n} {what}s of a {unit} count"),
    };
    match (r.norm(), bounding.of_groups()) {
        (Some(Norm::Sum(n, None)), _) => add(each, most(n, "row")),
        (Some(Norm::Sum(n, Some(in_one))), _) => {
            add(each, format!("{} in one group, {n} in all", most(in_one, "row")));
        }
        (Some(Norm::Squares(n)), _) => {
            // The square root of 2^53 and more is none that anybody has rows for.
            let rows = (n as f64).sqrt().floor() as u32;
            add(
                each,
                format!("at most {rows} rows of a {unit} count in one group, fewer in each of several"),
            );
        }
        (None, Groups::Values) => add(each, most(bounding.rows(), "different value")),
        (None, groups) => {
            if let (Rows::Scaled(n, _), true) = (bounding.of_rows(), r.counts_rows()) {
                let in_each = if bounding.has_keys() { " in each group" } else { "" };
                add(each, format!("{}{in_each}", most(*n, "row")));
            }
            if let Groups::Ranked(n) = groups {
                add(each, most(*n, "group"));
            }
        }
    }
    let Some(cut) = bounding.cut().filter(|_| !matches!(r.norm(), Some(Norm::Squares(_)))) else { return };
    let percent = (&cut.share * BigDecimal::from(100)).with_scale_round(1, RoundingMode::HalfUp).normalized();
    if percent >= 1 {
        let percent = percent.to_plain_string();
        add(each, format!("about {percent} % of the rows of {} are left out by that", cut.table));
    }
}

/// The columns that an aggregate cuts to ranges.
fn ranges(
    r: &Release,
    aggregate: &Aggregate,
    output: &Output,
    plan: &Plan,
) -> Vec<(String, BigDecimal, BigDecimal)> {
    let name =
        |e: &Expr| matches!(e.kind, ExprKind::Column { .. }).then(|| derive(e, &plan.statement.bindings).1);
    let names: Vec<Option<String>> = aggregate.args.iter().map(name).collect();
    let named = |at: usize, low: BigDecimal, high: BigDecimal| -> Vec<_> {
        let name = names.get(at).cloned().flatten();
        name.map(|name| (name, low, high)).into_iter().collect()
    };
    match output {
        Output::Sum(part, ty) | Output::CentredSum { sum: part, ty, .. } if ty.is_number() => {
            let ends = r.parts.get(*part).and_then(|p| p.kind.on_grid()).map(|s| s.range());
            ends.map_or_else(Vec::new, |(low, high)| named(0, low, high))
        }
        Output::Avg { ty, low, high, .. } if ty.is_number() => named(0, low.clone(), high.clone()),
        Output::Moment(m) => {
            // Of two arguments the first is the one that depends.
            let variables = m.y.iter().chain(std::iter::once(&m.x)).enumerate();
            variables.flat_map(|(i, v)| named(i, &v.centre - &v.half, &v.centre + &v.half)).collect()
        }
        _ => Vec::new(),
    }
}
