//! Reach of noise: how far the noise of released numbers reaches in what is computed above them:
//! `noisegate.low(x)`, `noisegate.high(x)`, `noisegate.stddev(x)`, and the columns that
//! `noisegate.intervals` adds.
//!
//! All of it is post-processing: it follows from released values and from the public parameters of
//! their noise, and costs nothing. [`Queries::follow`] takes a number apart; what has no rule is
//! refused by name, so that no interval is shown that nobody has reasons for. `emit` writes the
//! interval down from that.
//!
//! Intervals hold what noise and bounds on rows do, as far as that was measured: an end that nobody
//! knows is NULL. Of values outside of their ranges, which EXPLAIN tells, they know nothing.

pub mod columns;
pub mod half_width;
pub mod judged;
mod sets;
mod uncertain;

pub use uncertain::Uncertain;

use crate::aggregates::Followed;
use crate::noise::{Part, Rows};
use crate::refusals::interval::{Interval, Unfollowed};
use crate::syntax::grouping::has_aggregate;
use crate::{GroupingSets, Plan, quantile_ends};
use answer::ClientError;
use sql::ast::*;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// Place of an expression in a statement.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The first release of its SELECT, if that stands for one.
    pub release: Option<usize>,
    /// Its SELECT aggregates rows that were released before.
    grouped: bool,
    /// No row of its FROM is there twice, and noise does not choose which are.
    each_once: bool,
}

impl Place {
    /// Of what stands inside of an aggregate there: the rows.
    pub fn rows(self) -> Self {
        Self { grouped: false, ..self }
    }
}

/// Queries of a statement, by what noise needs to know of them.
pub struct Queries<'p> {
    plan: &'p Plan,
    /// Those of derived tables and CTEs, by binding.
    of: BTreeMap<BindingId, &'p Query>,
    /// Whether rows stand once each, by the address of their SELECT: asked of every column, over and over.
    once: RefCell<BTreeMap<usize, bool>>,
    /// Expressions that were followed, again for each column that stands for one.
    followed: Cell<usize>,
}

/// Expressions that are followed for one statement: a column that stands twice in each of many levels would be followed without end.
const MOST_FOLLOWED: usize = 1_000_000;

/// Why a number cannot be followed.
#[derive(Clone, Debug)]
pub struct Lost {
    what: Unfollowed,
    pos: Pos,
}

impl std::convert::From<Lost> for ClientError {
    fn from(lost: Lost) -> Self {
        Interval::Of(lost.what).at(lost.pos).into()
    }
}

impl Lost {
    /// The reason, and its position.
    pub fn what(&self) -> (Unfollowed, Pos) {
        (self.what, self.pos)
    }
}

type Result<T> = std::result::Result<T, Lost>;

fn lost<T>(what: Unfollowed, pos: Pos) -> Result<T> {
    Err(Lost { what, pos })
}

impl<'p> Queries<'p> {
    /// Of a plan.
    pub fn of(plan: &'p Plan) -> Self {
        let mut found = Self { plan, of: BTreeMap::new(), once: RefCell::default(), followed: Cell::new(0) };
        let mut ctes = BTreeMap::new();
        for part in plan.statement.query.sources() {
            match part {
                sql::ast::Part::Query(q) => ctes.extend(q.with.iter().map(|cte| (cte.id, &cte.query))),
                sql::ast::Part::From(From::Relation { binding, query: Some(query), .. }) => {
                    found.of.insert(*binding, query);
                }
                _ => {}
            }
        }
        for (binding, b) in plan.statement.bindings.iter() {
            if let Source::Cte(id) = &b.source
                && let Some(query) = ctes.get(id)
            {
                found.of.insert(binding, query);
            }
        }
        found
    }

    /// Place of the items of a SELECT.
    pub fn place(&self, select: &Select) -> Place {
        let release = self.plan.releases.iter().position(|r| r.select == select.id);
        let aggregates = select.items.iter().any(|i| has_aggregate(&i.expr));
        let grouped = release.is_none() && (select.has_group_by() || aggregates);
        Place { release, grouped, each_once: self.each_once(select) }
    }

    /// Whether rows are those of one relation, in which each stands once, whatever the noise is.
    fn each_once(&self, select: &Select) -> bool {
        let at = std::ptr::from_ref(select).addr();
        let known = self.once.borrow().get(&at).copied();
        known.unwrap_or_else(|| {
            let once = self.is_each_once(select);
            self.once.borrow_mut().insert(at, once);
            once
        })
    }

