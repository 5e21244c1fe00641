//! Values that say nothing, which `noisegate.unsure` shows as NULL: numbers whose interval is wider than they are, and extremes and
//! quantiles without ends where a count beside them tells that their group has too few rows.

use super::{Place, Queries, Uncertain};
use crate::release::Release;
use crate::{Plan, Unsure};
use sql::ast::*;

/// The count that tells whether a point says something of its group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountBeside {
    /// The first release of the SELECT, which names the row.
    pub row: usize,
    /// The release of the count.
    pub from: usize,
    /// The count.
    pub part: usize,
    /// As many rows there are at least where it does.
    pub least: f64,
}

impl Queries<'_> {
    /// The count beside an extreme or a quantile.
    pub fn count_beside(&self, e: &Expr, place: Place) -> Option<CountBeside> {
        let ExprKind::Aggregate(a) = &e.kind else { return None };
        let (row, all) = (place.release?, &self.plan.releases);
        let first = all.get(row)?;
        if self.plan.grouping_sets.iter().any(|sets| sets.select == first.select) {
            return None;
        }
        let own = || all.iter().enumerate().filter(|(_, r)| (r.select, r.set) == (first.select, first.set));
        let is_of = |r: &Release| r.outputs.iter().any(|(have, _)| *have == **a);
        let missed = own().filter(|(_, r)| is_of(r)).find_map(|(_, r)| r.missed(a.name))?;
        let (from, part) = own().find_map(|(from, r)| Some((from, r.counting()?)))?;
        Some(CountBeside { row, from, part, least: Release::least_rows(missed) })
    }
}

/// The items of the outermost SELECT that have noise, by whether anything tells how far to trust them.
pub(super) fn of(plan: &Plan) -> Unsure {
    let Body::Select(select) = &plan.statement.query.body else { return Unsure::default() };
    let mut unsure = Unsure::default();
    let (queries, single) = (Queries::of(plan), select.distinct == Distinct::No);
    let place = queries.place(select);
    for (i, item) in select.items.iter().enumerate() {
        let e = &item.expr;
        let known = match queries.follow(e, place) {
            _ if matches!(e.kind, ExprKind::Reach { .. }) => continue,
            Ok(Uncertain::Exact(_)) => continue,
            Ok(_) => true,
            Err(_) => queries.end(Reach::Low, e, place).is_some() || queries.count_beside(e, place).is_some(),
        };
        if known && single { &mut unsure.judged } else { &mut unsure.kept }.insert(i);
    }
    unsure
}
