//! Conditions.

use crate::ast::*;

/// `a AND b`
pub fn and(a: Expr, b: Expr) -> Expr {
    let pos = a.pos;
    Expr::new(ExprKind::Binary { op: BinaryOp::And, left: Box::new(a), right: Box::new(b) }, pos)
}
