//! The parts that EXPLAIN is made of.

use crate::aggregates::{Axis, Cells};
use crate::algebra::source::{Leaf, Over, PrivateSource, Scan, SetTree};
use crate::bound::bounding::{Bounding, Groups, Norm, ProvenBy, Rows, Whose};
use crate::bound::work::Work;
use crate::expr::{Node, Scalar};
use crate::price::gaussian;
use crate::release::Release;
use crate::words::{approximate, decimal, distance, short};
use crate::{GroupingSets, Plan};
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive};
use dp::quantile::Selector;
use dp::suspicion::Meaning;
use dp::{self, Charge, Distribution, Noise, Notion, Ratio, Weights};
use policy::{Policy, Privacy};
use sql::ast::{Aggregate, BindingId, Bindings, Expr, ExprKind, Origin, Rule};
use sql::output::output_name;

/// Lines about stages: the releases that are paid for and read first, and their price.
pub(super) fn stages(out: &mut Vec<String>, plan: &Plan, charge: &Charge) {
    if plan.stages.is_empty() {
        return;
    }
    let mut left: Vec<usize> = (0..plan.releases.len())
        .filter(|i| plan.releases.get(*i).is_some_and(|r| !r.is_domain_only()))
        .collect();
    let step = |places: Vec<usize>| {
        let price = crate::price::shares::rest(plan, &places, charge)
            .map(|c| decimal(&c.epsilon))
            .unwrap_or_default();
        let numbers: Vec<String> = places.iter().map(|i| (i + 1).to_string()).collect();
        match places.len() {
            0 => "no release of its own".to_owned(),
            1 => format!("release {}, epsilon {price}", numbers.join(", ")),
            _ => format!("releases {}, epsilon {price}", numbers.join(", ")),
        }
    };
    for (i, stage) in plan.stages.iter().enumerate() {
        let (now, later) = left.iter().partition(|p| stage.releases.contains(p));
        left = later;
        let types: Vec<String> =
            stage.types.iter().map(|ty| ty.sql_name().trim_start_matches("pg_catalog.").to_owned()).collect();
        let (types, first) = (types.join(", "), stage.first + 2);
        let what = match stage.rows {
            None => format!("its value, of type {types}, is ${first}"),
            Some(n) => {
                format!("its rows ({types}), at most {n}, are ${first} to ${}", first + stage.width() - 1)
            }
        };
        out.push(format!(
            "Stage {}: {}; {what} in what comes after it, whose price does not depend on it",
            i + 1,
            step(now),
        ));
    }
    out.push(format!("Stage {}: {}", plan.stages.len() + 1, step(left)));
}

