//! What subqueries look at around them.

use super::renumber::defined;
use sql::ast::*;
use std::collections::HashSet;

/// Whether a query looks at rows around it.
pub(crate) fn is_correlated(q: &Query) -> bool {
    let (own, columns) = defined(q);
    columns.iter().any(|b| !own.contains(b))
}

/// A column of one of these relations inside a subquery of `e`, which stands above aggregates of them; `rows` says what does
/// not.
pub(crate) fn correlated<'e>(
    e: &'e Expr,
    own: &HashSet<BindingId>,
    rows: &dyn Fn(&Expr) -> bool,
) -> Option<&'e Expr> {
    if rows(e) || matches!(e.kind, ExprKind::Aggregate(_)) {
        return None;
    }
    let children = match &e.kind {
        ExprKind::Window { function, .. } => function.children(),
        _ => e.children(),
    };
    inside(e, own).or_else(|| children.into_iter().find_map(|c| correlated(c, own, rows)))
}

/// A column of one of these relations inside the query that an expression is.
fn inside<'e>(e: &'e Expr, own: &HashSet<BindingId>) -> Option<&'e Expr> {
    match &e.kind {
        ExprKind::Subquery(q) | ExprKind::Exists { query: q, .. } | ExprKind::InQuery { query: q, .. } => {
            q.exprs().into_iter().find_map(|e| refers(e, own))
        }
        _ => None,
    }
}

/// A column of one of these relations in `e` or in a subquery of it.
fn refers<'e>(e: &'e Expr, own: &HashSet<BindingId>) -> Option<&'e Expr> {
    match &e.kind {
        ExprKind::Column { binding, .. } if own.contains(binding) => Some(e),
        _ => inside(e, own).or_else(|| e.children().into_iter().find_map(|c| refers(c, own))),
    }
}

/// A column of a relation that is not one of these, in `e` or in a subquery of it.
pub(crate) fn refers_outside<'e>(e: &'e Expr, own: &HashSet<BindingId>) -> Option<&'e Expr> {
    let inside = match &e.kind {
        ExprKind::Column { binding, .. } if !own.contains(binding) => return Some(e),
        ExprKind::Subquery(q) | ExprKind::Exists { query: q, .. } | ExprKind::InQuery { query: q, .. } => {
            q.exprs().into_iter().find_map(|e| refers_outside(e, own))
        }
        _ => None,
    };
    inside.or_else(|| e.children().into_iter().find_map(|c| refers_outside(c, own)))
}
