//! Helps: a statement is planned anew with one fact of the policy or one setting changed, and its
//! noise compared.

use crate::cli::offline::Offline;
use bigdecimal::BigDecimal;
use plan::{Plan, Settings};
use policy::{Domain, Policy, Privacy, Range, Table};
use schema::SqlType;
use sql::parse::Parsed;

/// Changes that are told.
const TOLD: usize = 3;

/// What leaves more noise than this of what there was is no help.
const WORTH: f64 = 0.95;

/// A change, and how wide the noise is with it.
pub(super) struct Help {
    /// The change.
    pub change: String,
    /// Times as wide as before, of the number that it helps most; None where the rows decide it.
    pub factor: Option<f64>,
}

/// The best changes first.
pub(super) fn of(plan: &Plan, parsed: &Parsed, offline: &Offline) -> Vec<Help> {
    let mut helps = Vec::new();
    let mut attempt = |change: String, policy: &Policy, settings: &Settings| {
        let planned = offline.plan(parsed.clone(), policy, settings).ok();
        let factor = planned.and_then(|new| factor(plan, &new));
        if let Some(factor) = factor.filter(|f| *f < WORTH) {
            helps.push(Help { change, factor: Some(factor) });
        }
    };
    let (policy, settings) = (&offline.policy, &offline.settings);
    let mut measure = Vec::new();
    if settings.max_groups > 1 {
        let max_groups = settings.max_groups.div_ceil(2);
        let change = format!(
            "SET noisegate.max_groups = {max_groups}, which is {} now, if people reach no more groups",
            settings.max_groups
        );
        attempt(change, policy, &Settings { max_groups, ..settings.clone() });
    }
    for at in plan.tables.iter().copied() {
        let Some(table) = policy.tables.get(at).filter(|t| t.privacy != Privacy::Public) else { continue };
        let rows = table.max_rows.unwrap_or(settings.max_rows);
        let fewer = rows.div_ceil(2);
        let total = table.max_total_rows.map(|total| total.div_ceil(2));
        let smaller = with(policy, at, |t| (t.max_rows, t.max_total_rows) = (Some(fewer), total));
        let bounded =
            || offline.plan(parsed.clone(), &smaller, settings).ok().and_then(|new| factor(plan, &new));
        if table.profile.is_none() && bounded().is_some_and(|f| f < WORTH) {
            // A guess at a bound is no help while nobody knows what it cuts.
            measure.push(table.name.clone());
        } else if rows > 1 {
            let change =
                format!("max_rows = {fewer} for {}, which is {rows} now, if few have more", table.name);
            attempt(change, &with(policy, at, |t| t.max_rows = Some(fewer)), settings);
        }
        if let Some(unit) = table.unit_column() {
            let key = vec![unit.to_owned()];
            let change = format!("a primary key on {} ({unit}), if each has one row", table.name);
            attempt(change, &with(policy, at, |t| t.keys.push(key)), settings);
        }
        for (place, column) in table.columns.iter().enumerate() {
            let name = format!("{}.{}", table.name, column.name);
            if let Some(Range::Number { low, high }) = &column.range {
                let (half, shown) = (halved(low, high), |x: &BigDecimal| x.normalized().to_plain_string());
                let change = format!(
                    "a range half as wide for {name}, which is {} to {} now, if few values lie outside",
                    shown(low),
                    shown(high)
                );
                attempt(change, &with(policy, at, |t| set(t, place, |c| c.range = Some(half))), settings);
            }
            if let (None, Some(values)) = (&column.domain, examples(&column.ty)) {
                let change = format!("public values for {name}, so that groups are not selected");
                let listed = Some(Domain::Values(values));
                attempt(change, &with(policy, at, |t| set(t, place, |c| c.domain = listed)), settings);
            }
        }
    }
    helps.sort_by(|a, b| a.factor.unwrap_or(0.0).total_cmp(&b.factor.unwrap_or(0.0)));
    helps.truncate(TOLD);
    let profile = |table| Help {
        change: format!(
            "noisegate profile --table {table}, which measures how many rows units have: then the bound is the one that this \
             statement's noise wants, and what it cuts is known"
        ),
        factor: None,
    };
    measure.into_iter().map(profile).chain(helps).collect()
}

fn with(policy: &Policy, table: usize, change: impl FnOnce(&mut Table)) -> Policy {
    let mut policy = policy.clone();
    if let Some(table) = policy.tables.get_mut(table) {
        change(table);
    }
    policy
}

fn set(table: &mut Table, column: usize, change: impl FnOnce(&mut policy::Column)) {
    if let Some(column) = table.columns.get_mut(column) {
        change(column);
    }
}

/// The middle half of a range.
fn halved(low: &BigDecimal, high: &BigDecimal) -> Range {
    let quarter = (high - low) / BigDecimal::from(4);
    Range::Number { low: low + &quarter, high: high - quarter }
}

/// Values that stand for those of a public domain, of which there are few. None of a type that is listed in another way.
fn examples(ty: &SqlType) -> Option<Vec<String>> {
    matches!(ty, SqlType::Text | SqlType::Varchar).then(|| vec!["a".into(), "b".into()])
}

/// How many times as wide the noise is: of the released number that changes most, and of what groups are selected by. None where
/// the plans have other parts.
fn factor(old: &Plan, new: &Plan) -> Option<f64> {
    if old.releases.len() != new.releases.len() {
        return None;
    }
    let mut least = 1.0f64;
    for (a, b) in old.releases.iter().zip(&new.releases) {
        if a.parts.len() != b.parts.len() || a.spec.points.is_some() != b.spec.points.is_some() {
            return None;
        }
        for part in 0..a.parts.len() {
            let [before, after] = [a, b].map(|r| r.drawn().noise(part).variance);
            if before > 0.0 {
                least = least.min((after / before).sqrt());
            }
        }
        if let (Some(before), Some(after)) = (&a.spec.selection, &b.spec.selection) {
            least = least.min((after.noise.cumulants().0 / before.noise.cumulants().0).sqrt());
        }
    }
    Some(least)
}
