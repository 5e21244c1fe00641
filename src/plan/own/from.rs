//! From FROM to joins of scans: derived tables and CTEs that only project and filter are read as part of the query around them.

use super::per_unit::Selected;
use super::relation::{Place, Reading, Relation};
use super::scans::{Result, Substitute};
use crate::algebra::normal::Normal;
use crate::algebra::source::{Leaf, Scan, TableName};
use crate::refusals::Refusal;
use crate::refusals::join::Join;
use crate::syntax::conditions::{conjuncts, single};
use crate::syntax::grouping::has_windows;
use crate::syntax::null_extension::{rejects, strict};
use sql::ast::*;
use std::collections::BTreeSet;

impl Relation<'_, Reading> {
    /// Several entries of FROM are a cross join.
    pub(crate) fn list(&mut self, list: &[From], at: Place) -> Result<Option<Normal>> {
        let mut all: Option<Normal> = None;
        for from in list {
            let next = self.from(from, at)?;
            all = Some(match all {
                None => next,
                Some(left) => Normal::Join {
                    kind: JoinKind::Inner,
                    left: Box::new(left),
                    right: Box::new(next),
                    on: Vec::new(),
                    pos: None,
                },
            });
        }
        Ok(all)
    }

    fn from(&mut self, from: &From, at: Place) -> Result<Normal> {
        match from {
            From::Relation { binding, query, pos, .. } => {
                let scope = self.scans.scope.clone();
                let cte = scope.cte(*binding);
                if let Some(q) = query.as_deref().or(cte)
                    && let Some(tree) = self.released(*binding, q, at.nullable, *pos)
                {
                    return tree;
                }
                match (scope.binding(*binding).map(|b| &b.source), query) {
                    (Some(Source::Table(table)), _) => {
                        let Some(t) = scope.table(*table) else { return Err(Refusal::Unread("table", *pos)) };
                        self.scan(*binding, Leaf::Table(*table, TableName::of(t)), at.nullable, *pos)
                    }
                    // With its condition inside: a FULL JOIN has none for one side.
                    (Some(Source::Capped { .. }), Some(q)) if !numbers_rows(q) => {
                        self.set(*binding, q, at.nullable, *pos)
                    }
                    (Some(Source::Derived | Source::Capped { .. }), Some(q)) => {
                        self.derived(*binding, q, at, *pos)
                    }
                    (Some(Source::Cte(_)), _) => match cte {
                        Some(q) => self.derived(*binding, &scope.renumbered(q), at, *pos),
                        None => Err(Refusal::Unread("CTE", *pos)),
                    },
                    _ => Err(Refusal::Unread("FROM", *pos)),
                }
            }
            From::Join { left, right, kind, on, pos } => {
                let (kind, swapped) = match kind {
                    JoinKind::Right => (JoinKind::Left, true),
                    other => (*other, false),
                };
                self.joined(kind, swapped, (left, right), on.as_ref(), at, *pos)
            }
        }
    }

    /// A join; `swapped`: RIGHT, which is LEFT with its sides exchanged.
    fn joined(
        &mut self,
        kind: JoinKind,
        swapped: bool,
        (left, right): (&From, &From),
        on: Option<&Expr>,
        at: Place,
        pos: Pos,
    ) -> Result<Normal> {
        let (l, r) = (self.scans.scope.is_private(left), self.scans.scope.is_private(right));
        let (kept, optional) = if swapped { (r, l) } else { (l, r) };
        // Soundness rule 8: read as an inner join, and the aggregates are held to what makes that the same.
        let by_rule_8 = kind == JoinKind::Left && !kept && optional;
        let (kind, at_left, at_right) = match kind {
            JoinKind::Left if by_rule_8 => {
                if at.nullable {
                    return Err(Join::OptionalInside.at(pos));
                }
                // What a derived table on the optional side drops is gone before it is missed.
                let inside = Place { nullable: false, ..self.aside() };
                if swapped { (JoinKind::Inner, inside, at) } else { (JoinKind::Inner, at, inside) }
            }
            JoinKind::Left if swapped => (kind, self.aside(), at),
            JoinKind::Left => (kind, at, self.aside()),
            JoinKind::Full if !(l && r) => {
                return Err(Join::FullWithPublic.at(pos));
            }
            JoinKind::Full => (kind, self.aside(), self.aside()),
            _ => (kind, at, at),
        };
        let before = self.scans.list.len();
        let left = self.from(left, at_left)?;
        let middle = self.scans.list.len();
        let right = self.from(right, at_right)?;
        let mut conditions = Vec::new();
        if let Some(on) = on {
            let on = self.scans.without_null(self.scans.expand(on)?);
            // The ON of inner joins is as good as WHERE, where conditions may hold subqueries.
            match kind == JoinKind::Inner && !by_rule_8 && !at.nullable {
                true => {
                    let (asked, plain): (Vec<Expr>, Vec<Expr>) =
                        conjuncts(&[on]).into_iter().partition(has_members);
                    asked.into_iter().for_each(|c| self.condition(c, at));
                    conditions.extend(plain);
                }
                false => conditions.push(on),
            }
        }
        if kind == JoinKind::Inner && !by_rule_8 {
            // Rows without partners, of joins below, are gone here.
            self.state.optional.retain(|(of, _)| !conditions.iter().any(|c| rejects(c, of)));
        }
        if by_rule_8 {
            let of = if swapped { before..middle } else { middle..self.scans.list.len() };
            let of = self.scans.list.get(of).unwrap_or_default().iter().map(|s| s.binding).collect();
            self.state.optional.push((of, pos));
        }
        match kind {
            _ if by_rule_8 || kind == JoinKind::Left => {
                let at = if swapped { at_left } else { at_right };
                conditions.extend(self.taken(at));
            }
            JoinKind::Full if !(self.taken(at_left).is_empty() && self.taken(at_right).is_empty()) => {
                return Err(Join::FullFiltered.at(pos));
            }
            _ => {}
        }
        let (left, right) = if swapped { (right, left) } else { (left, right) };
        Ok(Normal::Join { kind, left: Box::new(left), right: Box::new(right), on: conditions, pos })
    }

    /// Adds a scan.
    pub(crate) fn scan(
        &mut self,
        binding: BindingId,
        leaf: Leaf,
        nullable: bool,
        pos: Pos,
    ) -> Result<Normal> {
        Ok(Normal::Scan(self.scans.push(Scan { binding, leaf, nullable, serves: None }, pos)?))
    }

    /// A derived table: its columns become expressions over scans.
    fn derived(&mut self, binding: BindingId, q: &Query, at: Place, pos: Pos) -> Result<Normal> {
        let (s, order_by) = match single(q, pos)? {
            Some((s, order_by)) if !s.from.is_empty() => (s, order_by),
            _ => return self.set(binding, q, at.nullable, pos),
        };
        let before = self.scans.list.len();
        let Selected { tree, items } = self.selected(Some(binding), s, order_by, at, pos)?;
        let own: BTreeSet<BindingId> =
            self.scans.list.get(before..).unwrap_or_default().iter().map(|s| s.binding).collect();
        let columns = items.into_iter().map(|expr| {
            let lost = at.nullable && !strict(&expr, &own);
            Substitute { expr, lost }
        });
        let columns = columns.collect();
        self.scans.substitute(binding, columns);
        Ok(tree)
    }
}

/// Whether a query has windows over its rows.
fn numbers_rows(q: &Query) -> bool {
    matches!(&q.body, Body::Select(s) if has_windows(s))
}

/// Whether IN or EXISTS over a subquery stands in it.
fn has_members(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e.kind, ExprKind::Exists { .. } | ExprKind::InQuery { .. }))
}
