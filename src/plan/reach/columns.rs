//! The columns that an interval needs: beside each released number of the outermost SELECT, where `noisegate.intervals` asks
//! for it; and in queries in FROM the variances of what the others compute with. Numbers that `noisegate.round` shows to the
//! digit that their interval supports, or `noisegate.unsure` as NULL, need the latter, too.

use super::{Queries, Uncertain, judged};
use crate::refusals::interval::Interval;
use crate::{Free, Plan, Settings};
use answer::ClientError;
use schema::SqlType;
use sql::ast::*;
use sql::names::truncate;
use std::collections::BTreeSet;

/// Items of the outermost SELECT that have an interval beside them, by their places before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals {
    beside: Vec<usize>,
    /// Those of them of which there is none this time.
    unknown: Vec<usize>,
    confidence: u32,
}

/// Beside which items of the outermost SELECT `noisegate.intervals` puts an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// No interval: the setting is off.
    #[default]
    Nothing,
    /// All that have a known noise.
    Numbers,
    /// Intervals for the items that were told of, whatever noise they have, by their places: NULL
    /// when the noise is unknown.
    Told(Vec<usize>),
}

impl Intervals {
    /// Nothing is added.
    pub fn is_empty(&self) -> bool {
        self.beside.is_empty()
    }

    /// Beside these items of a statement that nobody has planned with its parameters.
    pub fn told(beside: Vec<usize>, confidence: u32) -> Self {
        Self { beside, unknown: Vec::new(), confidence }
    }

    /// The items, by their places.
    pub fn places(&self) -> &[usize] {
        &self.beside
    }

    /// Puts them beside their items. `query` is the statement's own, however far it was read.
    pub fn put(&self, query: &mut Query) {
        let Body::Select(select) = &mut query.body else { return };
        let mut places = Vec::with_capacity(select.items.len());
        let items = std::mem::take(&mut select.items);
        for (i, item) in items.into_iter().enumerate() {
            places.push(select.items.len());
            let added = self.beside.contains(&i).then(|| {
                [Reach::Low, Reach::High].map(|what| {
                    let expr = Box::new(item.expr.clone());
                    let kind = match self.unknown.contains(&i) {
                        true => nothing(),
                        false => ExprKind::Reach { what, expr, confidence: self.confidence },
                    };
                    let name = truncate(format!("{}_{}", item.name, what.name()));
                    Item { expr: Expr::new(kind, item.expr.pos), name }
                })
            });
            select.items.push(item);
            select.items.extend(added.into_iter().flatten());
        }
        for o in &mut query.order_by {
            if let ExprKind::Output(i) = &mut o.expr.kind {
                *i = places.get(*i).copied().unwrap_or(*i);
            }
        }
    }
}

/// `NULL::float8`
fn nothing() -> ExprKind {
    let ty = CastType { ty: SqlType::Float8, modifier: String::new() };
    ExprKind::Cast { expr: Box::new(Expr::new(ExprKind::Literal(Literal::Null), None)), ty }
}

/// Makes a plan ready for the intervals that its statement asks for, and for those of its columns. `confidence`: in millionths.
/// `settings` say how numbers are shown.
///
/// # Errors
/// The statement asks for one that nobody knows.
pub fn prepare(
    plan: &mut Plan,
    beside: &Beside,
    confidence: u32,
    settings: &Settings,
) -> Result<Intervals, ClientError> {
    let mut asked = false;
    plan.statement.query.each_expr(&mut |e| {
        if let ExprKind::Reach { confidence: c, .. } = &mut e.kind {
            (*c, asked) = (confidence, true);
        }
    });
    let mut intervals = Intervals { confidence, ..Intervals::default() };
    match beside {
        Beside::Numbers if has_noise(plan) => intervals.beside = numbers(plan),
        Beside::Told(places) => {
            intervals.beside.clone_from(places);
            intervals.unknown = unknown(plan, places);
        }
        Beside::Numbers | Beside::Nothing => {}
    }
    // What has no rows has no columns of its own: they are as they were typed.
    if plan.free != Some(Free::NoRows) {
        intervals.put(&mut plan.statement.query);
    }
    if settings.round && has_noise(plan) {
        plan.rounded = numbers(plan).into_iter().collect();
    }
    if settings.null_unsure && has_noise(plan) {
        plan.unsure = Some(judged::of(plan));
    }
    if !asked && intervals.beside.is_empty() && !plan.shown_by_intervals() {
        return Ok(intervals);
    }
    let wanted = wanted(plan)?;
    carry(&mut plan.statement.query, &wanted);
    Ok(intervals)
}

