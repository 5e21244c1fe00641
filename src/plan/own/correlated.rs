//! Scalar subqueries that look at the row around them: `fare > (SELECT avg(u.fare) FROM trips u WHERE u.rider_id =
//! t.rider_id)`.
//!
//! Over private rows of the same unit they are groups of a LEFT JOIN: by the columns that are equated with the row around,
//! the unit among them (soundness rule 9). Where there is no group, aggregates are NULL and counts are 0, as in an aggregate
//! of no rows. A value of a public table is one of a LEFT JOIN by a key, which has one partner at most.

use super::per_unit::Selected;
use super::relation::{Place, Reading, Relation};
use super::scans::{Result, Scans};
use crate::algebra::normal::Normal;
use crate::algebra::source::{Leaf, Over, SetTree};
use crate::refusals::Refusal;
use crate::refusals::subquery::Subquery;
use crate::refusals::within::Within;
use crate::syntax::conditions::{conjuncts, single};
use crate::syntax::subqueries::{is_correlated, refers_outside};
use sql::ast::*;
use std::collections::BTreeSet;

/// The subqueries of an expression that look at rows around them.
fn subqueries<'e>(e: &'e Expr, out: &mut Vec<&'e Expr>) {
    match &e.kind {
        ExprKind::Subquery(q) if is_correlated(q) => out.push(e),
        _ => e.children().into_iter().for_each(|c| subqueries(c, out)),
    }
}