    fn is_each_once(&self, select: &Select) -> bool {
        if self.plan.releases.iter().any(|r| r.select == select.id) {
            return select.having.is_none();
        }
        let [From::Relation { binding, query: _, lateral: false, .. }] = select.from.as_slice() else {
            return false;
        };
        let Some(query) = self.of.get(binding) else { return true };
        let within = Place { release: None, grouped: false, each_once: false };
        let chosen = |e: &Expr| !matches!(self.follow(e, within), Ok(Uncertain::Exact(_)));
        let whole = query.limit.is_none() && query.offset.is_none();
        let inner = self.select(query, None);
        whole && !select.filter.as_ref().is_some_and(chosen) && inner.is_ok_and(|inner| self.each_once(inner))
    }

    /// The aggregate of a release that stands for an end of an expression's interval: of a quantile.
    pub fn end(&self, what: Reach, e: &Expr, place: Place) -> Option<Expr> {
        let first = self.plan.releases.get(place.release?)?;
        let (a, _) = quantile_ends::end(what, e)?;
        let mut own = self.plan.releases.iter().filter(|r| r.select == first.select);
        let known = own.any(|r| r.outputs.iter().any(|(have, _)| *have == a));
        known.then(|| Expr::new(ExprKind::Aggregate(Box::new(a)), e.pos))
    }