/// Whether a plan's numbers have noise, and are not one bit of a stream.
fn has_noise(plan: &Plan) -> bool {
    plan.charge.is_some() && plan.question.is_none()
}

/// The items of the outermost SELECT whose noise is known, but for what is told of others.
fn numbers(plan: &Plan) -> Vec<usize> {
    let Body::Select(select) = &plan.statement.query.body else { return Vec::new() };
    if select.distinct != Distinct::No {
        return Vec::new();
    }
    let queries = Queries::of(plan);
    let place = queries.place(select);
    let known = |(i, item): (usize, &Item)| match queries.follow(&item.expr, place) {
        _ if matches!(item.expr.kind, ExprKind::Reach { .. }) => None,
        Err(_) if queries.end(Reach::Low, &item.expr, place).is_some() => Some(i),
        Ok(Uncertain::Exact(_)) | Err(_) => None,
        Ok(_) => Some(i),
    };
    select.items.iter().enumerate().filter_map(known).collect()
}

/// Those of these items whose noise nobody knows.
fn unknown(plan: &Plan, places: &[usize]) -> Vec<usize> {
    let Body::Select(select) = &plan.statement.query.body else { return places.to_vec() };
    let queries = Queries::of(plan);
    let place = queries.place(select);
    let known = |i: &usize| {
        select.items.get(*i).is_some_and(|item| {
            queries.follow(&item.expr, place).is_ok() || queries.end(Reach::Low, &item.expr, place).is_some()
        })
    };
    places.iter().copied().filter(|i| !known(i)).collect()
}

/// Items of queries in FROM whose variances are needed: a SELECT, and a place in it.
fn wanted(plan: &Plan) -> Result<BTreeSet<(SelectId, usize)>, ClientError> {
    let queries = Queries::of(plan);
    let mut found = Found { queries: &queries, wanted: BTreeSet::new(), plan };
    found.query(&plan.statement.query)?;
    found.shown()?;
    for stage in &plan.stages {
        if stage.query.expressions().any(|e| matches!(e.kind, ExprKind::Reach { .. })) {
            return Err(Interval::Stage.at(None).into());
        }
    }
    Ok(found.wanted)
}

struct Found<'q, 'p> {
    queries: &'q Queries<'p>,
    plan: &'p Plan,
    wanted: BTreeSet<(SelectId, usize)>,
}

