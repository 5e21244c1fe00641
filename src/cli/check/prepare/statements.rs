//! Proposals that follow from statements which are asked often: the columns that their fetches
//! read, and the conditions that leave few rows.

use super::facts::{Facts, qualified};
use super::proposal::Proposal;
use super::proposals::{covering, index};
use crate::cli::file;
use crate::cli::offline::{Failed, Offline, told};
use ::policy::{Policy, Table};
use plan::expr::{Node, Scalar, print};
use plan::{Plan, Release};
use sql::ast::BindingId;
use std::collections::BTreeSet;
use std::path::Path;

/// An index has no more columns than this: one as wide as the table spares nothing.
const MOST_COLUMNS: usize = 4;

/// A condition that leaves less than this part of a table is worth an index.
const FEW: f64 = 0.05;

/// Proposals for the statements of a file; those that are refused are left out.
pub async fn of(file: &Path, offline: &Offline, facts: &Facts<'_>) -> Result<Vec<Proposal>, String> {
    let text = file::text(file)?;
    let policy = &offline.policy;
    let parsed = sql::parse::parse(&text, &policy.limits).map_err(|e| told(&e, &text))?;
    let mut out = Vec::new();
    for (n, one) in (1..).zip(parsed) {
        let plan = match offline.plan(one, policy, &offline.settings) {
            Ok(plan) => plan,
            Err(Failed::Statement(_)) => continue,
            Err(Failed::Other(why)) => return Err(format!("statement {n}: {why}")),
        };
        out.extend(of_plan(n, &plan, policy, facts).await?);
    }
    Ok(out)
}

async fn of_plan(n: usize, plan: &Plan, policy: &Policy, facts: &Facts<'_>) -> Result<Vec<Proposal>, String> {
    let mut out = Vec::new();
    for release in plan.releases.iter().filter(|r| !r.is_domain_only()) {
        out.extend(in_order(n, release, policy, facts));
        out.extend(narrowed(n, release, policy, facts).await?);
    }
    Ok(out)
}

/// Where all rows of one table are grouped by its unit: an index that has what is read of them, in that order.
fn in_order(n: usize, release: &Release, policy: &Policy, facts: &Facts<'_>) -> Option<Proposal> {
    let [scan] = release.source.scans.as_slice() else { return None };
    let table = policy.tables.get(scan.table()?)?;
    let unit = table.unit_column()?;
    if !release.bounding.per_unit() || !release.source.filter.is_empty() {
        return None;
    }
    let mut read = BTreeSet::new();
    let keys = release.keys.iter().map(|k| &k.scalar);
    let parts = release.parts.iter().filter_map(|p| p.kind.argument());
    keys.chain(parts).for_each(|s| columns(s, &mut read));
    let others: Vec<String> = read.into_iter().map(|(_, name)| name).filter(|name| name != unit).collect();
    if others.len() >= MOST_COLUMNS {
        return None;
    }
    let why = format!(
        "statement {n} reads no other columns of it, all rows, grouped by {unit}: it can read this index, in order, in the place of the table"
    );
    covering(table, facts.table(table)?, unit, &others, &why)
}

/// Where a condition on one column leaves few of a table's rows: an index on that.
async fn narrowed(
    n: usize,
    release: &Release,
    policy: &Policy,
    facts: &Facts<'_>,
) -> Result<Vec<Proposal>, String> {
    let mut out = Vec::new();
    for condition in &release.source.filter {
        let mut read = BTreeSet::new();
        columns(condition, &mut read);
        let [(binding, column)] = read.iter().collect::<Vec<_>>().as_slice() else { continue };
        let Some(table) = table_of(release, policy, *binding) else { continue };
        let compared =
            matches!(condition.node(), Node::Compare(_, a, _) if matches!(a.node(), Node::Column { .. }));
        let Some(known) = facts.table(table).filter(|_| compared) else { continue };
        let Some(rows) = known.rows.filter(|rows| *rows > 0.0) else { continue };
        let (from, alias, meets) = (qualified(table), print::alias(*binding), emit::scalar::text(condition));
        let left = facts.expected(&format!("SELECT 1 FROM {from} AS {alias} WHERE {meets}")).await? / rows;
        if left < FEW {
            let why = format!("statement {n} keeps about {:.1} % of its rows by {column}", 100.0 * left);
            out.extend(index(table, known, std::slice::from_ref(column), &why));
        }
    }
    Ok(out)
}

fn table_of<'p>(release: &Release, policy: &'p Policy, binding: BindingId) -> Option<&'p Table> {
    policy.tables.get(release.source.scans.iter().find(|s| s.binding == binding)?.table()?)
}

/// The columns of scans that an expression looks at.
fn columns(s: &Scalar, out: &mut BTreeSet<(BindingId, String)>) {
    if let Node::Column { binding, name } = s.node() {
        out.insert((*binding, name.clone()));
    }
    s.children().into_iter().for_each(|c| columns(c, out));
}