impl Relation<'_, Reading> {
    /// FROM with what the scalar subqueries of this SELECT look at.
    pub(crate) fn with_scalars(&mut self, mut tree: Normal, s: &Select) -> Result<Normal> {
        let mut all = Vec::new();
        let exprs = s.items.iter().map(|i| &i.expr).chain(&s.filter).chain(&s.group_by);
        exprs.for_each(|e| subqueries(e, &mut all));
        for e in all {
            if let ExprKind::Subquery(q) = &e.kind
                && !self.scans.scalars.iter().any(|(have, _)| have == e)
            {
                let (joined, value) = self.scalar(tree, q, e.pos)?;
                tree = joined;
                self.scans.scalars.push((e.clone(), value));
            }
        }
        Ok(tree)
    }

    /// FROM with one of them, and what it is then.
    fn scalar(&mut self, tree: Normal, q: &Query, pos: Pos) -> Result<(Normal, Expr)> {
        let of_rows = || Subquery::Form.at(pos);
        let Some((s, [])) = single(q, pos)? else { return Err(of_rows()) };
        let [item] = s.items.as_slice() else { return Err(of_rows()) };
        if s.has_group_by() || s.having.is_some() || s.distinct != Distinct::No {
            return Err(of_rows());
        }
        let own = q.defined();
        let of = |e: &Expr, inside: bool| {
            !e.any(&mut |e| match &e.kind {
                ExprKind::Column { binding, .. } => own.contains(binding) != inside,
                ExprKind::Subquery(_) | ExprKind::Exists { .. } | ExprKind::InQuery { .. } => true,
                _ => false,
            })
        };
        let (mut keys, mut rest) = (Vec::new(), Vec::new());
        for c in conjuncts(s.filter.as_slice()) {
            match &c.kind {
                ExprKind::Binary { op: BinaryOp::Eq, left, right } if of(left, true) && of(right, false) => {
                    keys.push(((**left).clone(), (**right).clone()));
                }
                ExprKind::Binary { op: BinaryOp::Eq, left, right } if of(right, true) && of(left, false) => {
                    keys.push(((**right).clone(), (**left).clone()));
                }
                _ => rest.push(c),
            }
        }
        let looks_out = |e: &Expr| match refers_outside(e, &own) {
            Some(at) => Err(Subquery::Inequality.at(at.pos.or(pos))),
            None => Ok(()),
        };
        rest.iter().chain([&item.expr]).try_for_each(looks_out)?;
        let at = self.aside();
        let (right, inner, value) = if crate::syntax::grouping::has_aggregate(&item.expr) {
            if !s.from.iter().any(|f| self.scans.scope.is_private(f)) {
                return Err(Subquery::PublicAggregate.at(pos));
            }
            let mut items: Vec<Item> =
                keys.iter().map(|(inner, _)| Item { expr: inner.clone(), name: String::new() }).collect();
            let group_by = items.iter().map(|i| i.expr.clone()).collect();
            items.push(item.clone());
            let filter = rest.into_iter().reduce(|a, b| {
                let kind = ExprKind::Binary { op: BinaryOp::And, left: Box::new(a), right: Box::new(b) };
                Expr::new(kind, pos)
            });
            let grouped = Select { items, group_by, filter, ..s.clone() };
            let Selected { tree, mut items } =
                self.selected(None, &grouped, &[], at, pos).map_err(|e| untied(e, pos))?;
            let value = items.pop().ok_or_else(of_rows)?;
            (tree, items, self.scans.counts_are_0(value))
        } else {
            let value = self.by_key(s, &keys, at, pos)?;
            let inner = keys.iter().map(|(inner, _)| self.scans.expand(inner)).collect::<Result<Vec<_>>>()?;
            for c in rest {
                let c = self.scans.expand(&c)?;
                self.condition(c, at);
            }
            let item = self.scans.expand(&item.expr)?;
            (value, inner, item)
        };
        let mut on = self.taken(at);
        for (inner, (_, outer)) in inner.into_iter().zip(&keys) {
            let outer = self.scans.expand(outer)?;
            let kind = ExprKind::Binary { op: BinaryOp::Eq, left: Box::new(inner), right: Box::new(outer) };
            on.push(Expr::new(kind, pos));
        }
        let (left, right) = (Box::new(tree), Box::new(right));
        Ok((Normal::Join { kind: JoinKind::Left, left, right, on, pos }, value))
    }

    /// A public table that these equalities find a row of.
    fn by_key(&mut self, s: &Select, keys: &[(Expr, Expr)], at: Place, pos: Pos) -> Result<Normal> {
        let several = || Subquery::Several.at(pos);
        if s.from.iter().any(|f| self.scans.scope.is_private(f)) {
            return Err(several());
        }
        let Some(tree) = self.list(&s.from, at)? else { return Err(several()) };
        let Normal::Scan(place) = &tree else { return Err(several()) };
        let scan = self.scans.list.get(*place);
        let table = scan.and_then(|s| self.scans.scope.table(s.table()?)).ok_or_else(several)?;
        let tied: BTreeSet<String> =
            keys.iter().filter_map(|(inner, _)| Some(self.scans.col(inner)?.1)).collect();
        let found = table.keys.iter().any(|k| !k.is_empty() && k.iter().all(|c| tied.contains(c)));
        if found { Ok(tree) } else { Err(several()) }
    }
}

impl Scans<'_> {
    /// Counts of no rows.
    fn counts_are_0(&self, mut e: Expr) -> Expr {
        if let ExprKind::Column { binding, column } = &e.kind {
            let counts = match self.scan_of(*binding).map(|s| &s.leaf) {
                Some(Leaf::Set(rows)) => match &rows.tree {
                    SetTree::Branch(b) => match &b.over {
                        Over::Groups(calls) => {
                            let call = column.checked_sub(b.items.len()).and_then(|i| calls.get(i));
                            call.is_some_and(|c| c.name == "count")
                        }
                        _ => false,
                    },
                    SetTree::Op { .. } => false,
                },
                _ => false,
            };
            if counts {
                let zero = Expr::new(ExprKind::Literal(Literal::Number("0".into())), e.pos);
                let pos = e.pos;
                return Expr::new(ExprKind::Call { name: "coalesce", args: vec![e, zero] }, pos);
            }
            return e;
        }
        for c in e.children_mut() {
            *c = self.counts_are_0(c.clone());
        }
        e
    }
}

/// The refusal of groups of several units, as one of the subquery.
fn untied(refusal: Refusal, pos: Pos) -> Refusal {
    match refusal {
        Refusal::Within(Within::Several { .. }, _) => Subquery::Untied.at(pos),
        other => other,
    }
}
