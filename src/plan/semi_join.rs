//! IN and EXISTS over a subquery in the WHERE of private rows.
//!
//! A private subquery is tied to the unit of the row around it, inside the subquery (soundness rule 11): whether a row
//! of unit u is kept then depends on rows of u. A public one needs no tie; what it says of the row around it obeys the
//! same allow-list as every row expression.

use super::conditions::{plain, truth};
use super::equivalence_classes::Col;
use super::flatten::{Flattener, Result, unsupported};
use super::source::{Branch, equal};
use super::units::{Block, Outside, Owner, stands_in};
use crate::expr::{Node, Scalar, comparison, lower};
use answer::ClientError;
use sql::ast::*;

impl Flattener<'_> {
    /// Makes the subqueries of a condition ready to be lowered.
    pub(super) fn prepare(&mut self, e: &Expr, block: &Block) -> Result<()> {
        let made = match &e.kind {
            ExprKind::Exists { query, negated } => self.semi(e, None, query, *negated, block)?,
            ExprKind::InQuery { expr, query, negated } => {
                self.prepare(expr, block)?;
                self.semi(e, Some(expr), query, *negated, block)?
            }
            _ => return e.children().into_iter().try_for_each(|c| self.prepare(c, block)),
        };
        self.prepared.push((e.clone(), made));
        Ok(())
    }

    fn semi(
        &mut self,
        e: &Expr,
        operand: Option<&Expr>,
        query: &Query,
        negated: bool,
        around: &Block,
    ) -> Result<Scalar> {
        let Some(select) = plain(query, e.pos)? else {
            return Err(unsupported("IN or EXISTS over a set operation", e.pos)
                .hint("Write one condition for each branch, joined by OR."));
        };
        let private = select.from.iter().any(|f| self.is_private(f));
        let value = operand.map(|x| lower(x, self)).transpose()?;
        let mut inner = self.nested(true);
        let (draft, mut conditions) = inner.draft(select)?;
        inner.no_optional(e.pos)?;
        let item = match (operand, select.items.as_slice()) {
            (Some(_), [item]) => Some(inner.expand(&item.expr)?),
            (Some(_), _) => return Err(unsupported("IN over a subquery of several columns", e.pos)),
            (None, _) => None,
        };
        let written = conditions.len();
        let mut operand_solid = false;
        let membership = match (operand, &item, &value) {
            (Some(x), Some(item), Some(value)) => {
                let same = Expr::new(
                    ExprKind::Binary {
                        op: BinaryOp::Eq,
                        left: Box::new(item.clone()),
                        right: Box::new(x.clone()),
                    },
                    e.pos,
                );
                // Members that differ do not matter, unless NULL is one of the two: then IN asks whether there is any
                // member, and NOT IN whether one is NULL.
                let padded =
                    |e: &Expr| inner.col(e).and_then(|c| inner.scan_of(c.0)).is_none_or(|s| s.nullable);
                operand_solid = !value.nullable() || self.col(x).is_some_and(|c| self.solid(&c, around));
                if operand_solid && !padded(item) {
                    conditions.push(same.clone());
                }
                Some(same)
            }
            _ => None,
        };
        let outside = if private {
            Outside { bindings: around.bindings.clone(), equal: around.equal.clone() }
        } else {
            Outside::default()
        };
        let known: &[Expr] = if private { &conditions } else { &[] };
        let block =
            inner.block(draft, known, &outside).map_err(|err| untied(err, membership.is_some(), e.pos))?;
        conditions.truncate(written);
        let mut filter = inner.conditions(&conditions, &block)?;
        let mut met = Vec::new();
        if private {
            let mut all = block.bindings.clone();
            all.extend(&around.bindings);
            let rest = match (&block.owner, around.owner.unit()) {
                (Owner::Unit(_) | Owner::Outside { .. }, Some(b)) => {
                    if let Some(a) = block.owner.unit() {
                        inner.tie(&mut filter, a, b);
                    }
                    inner.settle(&mut filter, &mut met, block.owner.borrows(), &all)
                }
                (Owner::Public | Owner::Unfound, _) | (_, None) => {
                    return Err(unsupported("this subquery", e.pos));
                }
            };
            // Rows that lead outside for their unit lead to rows that are there; nothing else may be untied.
            if !rest.is_empty() {
                return Err(unsupported("this subquery", e.pos));
            }
        }
        let made = match (item, value) {
            (Some(item), Some(value)) => {
                let column = inner.col(&item);
                let item = lower(&item, &inner)?;
                // The unit's own column, and those of its path, are equated inside.
                let item_solid = !item.nullable()
                    || column.is_some_and(|c| {
                        inner.solid(&c, &block) || met.iter().any(|(a, b)| *a == c || *b == c)
                    });
                let nullable = !(operand_solid && item_solid);
                let compared = comparison(BinaryOp::Eq, item, value, e.pos)?;
                let Node::Compare(_, item, value) = compared.node() else {
                    return Err(unsupported("this subquery", e.pos));
                };
                let (item, value) = ((**item).clone(), (**value).clone());
                if nullable {
                    let branch = inner.branch(block.tree, filter, vec![item]);
                    Scalar::in_rows(value, branch, negated)
                } else {
                    // Without NULL, membership is existence, which PostgreSQL plans as a semi-join or an anti-join.
                    let same = equal(item, value);
                    if !filter.iter().any(|c| stands_in(c, &same)) {
                        filter.push(same);
                    }
                    let branch = inner.branch(block.tree, filter, Vec::new());
                    Scalar::exists(branch, negated)
                }
            }
            _ => {
                let branch = inner.branch(block.tree, filter, Vec::new());
                Scalar::exists(branch, negated)
            }
        };
        self.absorb(&inner);
        truth(made, "WHERE", e.pos)
    }

    /// Whether a column is never NULL in the rows of a block that have a unit.
    fn solid(&self, col: &Col, block: &Block) -> bool {
        self.exact(block).contains(col) || block.equal.iter().any(|(a, b)| a == col || b == col)
    }

    pub(super) fn branch(
        &self,
        tree: super::source::Tree,
        filter: Vec<Scalar>,
        items: Vec<Scalar>,
    ) -> Branch {
        Branch { scans: self.scans.clone(), tree, filter, items, bound: None }
    }
}

/// The refusal of a join, in the words of a subquery.
fn untied(e: ClientError, membership: bool, pos: Pos) -> ClientError {
    if !e.message.starts_with("a join of private rows of different units") {
        return e;
    }
    let hint = e.hint.as_deref().and_then(|h| h.strip_prefix("Write ON ")).map(|h| {
        let of = if membership { "the subquery's WHERE" } else { "its WHERE" };
        format!("Write {} into {of}.", h.trim_end_matches('.'))
    });
    let mut out = unsupported("IN or EXISTS over private rows that is not tied to the unit around it", None)
        .detail("Whether a row of another unit is there would be told.")
        .hint(hint.or(e.hint).unwrap_or_else(|| "Equate the unit columns in the subquery's WHERE.".into()));
    out.position = e.position.or(pos);
    out
}
