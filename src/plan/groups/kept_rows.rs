//! Rows that a LEFT JOIN never misses: those that a validated foreign key over columns that are not NULL leads to. The
//! database keeps the key, so that no row has NULL in their place, and no group is made for it. What a group is for decides
//! about no noise: were the key broken, the group of NULL would be missing.

use crate::algebra::source::{Kind, PrivateSource, Tree};
use crate::expr::{Node, Scalar};
use policy::{Policy, Table};
use sql::ast::{BinaryOp, BindingId};

/// The relations on the right of such joins.
pub(super) fn kept(policy: &Policy, source: &PrivateSource) -> Vec<BindingId> {
    let mut out = Vec::new();
    look(policy, source, &source.tree, &mut out);
    out
}

fn look(policy: &Policy, source: &PrivateSource, tree: &Tree, out: &mut Vec<BindingId>) {
    let Tree::Join { left, right, kind, on } = tree else { return };
    look(policy, source, left, out);
    if *kind == Kind::Inner {
        look(policy, source, right, out);
    }
    if let (Kind::Left, Tree::Scan(place)) = (kind, &**right)
        && let Some(scan) = source.scans.get(*place)
        && let Some(to) = scan.table().and_then(|t| policy.tables.get(t))
        && scan.serves.is_none()
        && leads(policy, source, on, (scan.binding, to), out)
    {
        out.push(scan.binding);
    }
}

/// Whether the conditions are a foreign key of a relation whose rows are there, and nothing else.
fn leads(
    policy: &Policy,
    source: &PrivateSource,
    on: &[Scalar],
    (binding, to): (BindingId, &Table),
    kept: &[BindingId],
) -> bool {
    let column = |s: &Scalar| match s.node() {
        Node::Column { binding, name } => Some((*binding, name.clone())),
        _ => None,
    };
    let mut conditions = Vec::new();
    on.iter().for_each(|c| super::conditions::split(c, &mut conditions));
    let pairs: Option<Vec<_>> = conditions
        .iter()
        .map(|c| match c.node() {
            Node::Compare(BinaryOp::Eq, a, b) => match (column(a)?, column(b)?) {
                (own, there) if there.0 == binding => Some((own, there.1)),
                (there, own) if there.0 == binding => Some((own, there.1)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let Some(pairs) = pairs else { return false };
    let Some(((from, _), _)) = pairs.first() else { return false };
    let Some(scan) = source.scans.iter().find(|s| s.binding == *from) else { return false };
    let Some(table) = scan.table().and_then(|t| policy.tables.get(t)) else { return false };
    let there = !scan.nullable || kept.contains(from);
    let not_null = |name: &String| table.column(name).is_some_and(|c| c.not_null);
    there
        && pairs.iter().all(|((b, name), _)| b == from && not_null(name))
        && table.foreign_keys.iter().any(|k| {
            k.valid
                && (&k.references.0, &k.references.1) == (&to.schema, &to.name)
                && k.columns.len() == pairs.len()
                && k.columns
                    .iter()
                    .zip(&k.referenced_columns)
                    .all(|(a, b)| pairs.iter().any(|((_, name), there)| (name, there) == (a, b)))
        })
}
