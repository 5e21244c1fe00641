//! ORDER BY: output columns by name or number, and expressions.

use super::{Resolver, Result};
use crate::ast::*;
use crate::names::fold;
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;

impl Resolver<'_> {
    /// ORDER BY over a set operation: output names and ordinals only, as in PostgreSQL.
    pub(super) fn output_order(&mut self, o: &sp::OrderByExpr, names: &[String]) -> Result<OrderItem> {
        let pos = self.lines.start(&o.expr);
        match self.output(&o.expr, names, pos)? {
            Some(i) => self.order_item(o, Expr::new(ExprKind::Output(i), pos)),
            None => Err(self
                .unsupported("ORDER BY an expression over a set operation", pos)
                .hint("Order by an output column's name or number, or wrap the query: SELECT … FROM (…) q ORDER BY …")),
        }
    }

    /// The output column that an ordinal or an output name stands for.
    pub(super) fn output(&self, e: &sp::Expr, names: &[String], pos: Pos) -> Result<Option<usize>> {
        match e {
            sp::Expr::Nested(inner) => self.output(inner, names, pos),
            sp::Expr::Value(v) => match &v.value {
                sp::Value::Number(n, _) => {
                    match n.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < names.len())
                    {
                        Some(i) => Ok(Some(i)),
                        None => Err(ClientError::new(
                            SqlState::INVALID_COLUMN_REFERENCE,
                            format!("position {n} is not in select list"),
                        )
                        .at(pos)),
                    }
                }
                _ => Ok(None),
            },
            sp::Expr::Identifier(ident) => {
                let name = fold(ident);
                let mut found = names.iter().enumerate().filter(|(_, n)| **n == name).map(|(i, _)| i);
                Ok(found.next())
            }
            _ => Ok(None),
        }
    }

    pub(super) fn order_items(&mut self, items: &[sp::OrderByExpr]) -> Result<Vec<OrderItem>> {
        items
            .iter()
            .map(|o| {
                let expr = self.expr(&o.expr)?;
                self.order_item(o, expr)
            })
            .collect()
    }

    pub(super) fn order_item(&self, o: &sp::OrderByExpr, expr: Expr) -> Result<OrderItem> {
        if o.with_fill.is_some() {
            return Err(self.unsupported("WITH FILL", expr.pos));
        }
        let desc = match &o.options.sort {
            None | Some(sp::OrderBySort::Asc) => false,
            Some(sp::OrderBySort::Desc) => true,
            Some(sp::OrderBySort::Using(_)) => return Err(self.unsupported("ORDER BY … USING", expr.pos)),
        };
        Ok(OrderItem { expr, desc, nulls_first: o.options.nulls_first })
    }
}
