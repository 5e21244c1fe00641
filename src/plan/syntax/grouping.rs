//! Computations of a SELECT over several of its rows.

use super::subqueries::is_correlated;
use sql::ast::*;

/// Whether an aggregate (not one over a window) stands in the expression.
pub fn has_aggregate(e: &Expr) -> bool {
    !e.aggregates().is_empty()
}

fn is_window(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Window { .. })
}

/// Whether a SELECT has windows over its rows.
pub(crate) fn has_windows(s: &Select) -> bool {
    s.items.iter().any(|i| i.expr.any(&mut is_window))
}

/// Whether it is grouped.
pub(crate) fn is_grouped(s: &Select) -> bool {
    let aggregates = || s.items.iter().map(|i| &i.expr).chain(&s.having).any(has_aggregate);
    s.has_group_by() || s.having.is_some() || aggregates()
}

/// Whether a SELECT computes over several of its rows, or leaves some out by others.
pub(crate) fn is_over_several(s: &Select) -> bool {
    is_grouped(s) || has_windows(s) || s.distinct != Distinct::No
}

/// Keys that a SELECT is grouped by: SELECT DISTINCT k is GROUP BY k.
pub(crate) fn keys(s: &Select) -> Vec<Expr> {
    if is_grouped(s) || s.distinct != Distinct::All {
        return s.group_by.clone();
    }
    let mut keys: Vec<Expr> = Vec::new();
    for i in &s.items {
        if !keys.contains(&i.expr) {
            keys.push(i.expr.clone());
        }
    }
    keys
}

/// Keys of a SELECT whose groups are released. A subquery that looks at no row around it is one
/// value beside the groups, and makes none.
pub(crate) fn released_keys(s: &Select) -> Vec<Expr> {
    let mut keys = keys(s);
    let one = |e: &Expr| matches!(&e.kind, ExprKind::Subquery(q) if !is_correlated(q));
    if !is_grouped(s) && !keys.iter().all(one) {
        keys.retain(|k| !one(k));
    }
    keys
}
