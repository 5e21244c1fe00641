//! IN and EXISTS over a subquery, in WHERE and in whatever else is computed from private rows.
//!
//! A private subquery is tied to the unit of the row around it, inside the subquery (soundness rule 11): whether a row
//! of unit u is kept then depends on rows of u. A public one needs no tie; what it says of the row around it obeys the
//! same allow-list as every row expression.

use super::flatten::{Draft, Flattener, Place, Result};
use super::per_unit::Selected;
use super::units::{Block, Found, Outside, Owner, stands_in};
use crate::algebra::equivalence_classes::Col;
use crate::algebra::source::{Branch, Over, equal};
use crate::expr::truth;
use crate::expr::{Node, Scalar, comparison, lower, not};
use crate::refusals::Refusal;
use crate::refusals::join::Join;
use crate::refusals::subquery::Subquery;
use crate::syntax::conditions::single;
use sql::ast::*;

/// The subquery of a condition, before its units are found.
struct Inside<'a> {
    inner: Flattener<'a>,
    draft: Draft,
    /// Its WHERE.
    conditions: Vec<Expr>,
    /// What it selects.
    items: Vec<Expr>,
    private: bool,
}

/// What IN says of the rows of its subquery: `item = operand`.
struct Membership {
    /// The subquery's column.
    item: Expr,
    operand: Scalar,
    /// Whether the operand is never NULL in rows around that have a unit.
    operand_solid: bool,
    /// The equality, where it may be taken for one of the subquery's conditions.
    condition: Option<Expr>,
}

impl<'a> Flattener<'a> {
    /// Makes the subqueries of a condition ready to be lowered.
    pub(crate) fn prepare(&mut self, e: &Expr, block: &Found) -> Result<()> {
        match &e.kind {
            // Apart, so that a deep condition takes little stack.
            ExprKind::Exists { .. } | ExprKind::InQuery { .. } => self.prepare_one(e, block),
            _ => e.children().into_iter().try_for_each(|c| self.prepare(c, block)),
        }
    }

    fn prepare_one(&mut self, e: &Expr, block: &Found) -> Result<()> {
        let made = match &e.kind {
            ExprKind::Exists { query, negated } => match self.any_released(query) {
                Some(there) if *negated => not(there),
                Some(there) => there,
                None => {
                    let inside = self.inside(projection(query, e.pos)?, e.pos)?;
                    self.semi(inside, None, *negated, block, e.pos)?
                }
            },
            ExprKind::InQuery { expr, query, negated } => {
                self.prepare(expr, block)?;
                // Before the subquery, which goes on counting from here.
                let operand = lower(expr, self)?;
                match self.among_released(&operand, query, *negated, e.pos) {
                    Some(made) => made?,
                    None => {
                        let inside = self.inside(projection(query, e.pos)?, e.pos)?;
                        let item = match inside.items.as_slice() {
                            [item] => item.clone(),
                            _ => return Err(Subquery::Columns.at(e.pos)),
                        };
                        let membership = self.membership(&inside.inner, item, (expr, operand), block, e.pos);
                        self.semi(inside, Some(membership), *negated, block, e.pos)?
                    }
                }
            }
            _ => return Ok(()),
        };
        self.prepared.push((e.clone(), made));
        Ok(())
    }