pub(super) fn release(out: &mut Vec<String>, number: usize, r: &Release, plan: &Plan, policy: &Policy) {
    if r.is_domain_only() {
        out.push(format!("Release {number}: group keys alone, no private rows are read"));
        out.push(format!("  Groups {}", r.groups_why));
        return;
    }
    let sets = plan.grouping_sets.iter().find(|s| s.select == r.select);
    let is_gaussian = |d: &Distribution| matches!(d, Distribution::Gaussian { .. });
    let gaussian = r.spec.aggregates.iter().any(|a| is_gaussian(&a.distribution));
    let noise = if gaussian { "Gaussian" } else { "Laplace" };
    out.push(match r.parts.len() {
        n if r.cells.is_some() => {
            format!("Release {number}: {n} choice(s) per group, among points of a public grid")
        }
        0 => match r.round {
            None => format!("Release {number}: group keys, selected by a noisy number of units"),
            Some(round) => format!(
                "Release {number}: group keys, round {} of {}: selected by a noisy sum of what units weigh{}",
                round + 1,
                dp::ROUNDS,
                if round > 0 { ", of those that no round before has selected" } else { "" }
            ),
        },
        1 => format!("Release {number}: discrete {noise} noise on 1 integer per group"),
        n => format!("Release {number}: discrete {noise} noise on {n} integers per group"),
    });
    if r.is_later_round() {
        // The rest is as in the first.
        out.extend(r.spec.selection.as_ref().map(selection));
        out.extend(share(r, plan));
        return;
    }
    relations(out, &r.source, policy);
    if let Some(sets) = sets {
        let keys = sets.sets.iter().find(|s| s.of == r.set).map(|s| s.of_keys.as_slice()).unwrap_or_default();
        out.push(format!("  Grouping set ({}): {}", labels(sets, keys, plan), sets.why));
    }
    if !r.source.filter.is_empty() {
        out.push(format!("  Filter: {} condition(s) on single rows", r.source.filter.len()));
    }
    out.push(format!("  Groups {}", r.groups_why));
    out.extend(r.spec.selection.as_ref().map(selection));
    if !r.groups_remedy.is_empty() {
        out.push(format!("    to make them public: {}", r.groups_remedy));
    }
    let idle = usize::from(r.bounding.rows_stage() && !r.counts_rows());
    for why in bounds(&r.bounding, r.norm()).into_iter().skip(idle) {
        out.push(format!("  Bound: {why}"));
    }
    // What nobody has measured is said of the whole statement.
    out.extend(bias(r).filter(|_| !is_unmeasured(r)).map(|bias| format!("  Bias: {bias}")));
    out.extend(super::cut::profile(r));
    out.extend(r.own_norms().filter_map(|own| super::cut::profile_of_sums(r, own)));
    if let Some(ranking) = &r.ranking {
        out.push(format!("  Top {}: {}", ranking.k, ranking.why));
    }
    if let Some(top) = &r.spec.top {
        out.push(format!(
            "  Choice of groups: by {}, {} time(s) with epsilon {}; one unit changes each count by at most {}",
            mechanism(top.selector()),
            top.choices(),
            decimal(&top.level()),
            top.sensitivity()
        ));
    }
    out.extend(work(&r.work));
    if let Some((cells, points)) = r.cells.as_ref().zip(r.spec.points.as_ref()) {
        chosen(out, r, cells, points);
    }
    if r.is_within() && r.cells.is_none() {
        out.push(
            "  Values are counted in the groups that are selected for the same rows, and in no others".into(),
        );
    }
    for (i, (part, noise)) in r.parts.iter().zip(&r.spec.aggregates).enumerate() {
        if r.spec.counted == Some(i) {
            out.push(format!(
                "  Noise on {}: that of the selection, drawn once; what is compared with the threshold is what is released",
                part.label
            ));
            continue;
        }
        let unit = part.unit();
        let by = noise.sensitivity;
        let numbers = |n: u128| short(n as f64 / f64::from(noise.steps));
        let spread = r.norm().filter(|_| part.kind.adds_rows());
        let change = match (spread, r.bounding.of_groups()) {
            (Some(Norm::Squares(_)), _) => {
                format!("its groups, squared, by at most {}²{unit} in all", numbers(by.linf))
            }
            (Some(Norm::Sum(_)), _) | (None, Groups::InAll(_) | Groups::Values) => {
                format!("its groups by at most {}{unit} in all", numbers(by.l1))
            }
            (None, _) => format!("at most {} group(s) by {}{unit}", by.groups, numbers(by.linf)),
        };
        out.push(format!(
            "  Noise on {}: one unit changes {change}; {}",
            part.label,
            parameter(noise, &unit),
        ));
    }
    out.extend(split(r));
    out.extend(share(r, plan));
    for (aggregate, output) in &r.outputs {
        let note = output.note(&r.drawn(), &name(aggregate, &plan.statement.bindings));
        out.extend(note.map(|note| format!("  {note}")));
    }
    if sets.is_none_or(|s| s.sets.iter().any(|s| s.of == r.set && s.added.is_none())) {
        expected(out, r, 1, "", plan);
    }
    for (sets, set) in sets.iter().flat_map(|s| s.sets.iter().map(move |set| (s, set))) {
        if let Some(cells) = set.added.filter(|_| set.of == r.set) {
            let of = labels(sets, &set.keys, plan);
            out.push(format!(
                "  Grouping set ({of}): adds up at most {cells} released group(s) for each of its own, at no price"
            ));
            expected(out, r, cells, "in it, ", plan);
        }
    }
}