impl<'p> Found<'_, 'p> {
    /// What it follows from how items are shown.
    fn shown(&mut self) -> Result<(), ClientError> {
        let Body::Select(select) = &self.plan.statement.query.body else { return Ok(()) };
        let place = self.queries.place(select);
        let judged = self.plan.unsure.iter().flat_map(|unsure| &unsure.judged);
        let items = self.plan.rounded.iter().chain(judged).filter_map(|i| select.items.get(*i));
        let by_rank = |e: &Expr| {
            self.queries.end(Reach::Low, e, place).is_some() || self.queries.count_beside(e, place).is_some()
        };
        for item in items.filter(|item| !by_rank(&item.expr)).collect::<Vec<_>>() {
            let of = self.queries.follow(&item.expr, place)?;
            self.columns(&of)?;
        }
        Ok(())
    }

    fn query(&mut self, q: &'p Query) -> Result<(), ClientError> {
        for cte in &q.with {
            if !self.plan.private_ctes.contains(&cte.id) {
                self.query(&cte.query)?;
            }
        }
        self.body(&q.body, &q.order_by)
    }

    fn body(&mut self, body: &'p Body, order_by: &'p [OrderItem]) -> Result<(), ClientError> {
        match body {
            Body::Select(s) => self.select(s, order_by),
            Body::Query(q) => self.query(q),
            Body::SetOp { left, right, .. } => {
                self.body(left, &[])?;
                self.body(right, &[])
            }
            Body::Values(_) | Body::Rows { .. } => Ok(()),
        }
    }

    fn select(&mut self, s: &'p Select, order_by: &'p [OrderItem]) -> Result<(), ClientError> {
        let place = self.queries.place(s);
        if place.release.is_none() {
            s.relations().filter_map(|(_, query)| query).try_for_each(|q| self.query(q))?;
        }
        let above = s.items.iter().map(|i| &i.expr).chain(&s.having).chain(order_by.iter().map(|o| &o.expr));
        let rows = s.filter.iter().chain(&s.group_by).filter(|_| place.release.is_none());
        for e in above.chain(rows) {
            self.expr(e, place)?;
        }
        Ok(())
    }

    fn expr(&mut self, e: &'p Expr, place: super::Place) -> Result<(), ClientError> {
        match &e.kind {
            ExprKind::Reach { what, expr, .. } if self.queries.end(*what, expr, place).is_some() => Ok(()),
            ExprKind::Reach { expr, .. } => {
                let of = self.queries.follow(expr, place)?;
                self.columns(&of)
            }
            _ => {
                e.children().into_iter().try_for_each(|c| self.expr(c, place))?;
                e.query().map_or(Ok(()), |q| self.query(q))
            }
        }
    }

    /// The columns that a number's noise is computed from, and what they are computed from.
    fn columns(&mut self, of: &Uncertain<'p>) -> Result<(), ClientError> {
        match of {
            Uncertain::Exact(_) | Uncertain::Released { .. } | Uncertain::OfSets { .. } => Ok(()),
            Uncertain::Column { select, item, .. } => {
                let new = select.id.is_some_and(|id| self.wanted.insert((id, *item)));
                if !new {
                    return Ok(());
                }
                let Some(item) = select.items.get(*item) else { return Ok(()) };
                let of = self.queries.follow(&item.expr, self.queries.place(select))?;
                self.columns(&of)
            }
            Uncertain::Query { query, .. } => {
                let Some((item, place)) = self.queries.only_item(query) else { return Ok(()) };
                let of = self.queries.follow(item, place)?;
                self.columns(&of)
            }
            Uncertain::Same(_, x)
            | Uncertain::Negated(_, x)
            | Uncertain::Total { of: x, .. }
            | Uncertain::Shifted { of: x, .. } => self.columns(x),
            Uncertain::Sum(_, _, pair) | Uncertain::Product(_, pair) | Uncertain::Quotient(_, pair) => {
                pair.iter().try_for_each(|x| self.columns(x))
            }
        }
    }
}

/// Adds what is carried of each as last items: variances, fourth cumulants, and how far cutting reaches.
fn carry(q: &mut Query, wanted: &BTreeSet<(SelectId, usize)>) {
    PartMut::Query(q).each(&mut |mut part| {
        let s = match &mut part {
            PartMut::Expr(_) => return None,
            PartMut::Body(Body::Select(s)) => s,
            _ => return Some(part),
        };
        let of_select = s.id.into_iter().flat_map(|id| wanted.range((id, 0)..(id.next(), 0)));
        for (_, item) in of_select {
            let Some(of) = s.items.get(*item).cloned() else { continue };
            for what in Reach::CARRIED {
                let kind =
                    ExprKind::Reach { what, expr: Box::new(of.expr.clone()), confidence: Reach::USUAL };
                s.items.push(Item { expr: Expr::new(kind, of.expr.pos), name: what.name().into() });
            }
        }
        Some(part)
    });
}

impl Uncertain<'_> {
    /// Of a column, the place where this of it stands in its SELECT.
    pub fn beside(&self, what: Reach) -> Option<usize> {
        let Self::Column { select, item, .. } = self else { return None };
        let of = &select.items.get(*item)?.expr;
        let is = |e: &Expr| matches!(&e.kind, ExprKind::Reach { what: w, expr, .. } if *w == what && **expr == *of);
        select.items.iter().position(|i| is(&i.expr))
    }
}
