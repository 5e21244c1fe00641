//! A plan in sentences: how wrong the answer will be, and what is cut. From public data only
//! (soundness rule 30), like the numbers in [`crate::explain`].

use super::cut;
use crate::aggregates::Output;
use crate::bound::bounding::{Groups, Norm, Rows};
use crate::quantile_ends::is_end;
use crate::release::Release;
use crate::words::decimal;
use crate::words::short;
use crate::{Plan, Unsure};
use bigdecimal::{BigDecimal, RoundingMode};
use policy::Policy;
use sql::ast::{Aggregate, Body, Expr, ExprKind};
use sql::output::derive;
use std::collections::BTreeSet;

/// Sentences about the error of the answer, and about what is cut; of a plan that costs nothing,
/// what it is.
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
    price
        .into_iter()
        .chain([errors(plan), cuts(plan, policy)])
        .chain(what_cuts(plan, policy))
        .chain(unsure(plan))
        .chain(estimated())
        .collect()
}

/// A sentence about the values that come back as NULL, and about those of which nobody knows what they say.
pub fn unsure(plan: &Plan) -> Option<String> {
    let Unsure { judged, kept } = plan.unsure.as_ref()?;
    let Body::Select(select) = &plan.statement.query.body else {
        return Some("No value is judged by noisegate.unsure: rows are those of a set operation.".into());
    };
    let names = |places: &BTreeSet<usize>| -> Vec<String> {
        places.iter().filter_map(|i| select.items.get(*i)).map(|item| item.name.clone()).collect()
    };
    let (judged, kept) = (names(judged), names(kept));
    let stay = |kept: &[String]| {
        let verb = if kept.len() == 1 { "is" } else { "are" };
        format!("{} {verb} kept, since nobody knows an interval", listed(kept))
    };
    match (judged.as_slice(), kept.as_slice()) {
        ([], []) => None,
        ([], kept) => Some(format!("No value is judged by noisegate.unsure: {}.", stay(kept))),
        (judged, kept) => {
            let verb = if judged.len() == 1 { "is" } else { "are" };
            let others = if kept.is_empty() { String::new() } else { format!("; {}", stay(kept)) };
            let names = listed(judged);
            Some(format!(
                "{names} {verb} NULL where noise leaves nothing to see (noisegate.unsure = null){others}."
            ))
        }
    }
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
            let name = super::parts::name(aggregate, &plan.statement.bindings);
            add(&mut each, output.sentence(&r.drawn(), &name));
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
        (Some(Norm::Sum(n)), _) => add(each, most(n, "row")),
        (Some(Norm::Squares(n)), _) => {
            let several = "fewer in each of several";
            add(each, format!("{} in one group, {several}", most(n, "row")));
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
    for bounded in r.own_norms().filter_map(|own| cut::bounded(own, bounding.has_keys())) {
        add(each, format!("{bounded} of a {unit}"));
    }
    let Some(cut) = bounding.cut() else { return };
    let percent = (&cut.share * BigDecimal::from(100)).with_scale_round(1, RoundingMode::HalfUp).normalized();
    if percent >= 1 {
        let percent = percent.to_plain_string();
        let about = if matches!(r.norm(), Some(Norm::Squares(_))) { "at most" } else { "about" };
        add(each, format!("{about} {percent} % of the rows of {} are left out by that", cut.table));
    }
}

/// A sentence about what the bounds of a plan cut.
pub(crate) fn what_cuts(plan: &Plan, policy: &Policy) -> Option<String> {
    let mut each = Vec::new();
    for r in paying(plan) {
        let cut = cut::measured(r, policy.unit_column()).into_iter().chain(cut::of_sums(r));
        cut.for_each(|cut| add(&mut each, cut));
    }
    let mut text = each.join("; ");
    text.get_mut(..1)?.make_ascii_uppercase();
    Some(text + ".")
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
    let cuts = output.cuts(&r.drawn()).into_iter();
    cuts.filter_map(|(at, low, high)| Some((names.get(at).cloned().flatten()?, low, high))).collect()
}
