//! `x > ANY (SELECT …)` and `x > ALL (SELECT …)` as conditions: `EXISTS (SELECT 1 FROM (SELECT …) AS q(y) WHERE x > y)`, and
//! `NOT EXISTS (… WHERE (x > y) IS NOT TRUE)`. They are true for the same rows, and differ where they are not: a NULL there
//! is FALSE here, which WHERE, AND and OR do not tell apart, and everything else does.

use super::expr::comparison;
use super::{Resolver, Result};
use crate::ast::*;
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;

impl Resolver<'_> {
    /// A condition of which nobody asks whether it is NULL or FALSE.
    pub(super) fn condition(&mut self, e: &sp::Expr) -> Result<Expr> {
        let pos = self.lines.start(e);
        match e {
            sp::Expr::Nested(inner) => {
                self.count_node()?;
                self.condition(inner)
            }
            sp::Expr::BinaryOp { left, op: sp::BinaryOperator::And, right } => {
                self.both(BinaryOp::And, left, right, pos)
            }
            sp::Expr::BinaryOp { left, op: sp::BinaryOperator::Or, right } => {
                self.both(BinaryOp::Or, left, right, pos)
            }
            sp::Expr::AnyOp { left, compare_op, right, .. } => {
                self.quantified(e, (left, compare_op, right), false, pos)
            }
            sp::Expr::AllOp { left, compare_op, right } => {
                self.quantified(e, (left, compare_op, right), true, pos)
            }
            other => self.expr(other),
        }
    }

    fn both(&mut self, op: BinaryOp, left: &sp::Expr, right: &sp::Expr, pos: Pos) -> Result<Expr> {
        self.count_node()?;
        let (left, right) = (Box::new(self.condition(left)?), Box::new(self.condition(right)?));
        Ok(Expr::new(ExprKind::Binary { op, left, right }, pos))
    }

    /// Apart, so that a long chain of conditions takes little stack.
    #[inline(never)]
    fn quantified(
        &mut self,
        whole: &sp::Expr,
        (left, op, mut right): (&sp::Expr, &sp::BinaryOperator, &sp::Expr),
        all: bool,
        pos: Pos,
    ) -> Result<Expr> {
        while let sp::Expr::Nested(inner) = right {
            right = inner;
        }
        let query = match (comparison(op), right) {
            // Membership tells NULL from FALSE.
            (Some(BinaryOp::Eq), _) if !all => None,
            (Some(BinaryOp::Ne), _) if all => None,
            (Some(op), sp::Expr::Subquery(q)) => Some((op, q)),
            _ => None,
        };
        let Some((op, q)) = query else { return self.expr(whole) };
        self.count_node()?;
        let (left, query) = (self.expr(left)?, self.query(q)?);
        if query.body.names().len() != 1 {
            return Err(ClientError::new(SqlState::SYNTAX_ERROR, "subquery has too many columns").at(pos));
        }
        let (from, _) = self.bind("any".into(), Source::Derived, vec!["value".into()], Some(query), pos);
        let From::Relation { binding, .. } = &from else { return self.expr(whole) };
        let of = |kind| Expr::new(kind, pos);
        let value = of(ExprKind::Column { binding: *binding, column: 0 });
        let compared = of(ExprKind::Binary { op, left: Box::new(left), right: Box::new(value) });
        let filter = match all {
            false => compared,
            true => of(ExprKind::Is { expr: Box::new(compared), what: Is::True, negated: true }),
        };
        let one = Item { expr: of(ExprKind::Literal(Literal::Number("1".into()))), name: "?column?".into() };
        let id = self.select_id();
        let select = Select { id, from: vec![from], filter: Some(filter), ..Select::of(vec![one], pos) };
        let query = Box::new(Query::of(Body::Select(Box::new(select))));
        Ok(of(ExprKind::Exists { query, negated: all }))
    }
}
