//! Conditions, and the shape of subqueries that are read as part of the query around them.

use super::flatten::Result;
use crate::expr::Scalar;
use answer::{ClientError, SqlState};
use schema::SqlType;
use sql::ast::*;

/// A condition, or the error that PostgreSQL gives.
pub(super) fn truth(s: Scalar, of: &str, pos: Pos) -> Result<Scalar> {
    match s.ty() {
        SqlType::Bool => Ok(s),
        _ => Err(ClientError::new(
            SqlState::DATATYPE_MISMATCH,
            format!("argument of {of} must be type boolean"),
        )
        .at(pos)),
    }
}

/// The SELECT that a query is, and its ORDER BY; None for a set operation.
pub(super) fn single(q: &Query, pos: Pos) -> Result<Option<(&Select, &[OrderItem])>> {
    if q.limit.is_some() || q.offset.is_some() {
        return Err(super::per_unit::cut(pos));
    }
    match &q.body {
        Body::Select(s) => Ok(Some((s, &q.order_by))),
        _ if !q.order_by.is_empty() => Err(super::per_unit::cut(pos)),
        Body::Query(inner) => single(inner, pos),
        _ => Ok(None),
    }
}

/// Splits a condition at its ANDs.
pub(super) fn split(e: Expr, out: &mut Vec<Expr>) {
    match e.kind {
        ExprKind::Binary { op: BinaryOp::And, left, right } => {
            split(*left, out);
            split(*right, out);
        }
        kind => out.push(Expr { kind, pos: e.pos }),
    }
}

/// The conjuncts of conditions.
pub(super) fn conjuncts(list: &[Expr]) -> Vec<Expr> {
    let mut out = Vec::new();
    list.iter().for_each(|e| split(e.clone(), &mut out));
    out
}

/// Whether every column of the expression is of these bindings.
pub(super) fn only_of(e: &Expr, of: &[usize]) -> bool {
    !e.any(&mut |e| match &e.kind {
        ExprKind::Column { binding, .. } => !of.contains(binding),
        ExprKind::Subquery(_) | ExprKind::Exists { .. } | ExprKind::InQuery { .. } => true,
        _ => false,
    })
}