/// Which private groups are kept.
fn selection(s: &dp::Selection) -> String {
    let whole = s.weights.whole() as f64;
    let weighed = |one: &str| {
        let noise = match &s.noise {
            Distribution::Laplace { scale } => format!("scale {}", short(approximate(scale) / whole)),
            Distribution::Gaussian { variance } => {
                format!("sigma {}", short(approximate(variance).sqrt() / whole))
            }
            Distribution::None => "nothing".into(),
        };
        let threshold = short(s.threshold as f64 / whole);
        format!(
            "    kept where what units weigh, {one} of one in s groups, adds up to at least {threshold} with noise of {noise}"
        )
    };
    match s.weights {
        Weights::Units => format!(
            "    kept where the number of units, with noise of {}, is at least {}",
            parameter(&Noise::new(s.weights.sensitivity(1), s.noise), ""),
            s.threshold
        ),
        Weights::Sum(_) => weighed("1/s"),
        Weights::Squares(_) => weighed("1/√s"),
    }
}

/// The names of keys of grouping sets.
fn labels(sets: &GroupingSets, keys: &[usize], plan: &Plan) -> String {
    let keys = keys.iter().filter_map(|k| sets.keys.get(*k));
    keys.map(|(e, _)| output_name(e, &plan.statement.bindings)).collect::<Vec<_>>().join(", ")
}

/// How the price of a release is split over its integers and its selection, where that is not evenly.
fn split(r: &Release) -> Option<String> {
    let of = |by: dp::Sensitivity, noise: &Distribution| match noise {
        Distribution::None => 0.0,
        Distribution::Laplace { scale } => by.l1 as f64 / approximate(scale),
        Distribution::Gaussian { variance } => by.l2_squared as f64 / approximate(variance),
    };
    let own = r.parts.iter().zip(&r.spec.aggregates).enumerate().filter(|(i, _)| r.spec.counted != Some(*i));
    let own = own.map(|(_, (part, noise))| (of(noise.sensitivity, &noise.distribution), part.label.as_str()));
    let selection = r.spec.selection.iter();
    let selection = selection.map(|s| (of(s.weights.sensitivity(r.spec.l0), &s.noise), "the selection"));
    let shares: Vec<(f64, &str)> = own.chain(selection).filter(|(share, _)| *share > 0.0).collect();
    let all: f64 = shares.iter().map(|(share, _)| share).sum();
    let even = |share: f64| (share * shares.len() as f64 / all - 1.0).abs() < 1e-6;
    if shares.iter().all(|(share, _)| even(*share)) {
        return None;
    }
    let each: Vec<String> =
        shares.iter().map(|(share, what)| format!("{:.0} % for {what}", 100.0 * share / all)).collect();
    Some(format!("  Split of its price, by how much each error matters: {}", each.join(", ")))
}

/// What part of the statement's price falls to a release, where these are not even.
///
/// With E the sum of the ε of all that is chosen or has Laplace noise, the price is E² + Σεᵢ² (`Charge::of`): εE and εᵢ² are parts
/// of it that add up, and of a statement without Gaussian noise they are as the ε.
fn share(r: &Release, plan: &Plan) -> Option<String> {
    let float = |r: &dp::BigRatio| r.numer().to_f64().unwrap_or(0.0) / r.denom().to_f64().unwrap_or(1.0);
    let of = |r: &Release| {
        let used = dp::Used::by([&r.spec]).unwrap_or_default();
        (float(&used.pure), float(&used.squares))
    };
    let all: Vec<(f64, f64)> = plan.releases.iter().map(of).collect();
    let sum: f64 = all.iter().map(|(epsilon, _)| epsilon).sum();
    let part = |(epsilon, square): &(f64, f64)| epsilon * sum + square;
    let parts: Vec<f64> = all.iter().map(part).filter(|part| *part > 0.0).collect();
    let (own, whole): (f64, f64) = (part(&of(r)), parts.iter().sum());
    // Roots are rounded to six digits.
    let even = |part: &f64| (part * parts.len() as f64 / whole - 1.0).abs() < 1e-4;
    if own == 0.0 || parts.iter().all(even) {
        return None;
    }
    let unit = if all.iter().any(|(_, square)| *square > 0.0) { "the square of epsilon" } else { "epsilon" };
    Some(format!("  Share of the statement's price: {:.0} % of {unit}", 100.0 * own / whole))
}

