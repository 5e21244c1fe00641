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

/// Splits a condition at its ANDs; of an OR, the columns that each of its branches joins by are a condition of their own:
/// `(a AND b) OR (a AND c)` is `a AND (b OR c)`, whatever is NULL.
pub(crate) fn split(e: Expr, out: &mut Vec<Expr>) {
    if let Some((common, rest)) = factored(&e) {
        common.into_iter().for_each(|c| split(c, out));
        return out.extend(rest);
    }
    match e.kind {
        ExprKind::Binary { op: BinaryOp::And, left, right } => {
            split(*left, out);
            split(*right, out);
        }
        kind => out.push(Expr { kind, pos: e.pos }),
    }
}

/// The equations of columns that all branches of an OR repeat, and an OR of what is left of each; none of that where a branch says
/// no more.
fn factored(e: &Expr) -> Option<(Vec<Expr>, Option<Expr>)> {
    let operands = |e: &Expr, of: BinaryOp| {
        let (mut next, mut found) = (vec![e], Vec::new());
        while let Some(e) = next.pop() {
            match &e.kind {
                ExprKind::Binary { op, left, right } if *op == of => next.extend([&**right, &**left]),
                _ => found.push(e.clone()),
            }
        }
        found
    };
    if !matches!(e.kind, ExprKind::Binary { op: BinaryOp::Or, .. }) {
        return None;
    }
    let branches: Vec<Vec<Expr>> =
        operands(e, BinaryOp::Or).iter().map(|branch| operands(branch, BinaryOp::And)).collect();
    let (first, others) = branches.split_first()?;
    let is_join = |c: &&Expr| match &c.kind {
        ExprKind::Binary { op: BinaryOp::Eq, left, right } => {
            left.column().is_some() && right.column().is_some()
        }
        _ => false,
    };
    let mut common: Vec<Expr> = first.iter().filter(is_join).cloned().collect();
    others.iter().for_each(|branch| common.retain(|c| branch.contains(c)));
    if common.is_empty() {
        return None;
    }
    let joined = |op: BinaryOp, list: Vec<Expr>| {
        list.into_iter().reduce(|left, right| {
            let pos = left.pos;
            Expr::new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) }, pos)
        })
    };
    let left = |branch: &Vec<Expr>| {
        joined(BinaryOp::And, branch.iter().filter(|c| !common.contains(c)).cloned().collect())
    };
    let rest: Option<Vec<Expr>> = branches.iter().map(left).collect();
    Some((common, rest.and_then(|rest| joined(BinaryOp::Or, rest))))
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

/// The sides of `a IS NOT DISTINCT FROM b`, and of `a = b OR (a IS NULL AND b IS NULL)`.
pub(crate) fn null_safe(e: &Expr) -> Option<(&Expr, &Expr)> {
    let both = |e: &Expr, a: &Expr, b: &Expr| {
        let ExprKind::Binary { op: BinaryOp::And, left, right } = &e.kind else { return false };
        let is_null = |e: &Expr, of: &Expr| matches!(&e.kind, ExprKind::Is { expr, what: Is::Null, negated: false } if **expr == *of);
        is_null(left, a) && is_null(right, b) || is_null(left, b) && is_null(right, a)
    };
    match &e.kind {
        ExprKind::Binary { op: BinaryOp::NotDistinct, left, right } => Some((left, right)),
        ExprKind::Binary { op: BinaryOp::Or, left, right } => {
            [(left, right), (right, left)].into_iter().find_map(|(equal, null)| match &equal.kind {
                ExprKind::Binary { op: BinaryOp::Eq, left: a, right: b } if both(null, a, b) => {
                    Some((&**a, &**b))
                }
                _ => None,
            })
        }
        _ => None,
    }
}
