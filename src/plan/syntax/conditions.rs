//! Conditions, and the shape of subqueries that are read as part of the query around them.

use crate::refusals::Refusal;
use crate::refusals::within::Within;
use sql::ast::*;

/// The SELECT that a query is, and its ORDER BY; None for a set operation.
pub(crate) fn single(q: &Query, pos: Pos) -> Result<Option<(&Select, &[OrderItem])>, Refusal> {
    if q.limit.is_some() || q.offset.is_some() {
        return Err(Within::Ordered.at(pos));
    }
    match &q.body {
        Body::Select(s) => Ok(Some((s, &q.order_by))),
        _ if !q.order_by.is_empty() => Err(Within::Ordered.at(pos)),
        Body::Query(inner) => single(inner, pos),
        _ => Ok(None),
    }
}

/// Splits a condition at its ANDs.
pub(crate) fn split(e: Expr, out: &mut Vec<Expr>) {
    match e.kind {
        ExprKind::Binary { op: BinaryOp::And, left, right } => {
            split(*left, out);
            split(*right, out);
        }
        kind => out.push(Expr { kind, pos: e.pos }),
    }
}

/// The conjuncts of conditions.
pub(crate) fn conjuncts(list: &[Expr]) -> Vec<Expr> {
    let mut out = Vec::new();
    list.iter().for_each(|e| split(e.clone(), &mut out));
    out
}

/// Whether every column of the expression is of these bindings.
pub(crate) fn only_of(e: &Expr, of: &[BindingId]) -> bool {
    !e.any(&mut |e| match &e.kind {
        ExprKind::Column { binding, .. } => !of.contains(binding),
        _ => e.query().is_some(),
    })
}