/// Name of an aggregate's number.
pub fn name(aggregate: &Aggregate, bindings: &Bindings) -> String {
    let written = output_name(&Expr::new(ExprKind::Aggregate(Box::new(aggregate.clone())), None), bindings);
    match aggregate.origin {
        Origin::AddedBy(Rule::MonthsOfAges) => format!("{written} in months"),
        Origin::AddedBy(Rule::RestOfAges) => format!("{written} below a month in seconds"),
        _ => written,
    }
}

/// The error of each aggregate, where so many groups are added up.
fn expected(out: &mut Vec<String>, r: &Release, cells: usize, place: &str, plan: &Plan) {
    for (aggregate, output) in &r.outputs {
        out.push(format!(
            "  Expected error of {}: {place}{}",
            name(aggregate, &plan.statement.bindings),
            output.error95(&r.added_up(cells))
        ));
    }
}

fn mechanism(selector: Selector) -> &'static str {
    match selector {
        Selector::Exponential => "the exponential mechanism",
        Selector::PermuteAndFlip => "permute-and-flip",
    }
}

/// How points are chosen.
fn chosen(out: &mut Vec<String>, r: &Release, cells: &Cells, points: &dp::Points) {
    let label = r.keys.last().map(|k| k.label.as_str()).unwrap_or_default();
    let grid = match &cells.axis {
        Axis::Grid { step, low, high, of } if of.is_datetime() => {
            let days = ((high - low) / BigDecimal::from(86_400)).round(0);
            format!("{} apart over {} days", distance(step, of), days.to_plain_string())
        }
        Axis::Grid { step, low, high, .. } => {
            let [low, high, step] = [low, high, step].map(|x| x.to_plain_string());
            format!("{low} to {high} by {step}")
        }
        Axis::Values | Axis::Listed(_) => "the values themselves".into(),
    };
    out.push(format!("  {label}: {grid}, at most {}; rows are counted at the nearest", cells.points));
    let mechanism = mechanism(points.selector());
    if r.is_within() {
        out.push(
            "  Points are chosen in the groups that are selected for the same rows, and in no others".into(),
        );
    }
    let level = decimal(&points.level());
    let parts: Vec<&str> = r.parts.iter().map(|p| p.label.as_str()).collect();
    out.push(format!(
        "  Choice of {}: by {mechanism}, {} time(s) with epsilon {level}; one unit weighs at most {} row(s) in all groups together",
        parts.join(", "),
        points.levels(),
        r.bounding.rows() * r.bounding.l0()
    ));
}

/// Work that one row can make the database do, in words.
pub(crate) fn work(w: &Work) -> Option<String> {
    let steps = match w.steps {
        0 => None,
        1 => Some("1 step".to_owned()),
        n => Some(format!("up to {n} steps")),
    };
    let met = match w.fan_out {
        1 => None,
        n => Some(format!("meets up to {n} public rows")),
    };
    let of_a_row = match (steps, met) {
        (None, None) => return None,
        (Some(steps), None) => format!("takes {steps}"),
        (None, Some(met)) => met,
        (Some(steps), Some(met)) => format!("takes {steps} and {met}"),
    };
    Some(format!("  Work: a row {of_a_row}"))
}

/// Whether nobody knows how many rows its bounds cut.
fn is_unmeasured(r: &Release) -> bool {
    r.bounding.cut().is_none() && r.lost_rows().is_some_and(f64::is_nan)
}

/// Words about cuts: rows, when they were measured, from which on counts and sums are too low; and
/// distinct values, when units may have more than count.
pub fn bias(r: &Release) -> Option<String> {
    if *r.bounding.of_groups() == Groups::Values {
        let added = r.parts.iter().any(|p| p.kind.adds_values());
        let what = if added { "are not in the sum" } else { "the number of distinct values is too low" };
        return Some(format!(
            "at most {} values of a unit count: where units have more, values that few units have may be missed, and {what}; SET noisegate.max_groups counts more of them, with more noise",
            r.bounding.rows()
        ));
    }
    if is_unmeasured(r) {
        let (rows, unknown) = (r.bounding.rows(), super::cut::unmeasured(r));
        return Some(match r.bounding.l0_stage() {
            true => format!("rows of a unit count in at most {} groups, and {unknown}", r.bounding.kept()),
            false => format!("at most {rows} rows of a unit count, and {unknown}"),
        });
    }
    let cut = r.bounding.cut()?;
    let about = if matches!(r.norm(), Some(Norm::Squares(_))) { "up to" } else { "about" };
    let percent = (&cut.share * BigDecimal::from(100)).with_scale_round(1, RoundingMode::HalfUp).normalized();
    (percent >= 1).then(|| {
        format!(
            "at most {} rows of a unit count: {about} {} % of the rows of {} do not, and counts and sums are too low by as much",
            cut.most,
            percent.to_plain_string(),
            cut.table
        )
    })
}