    fn inside(&self, (select, order_by): (&Select, &[OrderItem]), pos: Pos) -> Result<Inside<'a>> {
        let private = select.from.iter().any(|f| self.is_private(f));
        let mut inner = self.nested(true);
        let Selected { draft, items } = inner.selected(None, select, order_by, Place::TOP, pos)?;
        let conditions = inner.finished()?;
        inner.no_optional(pos)?;
        Ok(Inside { inner, draft, conditions, items, private })
    }

    fn membership(
        &self,
        inner: &Self,
        item: Expr,
        (written, operand): (&Expr, Scalar),
        around: &Found,
        pos: Pos,
    ) -> Membership {
        let padded = inner.col(&item).and_then(|c| inner.scan_of(c.0)).is_none_or(|s| s.nullable);
        let operand_solid = !operand.nullable() || self.col(written).is_some_and(|c| self.solid(&c, around));
        // Members that differ do not matter, unless NULL is one of the two: then IN asks whether there is any member,
        // and NOT IN whether one is NULL.
        let condition = (operand_solid && !padded).then(|| {
            let (left, right) = (Box::new(item.clone()), Box::new(written.clone()));
            Expr::new(ExprKind::Binary { op: BinaryOp::Eq, left, right }, pos)
        });
        Membership { item, operand, operand_solid, condition }
    }

    fn semi(
        &mut self,
        inside: Inside<'a>,
        membership: Option<Membership>,
        negated: bool,
        around: &Found,
        pos: Pos,
    ) -> Result<Scalar> {
        let Inside { mut inner, draft, conditions, private, .. } = inside;
        let (known, outside) = if private {
            let same = membership.iter().flat_map(|m| &m.condition);
            (
                conditions.iter().chain(same).cloned().collect(),
                Outside { bindings: around.bindings.clone(), equal: around.equal.clone() },
            )
        } else {
            (Vec::new(), Outside::default())
        };
        let block =
            inner.block(draft, &known, &outside).map_err(|err| untied(err, membership.is_some(), pos))?;
        let mut filter = inner.conditions(&conditions, &block)?;
        let found = block.found();
        let mut met = Vec::new();
        if private {
            inner.tie_around(&mut filter, &mut met, &block, around, pos)?;
        }
        let made = match membership {
            Some(m) => {
                let column = inner.col(&m.item);
                let item = lower(&m.item, &inner)?;
                // The unit's own column, and those of its path, are equated inside.
                let item_solid = !item.nullable()
                    || column.is_some_and(|c| {
                        inner.solid(&c, &found) || met.iter().any(|(a, b)| *a == c || *b == c)
                    });
                let nullable = !(m.operand_solid && item_solid);
                let compared = comparison(BinaryOp::Eq, item, m.operand, pos)?;
                let Node::Compare(_, item, value) = compared.node() else {
                    return Err(Refusal::Unread("subquery", pos));
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
            None => {
                let branch = inner.branch(block.tree, filter, Vec::new());
                Scalar::exists(branch, negated)
            }
        };
        self.absorb(&inner);
        Ok(truth(made, "WHERE", pos)?)
    }

    /// Ties a private subquery to the unit around it. `met`: the columns that paths out of it equate.
    fn tie_around(
        &mut self,
        filter: &mut Vec<Scalar>,
        met: &mut Vec<(Col, Col)>,
        block: &Block,
        around: &Found,
        pos: Pos,
    ) -> Result<()> {
        let unit = match (&block.owner, around.owner.unit()) {
            (Owner::Unit(_) | Owner::Outside { .. }, Some(unit)) => unit,
            (Owner::Public | Owner::Unfound, _) | (_, None) => return Err(Refusal::Unread("subquery", pos)),
        };
        if let Some(own) = block.owner.unit() {
            self.tie(filter, own, unit);
        }
        let all: Vec<BindingId> = block.bindings.iter().chain(&around.bindings).copied().collect();
        // Rows that lead outside for their unit lead to rows that are there; nothing else may be untied.
        match self.settle(filter, met, block.owner.borrows(), &all).as_slice() {
            [] => Ok(()),
            _ => Err(Refusal::Unread("subquery", pos)),
        }
    }

    /// Whether a column is never NULL in the rows of a block that have a unit.
    fn solid(&self, col: &Col, block: &Found) -> bool {
        self.exact_of(&block.bindings, &block.equal).contains(col)
            || block.equal.iter().any(|(a, b)| a == col || b == col)
    }

    pub(crate) fn branch(
        &self,
        tree: crate::algebra::source::Tree,
        filter: Vec<Scalar>,
        items: Vec<Scalar>,
    ) -> Branch {
        Branch { scans: self.scans.clone(), tree, filter, items, over: Over::Rows, bound: None }
    }
}

/// The SELECT of a subquery.
fn projection(query: &Query, pos: Pos) -> Result<(&Select, &[OrderItem])> {
    single(query, pos)?.ok_or_else(|| Subquery::SetOperation.at(pos))
}

/// The refusal of a join, as one of the subquery.
fn untied(refusal: Refusal, member: bool, pos: Pos) -> Refusal {
    match refusal {
        Refusal::Join(Join::Units(tie), at) => Subquery::UntiedMember { tie, member }.at(at.or(pos)),
        other => other,
    }
}
