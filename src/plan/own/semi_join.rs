//! IN and EXISTS over a subquery, in WHERE and in whatever else is computed from private rows.
//!
//! A private subquery is tied to the unit of the row around it, inside the subquery (soundness rule 11): whether a row
//! of unit u is kept then depends on rows of u. A public one needs no tie; what it says of the row around it obeys the
//! same allow-list as every row expression.

use super::per_unit::Selected;
use super::relation::{Owned, Place, Read, Relation};
use super::scans::{Result, Scans};
use super::units::stands_in;
use crate::algebra::equivalence_classes::Col;
use crate::algebra::props::{Owner, Props};
use crate::algebra::source::equal;
use crate::expr::truth;
use crate::expr::{Node, Scalar, comparison, lower, not};
use crate::refusals::Refusal;
use crate::refusals::join::Join;
use crate::refusals::subquery::Subquery;
use crate::syntax::conditions::single;
use sql::ast::*;

/// The subquery of a condition, before its units are found.
struct Inside<'a> {
    inner: Relation<'a, Read>,
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

impl<'a> Relation<'a, Owned> {
    /// Makes the subqueries of a condition ready to be lowered.
    pub(crate) fn prepare(&mut self, e: &Expr) -> Result<()> {
        match &e.kind {
            // Apart, so that a deep condition takes little stack.
            ExprKind::Exists { .. } | ExprKind::InQuery { .. } => self.prepare_one(e),
            _ => e.children().into_iter().try_for_each(|c| self.prepare(c)),
        }
    }

    fn prepare_one(&mut self, e: &Expr) -> Result<()> {
        let made = match &e.kind {
            ExprKind::Exists { query, negated } => match self.scans.any_released(query) {
                Some(there) if *negated => not(there),
                Some(there) => there,
                None => {
                    let inside = self.inside(projection(query, e.pos)?, e.pos)?;
                    self.semi(inside, None, *negated, e.pos)?
                }
            },
            ExprKind::InQuery { expr, query, negated } => {
                self.prepare(expr)?;
                // Before the subquery, which goes on counting from here.
                let operand = lower(expr, &self.scans)?;
                match self.scans.among_released(&operand, query, *negated, e.pos) {
                    Some(made) => made?,
                    None => {
                        let inside = self.inside(projection(query, e.pos)?, e.pos)?;
                        let item = match inside.items.as_slice() {
                            [item] => item.clone(),
                            _ => return Err(Subquery::Columns.at(e.pos)),
                        };
                        let membership = self.membership(&inside.inner.scans, item, (expr, operand), e.pos);
                        self.semi(inside, Some(membership), *negated, e.pos)?
                    }
                }
            }
            _ => return Ok(()),
        };
        self.scans.prepared.push((e.clone(), made));
        Ok(())
    }

    fn inside(&self, (select, order_by): (&Select, &[OrderItem]), pos: Pos) -> Result<Inside<'a>> {
        let private = select.from.iter().any(|f| self.scans.scope.is_private(f));
        let mut inner = Relation::over(self.scans.correlated());
        let Selected { tree, items } = inner.selected(None, select, order_by, Place::TOP, pos)?;
        let inner = inner.finished(tree)?;
        inner.no_optional(pos)?;
        Ok(Inside { inner, items, private })
    }

    fn membership(
        &self,
        inner: &Scans<'_>,
        item: Expr,
        (written, operand): (&Expr, Scalar),
        pos: Pos,
    ) -> Membership {
        let padded = inner.col(&item).and_then(|c| inner.scan_of(c.0)).is_none_or(|s| s.nullable);
        let operand_solid = !operand.nullable()
            || self.scans.col(written).is_some_and(|c| self.scans.solid(&c, &self.state.props));
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
        pos: Pos,
    ) -> Result<Scalar> {
        let Inside { inner, private, .. } = inside;
        let around = self.state.props.clone();
        let known: Vec<Expr> = match private {
            true => {
                let same = membership.iter().flat_map(|m| &m.condition);
                inner.state.conditions.iter().chain(same).cloned().collect()
            }
            false => Vec::new(),
        };
        let owned = inner.owned(Some(&known), private.then_some(&*around));
        let (mut inner, conditions) = owned.map_err(|err| untied(err, membership.is_some(), pos))?;
        inner.filter(&conditions)?;
        let props = inner.state.props.clone();
        let mut filter = std::mem::take(&mut inner.state.filter);
        let mut met = Vec::new();
        if private {
            inner.scans.tie_around(&mut filter, &mut met, &props, &around, pos)?;
        }
        let mut value = None;
        let mut items = Vec::new();
        if let Some(m) = membership {
            let column = inner.scans.col(&m.item);
            let item = lower(&m.item, &inner.scans)?;
            // The unit's own column, and those of its path, are equated inside.
            let item_solid = !item.nullable()
                || column.is_some_and(|c| {
                    inner.scans.solid(&c, &props) || met.iter().any(|(a, b)| *a == c || *b == c)
                });
            let compared = comparison(BinaryOp::Eq, item, m.operand, pos)?;
            let Node::Compare(_, item, operand) = compared.node() else {
                return Err(Refusal::Unread("subquery", pos));
            };
            if m.operand_solid && item_solid {
                // Without NULL, membership is existence, which PostgreSQL plans as a semi-join or an anti-join.
                let same = equal((**item).clone(), (**operand).clone());
                if !filter.iter().any(|c| stands_in(c, &same)) {
                    filter.push(same);
                }
            } else {
                (value, items) = (Some((**operand).clone()), vec![(**item).clone()]);
            }
        }
        let branch = inner.scans.branch(inner.state.tree, filter, items);
        self.scans.absorb(&inner.scans);
        let made = match value {
            Some(value) => Scalar::in_rows(value, branch, negated),
            None => Scalar::exists(branch, negated),
        };
        truth(made, "WHERE", pos)
    }
}

impl Scans<'_> {
    /// Ties a private subquery to the unit around it. `met`: the columns that paths out of it equate.
    fn tie_around(
        &mut self,
        filter: &mut Vec<Scalar>,
        met: &mut Vec<(Col, Col)>,
        own: &Props,
        around: &Props,
        pos: Pos,
    ) -> Result<()> {
        let unit = match (&own.owner, around.owner.unit()) {
            (Owner::Unit(_) | Owner::Outside { .. }, Some(unit)) => unit,
            (Owner::Public | Owner::Unfound, _) | (_, None) => return Err(Refusal::Unread("subquery", pos)),
        };
        if let Some(own) = own.owner.unit() {
            self.tie(filter, own, unit);
        }
        let all: Vec<BindingId> = own.bindings.iter().chain(&around.bindings).copied().collect();
        // Rows that lead outside for their unit lead to rows that are there; nothing else may be untied.
        match self.settle(filter, met, own.owner.borrows(), &all).as_slice() {
            [] => Ok(()),
            _ => Err(Refusal::Unread("subquery", pos)),
        }
    }

    /// Whether a column is never NULL in the rows of a part that have a unit.
    fn solid(&self, col: &Col, part: &Props) -> bool {
        self.exact(part).contains(col) || part.equal.iter().any(|(a, b)| a == col || b == col)
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
