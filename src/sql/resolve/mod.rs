//! Names to numbers: queries, their clauses and set operations. What stands in a SELECT is in `select`, in its FROM in
//! `from`, GROUP BY in `grouping`, ORDER BY in `order`; expressions are in `expr`, and their leaves in `column`, `constant` and `function`.
//!
//! Nothing of the statement's text survives but constants and output names.

mod arrays;
mod collected;
mod column;
mod condition;
mod constant;
mod expr;
mod from;
mod function;
mod grouping;
mod member;
mod order;
mod quantified;
mod resolver;
mod scope;
mod select;
mod table_function;
mod view;

pub use arrays::elements;
pub use condition::and;
pub use resolver::resolve;

pub use super::estimates::Estimates;

use super::ast::*;
use super::names::fold;
use super::read_only::no_writes;
use answer::{ClientError, SqlState};
use resolver::{Resolver, Result};
use sqlparser::ast as sp;
pub use view::view;

impl Resolver<'_> {
    /// Counts a node of the tree against `limits.max_expressions`.
    fn count_node(&mut self) -> Result<()> {
        self.count_nodes(1)
    }

    fn count_nodes(&mut self, n: usize) -> Result<()> {
        self.spend.take(n, "the statement", self.limits)
    }

    fn query(&mut self, q: &sp::Query) -> Result<Query> {
        self.count_node()?;
        let pos = self.lines.start(q);
        if !q.locks.is_empty() {
            return Err(ClientError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                "cannot lock rows: noisegate is read-only",
            )
            .hint("Leave out FOR UPDATE or FOR SHARE.")
            .at(pos));
        }
        if q.for_clause.is_some()
            || q.settings.is_some()
            || q.format_clause.is_some()
            || !q.pipe_operators.is_empty()
        {
            return Err(self.unsupported("this clause", pos));
        }
        let visible = self.ctes.len();
        let mut with = Vec::new();
        if let Some(w) = &q.with {
            if w.recursive {
                return Err(self
                    .unsupported("WITH RECURSIVE", pos)
                    .hint("A plain WITH is supported, where a CTE does not refer to itself."));
            }
            for cte in &w.cte_tables {
                with.push(self.cte(cte)?);
            }
        }
        let (body, order_by) = self.body(&q.body, q.order_by.as_ref())?;
        let (limit, offset) = self.limits_of(q, pos)?;
        self.ctes.truncate(visible);
        Ok(Query { with, body, order_by, limit, offset })
    }

    /// A number for the next SELECT.
    fn select_id(&mut self) -> Option<SelectId> {
        let id = self.next_select;
        self.next_select = id.next();
        Some(id)
    }

    fn cte(&mut self, cte: &sp::Cte) -> Result<Cte> {
        let name = fold(&cte.alias.name);
        let pos = self.lines.position(cte.alias.name.span.start);
        if cte.from.is_some() {
            return Err(self.unsupported("this form of WITH", pos));
        }
        let query = self.isolated(|r| r.query(&cte.query))?;
        let columns = self.alias_columns(&cte.alias, query.body.names(), pos)?;
        let id = self.next_cte;
        self.next_cte = id.next();
        self.ctes.push((name, id, columns));
        Ok(Cte { id, query })
    }

    /// Runs `f` without the names of enclosing FROMs: derived tables and CTEs do not see them.
    fn isolated<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let scopes = std::mem::take(&mut self.scopes);
        let windows = std::mem::take(&mut self.windows);
        let out = f(self);
        self.scopes = scopes;
        self.windows = windows;
        out
    }

    fn limits_of(&mut self, q: &sp::Query, pos: Pos) -> Result<(Option<Expr>, Option<Expr>)> {
        let (mut limit, mut offset) = (None, None);
        match &q.limit_clause {
            None => {}
            Some(sp::LimitClause::LimitOffset { limit: l, offset: o, limit_by }) if limit_by.is_empty() => {
                limit = l.as_ref().map(|e| self.count(e)).transpose()?;
                offset = o.as_ref().map(|o| self.count(&o.value)).transpose()?;
            }
            Some(_) => {
                return Err(self.unsupported("this form of LIMIT", pos).hint("Write LIMIT n OFFSET m."));
            }
        }
        if let Some(f) = &q.fetch {
            if f.with_ties || f.percent || limit.is_some() {
                return Err(self.unsupported("this form of FETCH", pos).hint("Write LIMIT n."));
            }
            let one = || Expr::new(ExprKind::Literal(Literal::Number("1".into())), pos);
            limit = Some(f.quantity.as_ref().map(|e| self.count(e)).transpose()?.unwrap_or_else(one));
        }
        Ok((limit, offset))
    }

    /// LIMIT and OFFSET take constants only: what they cut must not depend on rows.
    fn count(&mut self, e: &sp::Expr) -> Result<Expr> {
        let pos = self.lines.start(e);
        let expr = self.isolated(|r| r.expr(e))?;
        let constant = !expr.any(&mut |e| {
            !matches!(
                e.kind,
                ExprKind::Literal(_)
                    | ExprKind::Param(_)
                    | ExprKind::Negate(_)
                    | ExprKind::Binary { .. }
                    | ExprKind::Cast { .. }
            )
        });
        if constant {
            Ok(expr)
        } else {
            Err(self.unsupported("a LIMIT or OFFSET that is not a constant", pos).hint("Write a number."))
        }
    }

    fn body(&mut self, body: &sp::SetExpr, order_by: Option<&sp::OrderBy>) -> Result<(Body, Vec<OrderItem>)> {
        self.count_node()?;
        no_writes(body, self.lines)?;
        let order_by: &[sp::OrderByExpr] = match order_by.map(|o| (&o.kind, &o.interpolate)) {
            None => &[],
            Some((sp::OrderByKind::Expressions(items), None)) => items,
            Some(_) => return Err(self.unsupported("this form of ORDER BY", None)),
        };
        match body {
            sp::SetExpr::Select(s) => {
                let (select, order) = self.select(s, order_by)?;
                Ok((Body::Select(Box::new(select)), order))
            }
            other => {
                let body = self.set_body(other)?;
                let names = body.names();
                let order = order_by.iter().map(|o| self.output_order(o, &names)).collect::<Result<_>>()?;
                Ok((body, order))
            }
        }
    }

    fn set_body(&mut self, body: &sp::SetExpr) -> Result<Body> {
        self.count_node()?;
        no_writes(body, self.lines)?;
        Ok(match body {
            sp::SetExpr::Select(s) => Body::Select(Box::new(self.select(s, &[])?.0)),
            sp::SetExpr::Query(q) => Body::Query(Box::new(self.query(q)?)),
            sp::SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let pos = self.lines.start(body);
                let op = match op {
                    sp::SetOperator::Union => SetOp::Union,
                    sp::SetOperator::Intersect => SetOp::Intersect,
                    sp::SetOperator::Except | sp::SetOperator::Minus => SetOp::Except,
                };
                let all = match set_quantifier {
                    sp::SetQuantifier::All => true,
                    sp::SetQuantifier::None | sp::SetQuantifier::Distinct => false,
                    _ => return Err(self.unsupported("this set operation", pos)),
                };
                let (left, right) = (self.set_body(left)?, self.set_body(right)?);
                if left.names().len() != right.names().len() {
                    let m = "each set operation branch must have the same number of columns";
                    return Err(ClientError::new(SqlState::SYNTAX_ERROR, m).at(pos));
                }
                Body::SetOp { op, all, left: Box::new(left), right: Box::new(right) }
            }
            sp::SetExpr::Values(v) => {
                let rows: Vec<Vec<Expr>> =
                    v.rows.iter().map(|r| self.exprs(&r.content)).collect::<Result<_>>()?;
                let width = rows.first().map_or(0, Vec::len);
                if let Some(other) = rows.iter().find(|row| row.len() != width) {
                    let m = "VALUES lists must all be the same length";
                    let at = other.first().map_or(Pos::default(), |e| e.pos);
                    return Err(ClientError::new(SqlState::SYNTAX_ERROR, m).at(at));
                }
                Body::Values(rows)
            }
            other => return Err(self.unsupported("this form of query", self.lines.start(other))),
        })
    }
}