/// Bounds on a unit's contribution, in words. `norm`: in which its rows are spread over groups.
pub fn bounds(b: &Bounding, norm: Option<Norm>) -> Vec<String> {
    match norm {
        Some(Norm::Sum(n)) => {
            return vec![format!(
                "at most {n} rows per unit in all groups: the sums and counts of a unit with more are scaled down"
            )];
        }
        Some(Norm::Squares(n)) => {
            return vec![format!(
                "rows of a unit in each group, squared, add up to at most {n}²: the sums and counts of a unit with more are scaled down"
            )];
        }
        None => {}
    }
    if *b.of_groups() == Groups::Values {
        return vec![format!(
            "at most {} values per unit in all groups: others are dropped in a random order",
            b.rows()
        )];
    }
    let rows = match b.of_rows() {
        Rows::Proven(1, ProvenBy::Unit { table, column }) => {
            format!("one row per unit: {table}.{column} is a key; nothing to bound")
        }
        Rows::Proven(1, ProvenBy::Grouped) => {
            "one row per unit: its rows are grouped below; nothing to bound".into()
        }
        Rows::Proven(1, _) => "one row per unit: keys prove it; nothing to bound".into(),
        Rows::Proven(n, ProvenBy::Check(table)) => {
            format!("at most {n} rows per unit: a key and a CHECK of {table} prove it; nothing to bound")
        }
        Rows::Proven(n, _) => format!("at most {n} rows per unit: keys prove it; nothing to bound"),
        Rows::Scaled(n, whose) => {
            let whose = match whose {
                Whose::Own => String::new(),
                Whose::Multiplied => " (the statement's: the joins multiply rows)".into(),
                Whose::Kept(table) => format!(" (the bound of {table}, whose rows the joins keep)"),
            };
            let group = if b.has_keys() { " and group" } else { "" };
            format!(
                "at most {n} rows per unit{group}{whose}: the sums and counts of a unit with more are scaled down"
            )
        }
    };
    let groups = match b.of_groups() {
        Groups::Only | Groups::Each | Groups::Values => None,
        Groups::OneRow => Some("one group per unit: it has one row; nothing to drop".to_owned()),
        Groups::OfUnit => Some("one group per unit: its keys follow from the unit; nothing to drop".into()),
        Groups::Exact(n) => Some(format!("at most {n} groups per unit: there are no more; nothing to drop")),
        Groups::NoMoreRows(n) => {
            Some(format!("at most {n} groups per unit: it has no more rows; nothing to drop"))
        }
        Groups::InAll(_) => Some("any number of groups: they have no more rows together".into()),
        Groups::Spread => Some("any number of groups: their rows are bounded together".into()),
        Groups::Ranked(n) => {
            Some(format!("at most {n} groups per unit: others are dropped in a random order"))
        }
    };
    std::iter::once(rows).chain(groups).collect()
}

