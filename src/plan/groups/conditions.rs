//! Conditions that hold of every row in a group, and what they say of keys.

use super::key::Key;
use crate::algebra::source::{Kind, PrivateSource, Tree};
use crate::expr::domain::Domain;
use crate::expr::{Node, Param, Scalar, StandIn, alike};
use schema::SqlType;
use sql::ast::{BinaryOp, Is};

/// Conjuncts that hold of every row in a group.
pub(super) fn of(source: &PrivateSource, having: &[Scalar]) -> Vec<Scalar> {
    let mut all = Vec::new();
    // Public LEFT JOIN private has groups without rows, which its ON does not drop.
    if source.optional.is_empty() {
        joined(&source.tree, &mut all);
    }
    for f in source.filter.iter().chain(having) {
        split(f, &mut all);
    }
    all
}

/// The conditions of joins that drop rows, both sides included.
fn joined(tree: &Tree, out: &mut Vec<Scalar>) {
    match tree {
        Tree::Join { kind: Kind::Inner, left, right, on } => {
            joined(left, out);
            joined(right, out);
            on.iter().for_each(|c| split(c, out));
        }
        Tree::Join { kind: Kind::Left, left, .. } => joined(left, out),
        Tree::Join { kind: Kind::Full, .. } | Tree::Scan(_) => {}
    }
}

pub(super) fn split(condition: &Scalar, out: &mut Vec<Scalar>) {
    match condition.node() {
        Node::Logic(BinaryOp::And, a, b) => {
            split(a, out);
            split(b, out);
        }
        _ => out.push(condition.clone()),
    }
}

/// The conditions over keys alone, each once. A column that a condition equates with a key is as good as the key.
pub(super) fn over_keys(conditions: &[Scalar], keys: &[Key]) -> Vec<Scalar> {
    let stands: Vec<Scalar> =
        keys.iter().enumerate().map(|(i, k)| k.scalar.stand_in(StandIn::Key(i).binding())).collect();
    let mut given: Vec<(&Scalar, Scalar)> =
        keys.iter().zip(&stands).map(|(k, stand)| (&k.scalar, stand.clone())).collect();
    for (a, b) in conditions.iter().filter_map(equated) {
        for (key, other) in [(a, b), (b, a)] {
            if let Some(at) = keys.iter().position(|k| k.scalar == *key)
                && let Some(stand) = stands.get(at)
            {
                given.push((other, stand.clone()));
            }
        }
    }
    let mut only: Vec<Scalar> = Vec::new();
    for condition in conditions {
        // The domain has what is listed, and NULL where it is not excluded.
        let known = |k: &Key| match (condition.node(), &k.domain) {
            (Node::Is(x, Is::Null, true), _) => **x == k.scalar,
            (_, Some((domain, _))) => listed(condition, &k.scalar).as_ref() == Some(domain),
            _ => false,
        };
        if keys.iter().any(known) {
            continue;
        }
        // One that looks at nothing is true of all groups or of none, and is left to the rows.
        let Some(over) = condition.over(&given).filter(|c| looks(c) && is_same_anywhere(c)) else { continue };
        // An equality of two columns that are one key says that it is not NULL, which the rows see to.
        if !only.contains(&over) && equated(&over).is_none_or(|(a, b)| a != b) {
            only.push(over);
        }
    }
    only
}

/// Two columns of one type whose equal values are the same ones.
pub(super) fn equated(condition: &Scalar) -> Option<(&Scalar, &Scalar)> {
    let column = |s: &Scalar| matches!(s.node(), Node::Column { .. });
    match condition.node() {
        Node::Compare(BinaryOp::Eq, a, b)
            if column(a) && column(b) && a.ty() == b.ty() && a.canonical() && b.canonical() =>
        {
            Some((a, b))
        }
        _ => None,
    }
}

/// Whether an expression looks at a column.
pub(super) fn looks(s: &Scalar) -> bool {
    matches!(s.node(), Node::Column { .. }) || s.children().into_iter().any(looks)
}

/// Whether a condition means the same over the texts of a domain as over the rows': the order of texts, and what their
/// letters are, is a matter of the collation of a column.
pub(super) fn is_same_anywhere(s: &Scalar) -> bool {
    let by_order = |op: &BinaryOp| matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
    let here = match s.node() {
        Node::Compare(op, a, b) => !(by_order(op) && (a.ty().is_text() || b.ty().is_text())),
        Node::Column { .. } => s.canonical(),
        Node::Apply(_, _, Param::Pattern { pattern, insensitive: true, .. }) => pattern.is_ascii(),
        _ => true,
    };
    here && s.children().into_iter().all(is_same_anywhere)
}

/// The constants that a conjunct `key = c` or `key IN (c, …)` leaves.
pub(super) fn listed(filter: &Scalar, key: &Scalar) -> Option<Domain> {
    let text = |s: &Scalar| match s.node() {
        Node::Number(n) => Some(n.to_plain_string()),
        Node::Text(t) if !s.ty().is_number() => Some(t.clone()),
        Node::Bool(b) => Some(b.to_string()),
        _ => None,
    };
    let values: Option<Vec<String>> = match filter.node() {
        Node::In(arg, items, false) if **arg == *key => {
            items.iter().filter(|i| !matches!(i.node(), Node::Null)).map(text).collect()
        }
        Node::Compare(BinaryOp::Eq, a, b) if **a == *key => Some(vec![text(b)?]),
        Node::Compare(BinaryOp::Eq, a, b) if **b == *key => Some(vec![text(a)?]),
        _ => None,
    };
    let mut values = values?;
    let mut seen = std::collections::HashSet::new();
    values.retain(|v| seen.insert(v.clone()));
    // Integers must be written as such to be cast to the key's type; others match no row.
    if key.ty().is_integer() {
        values.retain(|v| v.parse::<i64>().is_ok_and(|n| fits(key.ty(), n)));
    }
    (!values.is_empty()).then_some(Domain::Values(values))
}

fn fits(ty: &SqlType, n: i64) -> bool {
    match ty {
        SqlType::Int2 => i16::try_from(n).is_ok(),
        SqlType::Int4 => i32::try_from(n).is_ok(),
        _ => true,
    }
}

/// Whether a conjunct is never true where the key is NULL.
pub(super) fn rejects_null(filter: &Scalar, key: &Scalar) -> bool {
    match filter.node() {
        Node::Compare(op, a, b) if !matches!(op, BinaryOp::Distinct | BinaryOp::NotDistinct) => {
            alike(a, key) || alike(b, key)
        }
        Node::In(arg, _, false) => alike(arg, key),
        Node::Is(arg, Is::Null, true) => alike(arg, key),
        Node::Apply(f, args, _) if f.name == "like" => args.first().is_some_and(|x| alike(x, key)),
        Node::Logic(BinaryOp::And, a, b) => rejects_null(a, key) || rejects_null(b, key),
        _ => false,
    }
}
