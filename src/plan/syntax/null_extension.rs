//! Expressions in a row that an outer join fills with NULL.

use sql::ast::{BinaryOp, BindingId, Expr, ExprKind, Is};
use sql::functions::{self, Nulls};
use std::collections::BTreeSet;

/// Whether the expression is NULL wherever all columns of these bindings are.
pub fn strict(e: &Expr, of: &BTreeSet<BindingId>) -> bool {
    let any = |list: &[Expr]| list.iter().any(|x| strict(x, of));
    let all = |list: &[Expr]| !list.is_empty() && list.iter().all(|x| strict(x, of));
    match &e.kind {
        ExprKind::Column { binding, .. } => of.contains(binding),
        ExprKind::Negate(x) | ExprKind::Not(x) => strict(x, of),
        ExprKind::Cast { expr, .. }
        | ExprKind::Extract { expr, .. }
        | ExprKind::Like { expr, .. }
        | ExprKind::Matches { expr, .. }
        | ExprKind::In { expr, .. }
        | ExprKind::Between { expr, .. } => strict(expr, of),
        ExprKind::Binary { op, left, right } => match op {
            // NULL AND false is false, NULL OR true is true.
            BinaryOp::And | BinaryOp::Or => strict(left, of) && strict(right, of),
            BinaryOp::Distinct | BinaryOp::NotDistinct => false,
            _ => strict(left, of) || strict(right, of),
        },
        ExprKind::Call { name, args } => match functions::get(name).map(|f| f.nulls) {
            Some(Nulls::Any) => any(args),
            Some(Nulls::First) => args.first().is_some_and(|x| strict(x, of)),
            Some(Nulls::All) => all(args),
            Some(Nulls::Unknown) | None => false,
        },
        _ => false,
    }
}

/// Whether a condition is never true where all columns of these bindings are NULL.
pub fn rejects(e: &Expr, of: &BTreeSet<BindingId>) -> bool {
    match &e.kind {
        ExprKind::Binary { op: BinaryOp::And, left, right } => rejects(left, of) || rejects(right, of),
        ExprKind::Binary { op: BinaryOp::Or, left, right } => rejects(left, of) && rejects(right, of),
        ExprKind::Is { expr, what: Is::Null, negated: true }
        | ExprKind::Is { expr, what: Is::True | Is::False, negated: false } => strict(expr, of),
        _ => strict(e, of),
    }
}

/// A test for NULL of what these bindings hold.
pub fn null_test<'e>(e: &'e Expr, of: &BTreeSet<BindingId>) -> Option<&'e Expr> {
    let is = |e: &&Expr| matches!(&e.kind, ExprKind::Is { expr, what: Is::Null, negated: false } if refers(expr, of));
    e.parts().find(is)
}

/// Whether a column of these bindings stands in it.
pub fn refers(e: &Expr, of: &BTreeSet<BindingId>) -> bool {
    e.any(&mut |e| matches!(&e.kind, ExprKind::Column { binding, .. } if of.contains(binding)))
}
