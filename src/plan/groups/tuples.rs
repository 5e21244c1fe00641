//! Keys whose values come together: those of one row of a public table, and those that are functions of one column. Each by
//! itself has its own domain; together they have the tuples that rows of the table have, or that values of the column make,
//! and every other combination would be a group that no row can be in.

use super::conditions::{equated, is_same_anywhere, looks, rejects_null};
use super::of_table::looks_at_it;
use super::values::{columns, count, own, truncations};
use crate::algebra::source::PrivateSource;
use crate::expr::domain::{Base, Domain, Tuple, TuplesOf};
use crate::expr::{Node, Scalar, StandIn};
use crate::groups::key::Key;
use policy::{Policy, Privacy};
use sql::ast::BindingId;

/// Domains of keys, and whether NULL is among each.
pub(super) type Found = Vec<(Domain, bool)>;

/// Puts tuples in the place of the domains of keys that come together. `within`: the keys over the ranges that conditions leave.
pub(super) fn tuples(
    policy: &Policy,
    source: &PrivateSource,
    (keys, within): (&[Key], &[Scalar]),
    conditions: &[Scalar],
    limit: usize,
    found: &mut Found,
) {
    let public = |b: BindingId| {
        let scan = source.scans.iter().find(|s| s.binding == b)?;
        let table = policy.tables.get(scan.table()?)?;
        (table.privacy == Privacy::Public).then_some(scan)
    };
    let rows: Vec<Option<(BindingId, Scalar)>> =
        keys.iter().map(|k| in_a_row(&k.scalar, conditions, &|b| public(b).is_some())).collect();
    for scan in &source.scans {
        let of =
            |row: &Option<(BindingId, Scalar)>| row.as_ref().filter(|(b, _)| *b == scan.binding).cloned();
        let members: Vec<(usize, Scalar)> =
            rows.iter().enumerate().filter_map(|(i, row)| Some((i, of(row)?.1))).collect();
        let (Some(table), true) = (scan.table(), members.len() > 1) else { continue };
        let only =
            conditions.iter().filter(|c| looks_at_it(c, scan.binding) == Some(true)).cloned().collect();
        let all = members.iter().all(|(i, _)| found.get(*i).is_some_and(|(_, null)| *null));
        let of = TuplesOf::Rows { table, binding: scan.binding, null: scan.nullable && all };
        put(of, &members, only, found);
    }
    let mut done: Vec<&Scalar> = Vec::new();
    for (i, key) in within.iter().enumerate() {
        let looked_at = columns(key);
        let Some(column) = looked_at.first().copied().filter(|c| looked_at.iter().all(|x| x == c)) else {
            continue;
        };
        if done.contains(&column) || rows.get(i).is_some_and(Option::is_some) {
            continue;
        }
        done.push(column);
        let alone = |s: &Scalar| matches!(columns(s).as_slice(), [first, rest @ ..] if *first == column && rest.iter().all(|c| *c == column));
        let members: Vec<(usize, &Scalar)> = within.iter().enumerate().filter(|(_, s)| alone(s)).collect();
        if let Some((base, of)) = smallest(&members, limit) {
            let null = base.nullable() && !conditions.iter().any(|c| rejects_null(c, column));
            let stand = base.stand_in(StandIn::Base(0).binding());
            let given = [(&base, stand)];
            let over = conditions.iter().filter_map(|c| c.over(&given));
            let only = over.filter(|c| looks(c) && is_same_anywhere(c)).collect();
            let Some(domain) = own(&base) else { continue };
            let base = Base { ty: base.ty().clone(), domain, null };
            put(TuplesOf::Base(base), &of, only, found);
        }
    }
}

/// The table whose row a key's value stands in, and the key as it is computed from that row: of a column that a condition equates
/// with one of the table's, that one.
fn in_a_row(
    key: &Scalar,
    conditions: &[Scalar],
    public: &dyn Fn(BindingId) -> bool,
) -> Option<(BindingId, Scalar)> {
    let binding = |s: &Scalar| match s.node() {
        Node::Column { binding, .. } => Some(*binding).filter(|b| public(*b)),
        _ => None,
    };
    let of = columns(key).first().and_then(|c| binding(c));
    if let Some(of) = of.filter(|of| looks_at_it(key, *of) == Some(true)) {
        return Some((of, key.clone()));
    }
    let equal = conditions.iter().filter_map(equated).find_map(|(a, b)| match (a == key, b == key) {
        (true, _) => binding(b).map(|of| (of, b.clone())),
        (_, true) => binding(a).map(|of| (of, a.clone())),
        _ => None,
    });
    equal.filter(|(_, s)| s.ty() == key.ty())
}

/// Of keys over one column, the value with the fewest possibilities that all of them are functions of, and what they are of it. None
/// where one of them is such a value, of which conditions over keys say the rest.
fn smallest(members: &[(usize, &Scalar)], limit: usize) -> Option<(Scalar, Vec<(usize, Scalar)>)> {
    let over = |base: &Scalar| -> Option<Vec<(usize, Scalar)>> {
        let given = [(base, base.stand_in(StandIn::Base(0).binding()))];
        members.iter().map(|(i, s)| Some((*i, s.over(&given)?))).collect()
    };
    let whole = |(_, s): &(usize, &Scalar)| !s.ty().is_float() && over(s).is_some();
    if members.len() < 2 || members.iter().any(whole) {
        return None;
    }
    let mut bases: Vec<Scalar> = Vec::new();
    for (_, s) in members {
        leaves(s, &mut bases);
        truncations(s, &mut bases);
    }
    let each = bases.into_iter().filter(|b| !b.ty().is_float()).filter_map(|b| {
        let n = count(&own(&b)?).saturating_add(usize::from(b.nullable()));
        Some((n, over(&b)?, b))
    });
    let (n, of, base) = each.min_by_key(|(n, ..)| *n)?;
    (n <= limit).then_some((base, of))
}

/// The column, as it is moved into its range or is.
fn leaves(s: &Scalar, out: &mut Vec<Scalar>) {
    let inner = match s.node() {
        Node::Clamp(x) | Node::Guard(x) | Node::Short(x) => x,
        _ => s,
    };
    if matches!(inner.node(), Node::Column { .. }) {
        if !out.contains(s) {
            out.push(s.clone());
        }
        return;
    }
    s.children().into_iter().for_each(|c| leaves(c, out));
}

fn put(of: TuplesOf, members: &[(usize, Scalar)], only: Vec<Scalar>, found: &mut Found) {
    let each = members.iter().filter_map(|(i, _)| found.get(*i).cloned()).collect();
    let scalars = members.iter().map(|(_, s)| s.clone()).collect();
    let tuple = Tuple { from: of, of: scalars, only, each };
    for (at, (i, _)) in members.iter().enumerate() {
        if let Some(place) = found.get_mut(*i) {
            // NULL meets NULL, wherever a tuple has it.
            *place = (Domain::Tuple { tuple: Box::new(tuple.clone()), at }, true);
        }
    }
}