/// Lines about relations: which are read, whose they are, and which conditions joins were given.
pub(crate) fn relations(out: &mut Vec<String>, source: &PrivateSource, policy: &Policy) {
    let scan_of = |b: BindingId| source.scans.iter().chain(&source.inside).find(|s| s.binding == b);
    let table_of = |s: &Scan| s.table().and_then(|t| policy.tables.get(t));
    for (scan, place) in source
        .scans
        .iter()
        .map(|s| (s, if s.nullable { ", outer join" } else { "" }))
        .chain(source.inside.iter().map(|s| (s, ", inside a subquery")))
    {
        let Some(table) = table_of(scan) else {
            let Leaf::Set(rows) = &scan.leaf else { continue };
            let name = &rows.unit_name;
            let what = match &rows.tree {
                _ if let Some((table, most)) = rows.capped => {
                    let table = policy.tables.get(table).map_or("", |t| &t.name);
                    format!(
                        "Table {table}: private, unit {name}; of each unit at most {most} rows (limits.max_joined_rows), since no key narrows what these meet"
                    )
                }
                SetTree::Branch(b) if matches!(b.over, Over::Groups(_)) => {
                    format!("Groups within units: private, unit {name}")
                }
                SetTree::Branch(b) if matches!(b.over, Over::Windows(_)) => {
                    format!("Windows within units: private, unit {name}")
                }
                _ if rows.unit.is_none() => {
                    let given = |s: &Scalar| matches!(s.node(), Node::Given(_));
                    match rows.branches().first().is_some_and(|b| b.filter.iter().any(given)) {
                        true => "Rows released before: public".to_owned(),
                        false => "Rows of the statement: public".to_owned(),
                    }
                }
                _ => format!("Set operation: private, unit {name} in every branch"),
            };
            out.push(format!("  {what}{place}"));
            continue;
        };
        let what = match (&table.privacy, scan.serves.and_then(scan_of).and_then(table_of)) {
            (_, Some(child)) => format!("private, read because rows of {} lead to it", child.name),
            (Privacy::Private { unit, .. }, None) => format!("private, unit {unit}"),
            (Privacy::Path(path), None) => format!("private, unit by {}", path.text(policy)),
            (Privacy::Public, None) => "public".into(),
        };
        out.push(format!("  Table {}: {what}{place}", table.name));
    }
    for added in &source.added {
        let (l, r) = (&added.left, &added.right);
        let which = match (added.inside, added.written) {
            (false, false) => "added to a join",
            (true, false) => "added inside a subquery",
            (_, true) => "as written",
        };
        out.push(if added.path {
            let each: Vec<String> = l.iter().zip(r).map(|(l, r)| format!("{l} = {r}")).collect();
            format!("  Condition {}, {which}: it leads to the unit", each.join(" AND "))
        } else {
            let one = |list: &[String]| match list {
                [one] => one.clone(),
                several => format!("COALESCE({})", several.join(", ")),
            };
            format!("  Condition {} = {}, {which}: rows of one unit meet", one(l), one(r))
        });
    }
    if !source.optional.is_empty() {
        out.push("  Read as an inner join: public LEFT JOIN private; rows without partners add nothing, and all groups come back".into());
    }
}

/// Scale or standard deviation.
pub fn parameter(noise: &Noise, unit: &str) -> String {
    let steps = f64::from(noise.steps);
    match &noise.distribution {
        Distribution::None => "no noise".into(),
        Distribution::Laplace { scale } if noise.steps == 1 => format!("scale {}{unit}", decimal(scale)),
        Distribution::Laplace { scale } => format!("scale {}{unit}", short(approximate(scale) / steps)),
        Distribution::Gaussian { variance } => {
            format!("sigma {}{unit}", short(approximate(variance).sqrt() / steps))
        }
    }
}

/// Meaning of a charge for a person: from ε, or from ρ at the policy's δ of a statement when noise
/// is Gaussian.
pub(super) fn meaning(charge: &dp::Charge, policy: &Policy) -> Meaning {
    let selection = up(approximate(&charge.selection_delta));
    match Notion::Zcdp.price(charge) {
        Ok(cost) if gaussian(charge) => {
            let delta = policy.statement.delta.to_f64().unwrap_or(0.0);
            let rho = up(cost.loss as f64 / dp::UNITS_PER_ONE as f64);
            Meaning::of(dp::cdp::epsilon(rho, delta), up(delta + selection))
        }
        _ => Meaning::of(up(approximate(&charge.epsilon)), selection),
    }
}

/// Meaning of all answers of a stream for a person.
pub(crate) fn meaning_of_stream(charge: &dp::Charge, delta: &Ratio) -> Meaning {
    Meaning::of(up(approximate(&charge.epsilon)), up(approximate(delta)))
}

/// A float that is no less than what was rounded to `x` a few times.
fn up(x: f64) -> f64 {
    x * (1.0 + 4.0 * f64::EPSILON)
}

/// Units of a notion as a short decimal.
pub(super) fn units(units: u128) -> String {
    short(units as f64 / dp::UNITS_PER_ONE as f64)
}
