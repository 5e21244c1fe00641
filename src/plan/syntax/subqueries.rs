//! References of subqueries to the query around them.

use sql::ast::*;
use std::collections::BTreeSet;

/// Whether a query looks at rows around it.
pub(crate) fn is_correlated(q: &Query) -> bool {
    let own = q.defined();
    q.columns().any(|(binding, _)| !own.contains(&binding))
}

/// A column of one of these relations inside a subquery of `e`, which stands above aggregates of them; `rows` says what does
/// not.
pub(crate) fn correlated<'e>(
    e: &'e Expr,
    own: &BTreeSet<BindingId>,
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
fn inside<'e>(e: &'e Expr, own: &BTreeSet<BindingId>) -> Option<&'e Expr> {
    e.query()?.expressions().find(|e| e.column().is_some_and(|(binding, _)| own.contains(&binding)))
}

/// A column of a relation that is not one of these, in `e` or in a subquery of it.
pub(crate) fn refers_outside<'e>(e: &'e Expr, own: &BTreeSet<BindingId>) -> Option<&'e Expr> {
    e.expressions().find(|e| e.column().is_some_and(|(binding, _)| !own.contains(&binding)))
}