    /// Takes a number apart into released ones.
    ///
    /// # Errors
    /// There is no rule for how noise moves through it.
    pub fn follow<'e>(&self, e: &'e Expr, place: Place) -> Result<Uncertain<'e>>
    where
        'p: 'e,
    {
        self.followed.set(self.followed.get() + 1);
        if self.followed.get() > MOST_FOLLOWED {
            return lost(Unfollowed::Large, e.pos);
        }
        if let Some(row) = place.release
            && let Some(known) = self.released(e, row)?
        {
            return Ok(known);
        }
        let one = |x: &'e Expr| self.follow(x, place);
        match &e.kind {
            ExprKind::Column { binding, column } => self.column(e, *binding, *column, place),
            ExprKind::Negate(x) => Ok(match one(x)? {
                Uncertain::Exact(_) => Uncertain::Exact(e),
                x => Uncertain::Negated(e, Box::new(x)),
            }),
            ExprKind::Cast { expr, ty } if ty.ty.is_number() => self.same(e, expr, place),
            ExprKind::Call { name: "round" | "trunc" | "ceil" | "ceiling" | "floor", args } => {
                match args.as_slice() {
                    [x, digits @ ..] if digits.iter().all(|d| matches!(one(d), Ok(Uncertain::Exact(_)))) => {
                        self.same(e, x, place)
                    }
                    _ => lost(Unfollowed::Rounding, e.pos),
                }
            }
            ExprKind::Call { name: "coalesce", args } => match args.as_slice() {
                [x, others @ ..] if others.iter().all(|o| matches!(one(o), Ok(Uncertain::Exact(_)))) => {
                    self.same(e, x, place)
                }
                _ => self.exact(e, place, Unfollowed::Computed),
            },
            ExprKind::Call { name: "nullif", args } => match args.as_slice() {
                [x, other] if matches!(one(other), Ok(Uncertain::Exact(_))) => self.same(e, x, place),
                _ => lost(Unfollowed::NullIf, e.pos),
            },
            ExprKind::Binary { op, left, right }
                if matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div) =>
            {
                let pair = [one(left)?, one(right)?];
                if let [Uncertain::Exact(_), Uncertain::Exact(_)] = pair {
                    return Ok(Uncertain::Exact(e));
                }
                let pair = Box::new(pair);
                Ok(match op {
                    BinaryOp::Add => Uncertain::Sum(e, false, pair),
                    BinaryOp::Sub => Uncertain::Sum(e, true, pair),
                    BinaryOp::Mul => Uncertain::Product(e, pair),
                    _ => Uncertain::Quotient(e, pair),
                })
            }
            ExprKind::Aggregate(a) if place.release.is_none() => self.total(e, a, place),
            ExprKind::Window { function, .. } => match &function.kind {
                ExprKind::Aggregate(a) => self.total(e, a, place),
                ExprKind::Call { name, args } => match (shift(name, args), args.first()) {
                    (Some(by), Some(x)) => self.shifted(e, x, by, place),
                    _ => self.exact(e, place, Unfollowed::Window),
                },
                _ => self.exact(e, place, Unfollowed::Window),
            },
            ExprKind::Subquery(q) => self.scalar(e, q),
            _ => self.exact(e, place, Unfollowed::Computed),
        }
    }

    /// A key or an aggregate of a release.
    fn released<'e>(&self, e: &'e Expr, row: usize) -> Result<Option<Uncertain<'e>>>
    where
        'p: 'e,
    {
        let all = &self.plan.releases;
        let Some(first) = all.get(row) else { return Ok(None) };
        if let Some(sets) = self.plan.grouping_sets.iter().find(|s| s.select == first.select) {
            return match &e.kind {
                ExprKind::Aggregate(a) => self.of_sets(e, a, row, sets).map(Some),
                _ if has_aggregate(e) => Ok(None),
                _ => Ok(Some(Uncertain::Exact(e))),
            };
        }
        if first.group_keys().iter().any(|k| k.expr == *e) {
            return Ok(Some(Uncertain::Exact(e)));
        }
        let ExprKind::Aggregate(a) = &e.kind else { return Ok(None) };
        let own = all.iter().enumerate().filter(|(_, r)| (r.select, r.set) == (first.select, first.set));
        let found =
            own.flat_map(|(from, r)| r.outputs.iter().map(move |(have, output)| (from, have, output)));
        match found.into_iter().find(|(_, have, _)| **have == **a) {
            Some((from, _, output)) => match output.noise() {
                Followed::Exact => Ok(Some(Uncertain::Exact(e))),
                Followed::Known => Ok(Some(Uncertain::Released { row, from, output })),
                Followed::ByRank => lost(Unfollowed::ByRank, e.pos),
                Followed::Lost => lost(Unfollowed::Aggregate, e.pos),
            },
            None => lost(Unfollowed::Aggregate, e.pos),
        }
    }

    /// An aggregate of grouping sets: every set has its own releases, or sums of another's.
    fn of_sets<'e>(
        &self,
        e: &'e Expr,
        a: &Aggregate,
        row: usize,
        sets: &'p GroupingSets,
    ) -> Result<Uncertain<'e>>
    where
        'p: 'e,
    {
        if a.name == "grouping" {
            return Ok(Uncertain::Exact(e));
        }
        let Some(aggregate) = sets.aggregates.iter().position(|have| have == a) else {
            return lost(Unfollowed::Aggregate, e.pos);
        };
        let all = &self.plan.releases;
        if !sets.sets.iter().all(|set| sets.integers(all, set).is_some()) {
            return lost(Unfollowed::OfUnlikeSets, e.pos);
        }
        // All sets are made alike: the first stands for them.
        match sets.sets.first().and_then(|set| sets.released(all, set, aggregate)) {
            Some((release, _, output)) => match output.noise() {
                Followed::Exact => Ok(Uncertain::Exact(e)),
                Followed::Known => {
                    let parts = output.parts().into_iter().map(|part| sets.part((release, part))).collect();
                    Ok(Uncertain::OfSets { row, sets, aggregate, parts })
                }
                Followed::ByRank => lost(Unfollowed::ByRank, e.pos),
                Followed::Lost => lost(Unfollowed::Aggregate, e.pos),
            },
            None => lost(Unfollowed::Aggregate, e.pos),
        }
    }

    fn same<'e>(&self, e: &'e Expr, x: &'e Expr, place: Place) -> Result<Uncertain<'e>>
    where
        'p: 'e,
    {
        Ok(match self.follow(x, place)? {
            Uncertain::Exact(_) => Uncertain::Exact(e),
            of => Uncertain::Same(e, Box::new(of)),
        })
    }

    /// What has no rule of its own, and must not have noise in it.
    fn exact<'e>(&self, e: &'e Expr, place: Place, what: Unfollowed) -> Result<Uncertain<'e>>
    where
        'p: 'e,
    {
        if e.query().is_some() {
            return lost(Unfollowed::Subquery, e.pos);
        }
        match e.children().into_iter().all(|c| matches!(self.follow(c, place), Ok(Uncertain::Exact(_)))) {
            true => Ok(Uncertain::Exact(e)),
            false => lost(what, e.pos),
        }
    }

    /// The one SELECT of a query whose rows may have more columns.
    fn select<'e>(&self, q: &'e Query, pos: Pos) -> Result<&'e Select> {
        match &q.body {
            Body::Select(s) if s.distinct == Distinct::No => Ok(s),
            Body::Query(q) => self.select(q, pos),
            _ => lost(Unfollowed::SetOperation, pos),
        }
    }

    fn column<'e>(
        &self,
        e: &'e Expr,
        binding: BindingId,
        column: usize,
        place: Place,
    ) -> Result<Uncertain<'e>>
    where
        'p: 'e,
    {
        let Some(query) = self.of.get(&binding) else { return Ok(Uncertain::Exact(e)) };
        let select = match self.select(query, e.pos) {
            Ok(select) => select,
            // Without a release in it there is no noise.
            Err(lost) => return if self.is_public(query) { Ok(Uncertain::Exact(e)) } else { Err(lost) },
        };
        let Some(item) = select.items.get(column) else { return lost(Unfollowed::Column, e.pos) };
        match self.follow(&item.expr, self.place(select))? {
            Uncertain::Exact(_) => Ok(Uncertain::Exact(e)),
            _ if place.grouped => lost(Unfollowed::Key, e.pos),
            of => {
                // Which rows the others are of is not known out here.
                let (parts, shared) = (seen_from_outside(of.parts()), of.shared());
                Ok(Uncertain::Column { expr: e, binding, select, item: column, parts, shared })
            }
        }
    }

    /// The one item of a scalar subquery, and where it stands.
    pub fn only_item<'e>(&self, q: &'e Query) -> Option<(&'e Expr, Place)> {
        let select = self.select(q, None).ok()?;
        let [item] = select.items.as_slice() else { return None };
        Some((&item.expr, self.place(select)))
    }

    /// Whether no release stands in a query, nor in a CTE that it names.
    fn is_public(&self, q: &Query) -> bool {
        let (mut next, mut seen) = (vec![q], BTreeSet::new());
        while let Some(q) = next.pop() {
            if q.selects().any(|s| self.plan.releases.iter().any(|r| r.select == s.id)) {
                return false;
            }
            let named =
                q.defined().into_iter().filter_map(|b| match self.plan.statement.bindings.get(b)?.source {
                    Source::Cte(id) if seen.insert(id) => self.of.get(&b).copied(),
                    _ => None,
                });
            next.extend(named);
        }
        true
    }

    /// A sum, an average or a count of rows that were released before.
    fn total<'e>(&self, e: &'e Expr, a: &'e Aggregate, place: Place) -> Result<Uncertain<'e>>
    where
        'p: 'e,
    {
        // Inside of the call rows stand as they are.
        let rows = place.rows();
        let exact = |x: &'e Expr| matches!(self.follow(x, rows), Ok(Uncertain::Exact(_)));
        let plain = a.order_by.is_empty() && a.within_group.is_empty() && !a.distinct;
        if !place.each_once || !a.filter.iter().chain(window_parts(e)).all(exact) {
            return lost(Unfollowed::OfJoined, e.pos);
        }
        match (a.name, a.args.as_slice()) {
            (_, args) if args.iter().all(exact) => Ok(Uncertain::Exact(e)),
            ("sum" | "avg", [x]) if plain => match self.follow(x, rows)? {
                of if of.shared() => lost(Unfollowed::OfShared, e.pos),
                of => Ok(Uncertain::Total { expr: e, of: Box::new(of), mean: a.name == "avg" }),
            },
            _ => lost(Unfollowed::OfReleased, e.pos),
        }
    }

    /// The number of another row of the same relation.
    fn shifted<'e>(&self, e: &'e Expr, x: &'e Expr, by: i64, place: Place) -> Result<Uncertain<'e>>
    where
        'p: 'e,
    {
        let rows = place.rows();
        let exact = |x: &'e Expr| matches!(self.follow(x, rows), Ok(Uncertain::Exact(_)));
        if !place.each_once || !window_parts(e).into_iter().all(exact) {
            return lost(Unfollowed::WindowOfJoined, e.pos);
        }
        Ok(match self.follow(x, place)? {
            Uncertain::Exact(_) => Uncertain::Exact(e),
            of => Uncertain::Shifted { expr: e, of: Box::new(of), by },
        })
    }

    fn scalar<'e>(&self, e: &'e Expr, q: &'e Query) -> Result<Uncertain<'e>>
    where
        'p: 'e,
    {
        let select = self.select(q, e.pos)?;
        let [item] = select.items.as_slice() else { return lost(Unfollowed::Subquery, e.pos) };
        Ok(match self.follow(&item.expr, self.place(select))? {
            Uncertain::Exact(_) => Uncertain::Exact(e),
            of => {
                let parts = of.parts().into_iter().map(|p| Part { rows: Rows::Any, ..p }).collect();
                Uncertain::Query { expr: e, query: q, parts }
            }
        })
    }
}

/// How many rows before, for `lag(x)` and `lead(x)`.
fn shift(name: &str, args: &[Expr]) -> Option<i64> {
    let by = match args {
        [_] => 1,
        [_, Expr { kind: ExprKind::Literal(Literal::Number(n)), .. }] => n.parse().ok().filter(|n| *n > 0)?,
        _ => return None,
    };
    match name {
        "lag" => Some(by),
        "lead" => Some(-by),
        _ => None,
    }
}

/// Parts as they are for a row that this one was joined to.
fn seen_from_outside(parts: BTreeSet<Part>) -> BTreeSet<Part> {
    let outside = |p: Part| if p.rows == Rows::Own { p } else { Part { rows: Rows::Any, ..p } };
    parts.into_iter().map(outside).collect()
}

/// What says which rows a window function looks at.
fn window_parts(e: &Expr) -> Vec<&Expr> {
    match &e.kind {
        ExprKind::Window { partition_by, order_by, .. } => {
            partition_by.iter().chain(order_by.iter().map(|o| &o.expr)).collect()
        }
        _ => Vec::new(),
    }
}
