//! Values of a public table's column, of the rows alone that the statement leaves of the table.

use super::conditions::equated;
use crate::algebra::source::PrivateSource;
use crate::expr::domain::{Domain, Rows};
use crate::expr::{Node, Scalar};
use sql::ast::BindingId;

/// The domain of a key that is a column of a public table, or is equal to one, without the rows of that table which
/// conditions over it alone drop: where a group has rows, its value stands in a row of the table that meets them.
pub(super) fn narrowed(
    domain: Domain,
    key: &Scalar,
    source: &PrivateSource,
    conditions: &[Scalar],
) -> Domain {
    let (table, column) = match domain {
        Domain::Table { table, column, only: None } => (table, column),
        other => return other,
    };
    let whole = Domain::Table { table, column: column.clone(), only: None };
    let of_table = |s: &Scalar| match s.node() {
        Node::Column { binding, name } if *name == column => {
            let read = source.scans.iter().any(|s| s.binding == *binding && s.table() == Some(table));
            read.then_some(*binding)
        }
        _ => None,
    };
    let equal = conditions.iter().filter_map(equated).find_map(|(a, b)| match (a == key, b == key) {
        (true, _) => of_table(b),
        (_, true) => of_table(a),
        _ => None,
    });
    let Some(binding) = of_table(key).or(equal) else { return whole };
    let meets: Vec<Scalar> =
        conditions.iter().filter(|c| looks_at_it(c, binding) == Some(true)).cloned().collect();
    match meets.is_empty() {
        true => whole,
        false => Domain::Table { table, column, only: Some(Rows { binding, meets }) },
    }
}

/// Whether it looks at this binding; None where it looks at others, or holds a subquery.
pub(super) fn looks_at_it(s: &Scalar, wanted: BindingId) -> Option<bool> {
    match s.node() {
        Node::Column { binding, .. } => (*binding == wanted).then_some(true),
        Node::Exists(..) | Node::InRows(..) => None,
        _ => s.children().into_iter().try_fold(false, |any, c| Some(looks_at_it(c, wanted)? || any)),
    }
}
