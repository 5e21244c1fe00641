//! Conditions, and the shape of subqueries that are read as part of the query around them.

use super::flatten::{Result, unsupported};
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

/// The SELECT of a query that only projects and filters; None for a set operation.
pub(super) fn plain(q: &Query, pos: Pos) -> Result<Option<&Select>> {
    let cut = q.limit.is_some() || q.offset.is_some() || !q.order_by.is_empty();
    let refused = || {
        unsupported("LIMIT, OFFSET, ORDER BY or DISTINCT over private rows", pos)
            .hint("Which rows remain would depend on private rows. Filter with WHERE, or order and limit above the aggregates.")
    };
    if cut {
        return Err(refused());
    }
    let s = match &q.body {
        Body::Select(s) => s,
        Body::Query(inner) => return plain(inner, pos),
        _ => return Ok(None),
    };
    if !matches!(s.distinct, Distinct::No) {
        return Err(refused());
    }
    if !s.group_by.is_empty() || s.having.is_some() || s.items.iter().any(|i| super::has_aggregate(&i.expr)) {
        return Err(unsupported("a join of private rows with an aggregated subquery", pos)
            .hint("Release each by itself, and join the results."));
    }
    Ok(Some(s))
}

/// How many expressions it is.
pub(super) fn count(e: &Expr) -> usize {
    let mut n = 0;
    e.any(&mut |_| {
        n += 1;
        false
    });
    n
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
