//! Results that are released before private rows are read: `fare > (SELECT avg(fare) FROM trips)`, `JOIN (SELECT station …
//! ORDER BY count(*) DESC LIMIT 5) AS top`, `station IN (SELECT station … LIMIT 5)`.
//!
//! The subquery is a release of its own. Its noisy rows are finished by PostgreSQL, and stand as parameters in the fetches
//! that come after: to these they are constants, of which nothing is known but their types and how many there are at most.
//! Plan and price are made before they are known, and hold for any value of them (soundness rules 9 and 25).
//!
//! A value is one parameter. Rows are one parameter for each of their cells, and one that says whether the row is there; a
//! row that is not there repeats the first.

use super::Walk;
use crate::expr::interval::Interval;
use crate::facts::Facts;
use crate::facts::public_rows;
use crate::facts::public_rows::MOST_CONSTANTS;
use crate::own::given::Stage;
use crate::refusals::meeting::Meeting;
use crate::refusals::stream::Question;
use crate::stop::Stop;
use crate::syntax::grouping::has_aggregate;
use crate::syntax::renumber::bare;
use crate::{Release, groups};
use answer::ClientError;
use schema::SqlType;
use sql::ast::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Released rows that may meet private ones: each of them is a branch of a text that is planned and proven.
const MOST_ROWS: usize = if MOST_CONSTANTS < 100 { MOST_CONSTANTS } else { 100 };

impl<'a> Walk<'a> {
    /// Whether this subquery is a stage already: what a statement is grouped by stands in it more than once, and a CTE may.
    fn is_staged(&self, q: &Query) -> bool {
        let first = q.body.first_select();
        first.is_some_and(|first| self.stages.iter().any(|s| s.selects.contains(&first)))
    }

    /// Whether this subquery in an expression is a stage already, or is now another copy of one: what is written twice in one
    /// scope is one question. `rows`: rows of it are looked at, and no value.
    pub(crate) fn is_asked(&mut self, q: &Query, rows: bool) -> bool {
        if self.is_staged(q) {
            return true;
        }
        if self.stages.is_empty() {
            return false;
        }
        let text = bare(q, self.bindings);
        let same = self.stages.iter_mut().find(|s| s.rows.is_some() == rows && s.text == text);
        same.map(|s| s.selects.extend(q.body.first_select())).is_some()
    }

    /// A scalar subquery that was released, among private rows: `releases` were found in it.
    pub(crate) fn stage(&mut self, q: &'a Query, releases: Range<usize>, pos: Pos) -> Result<(), Stop> {
        self.staged(q, releases, None, pos)
    }

    /// The same of rows, which stand in FROM or in an IN beside private ones.
    pub(crate) fn stage_rows(&mut self, q: &'a Query, releases: Range<usize>, pos: Pos) -> Result<(), Stop> {
        if self.is_staged(q) {
            return Ok(());
        }
        let most = most_rows(q, &self.releases, self.facts);
        if most > MOST_ROWS && self.matches.is_none() {
            return Err(too_many(pos).into());
        }
        // Where it only looks, nothing is known of the groups that leave fewer rows than LIMIT.
        self.staged(q, releases, Some(most.clamp(1, MOST_ROWS)), pos)
    }

    fn staged(
        &mut self,
        q: &'a Query,
        releases: Range<usize>,
        rows: Option<usize>,
        pos: Pos,
    ) -> Result<(), Stop> {
        if self.settings.question {
            return Err(Question::Subquery.at(pos).into());
        }
        let Some(select) = q.body.first_select() else {
            return Err(Meeting::Values.at(pos).into());
        };
        let mut ctes = BTreeMap::new();
        public_rows::definitions(q, self.known(), &mut ctes);
        let mut releases: BTreeSet<usize> = releases.collect();
        releases.extend(ctes.keys().filter_map(|id| self.within.get(id)).flat_map(Range::clone));
        let with = ctes.into_iter().map(|(id, query)| Cte { id, query }).collect();
        let query = alone(q, with, rows.is_none());
        let asked = TypesOf::Query(select);
        let Some(types) = self.facts.types(self.types, asked, || query.clone()) else { return Ok(()) };
        if !types.iter().all(is_held) {
            return Err(Meeting::Type.at(pos).into());
        }
        let bounds = bounds(q, &self.releases, &types);
        let first = self.stages.last().map_or(0, |s| s.first.saturating_add(s.width()));
        let releases = releases.into_iter().collect();
        let (types, unique) = (types, unique(q));
        let (selects, text) = (vec![select], bare(q, self.bindings));
        self.stages.push(Stage { selects, text, query, types, rows, first, releases, unique, bounds });
        Ok(())
    }
}

/// The items of a SELECT that it is grouped by, if all of these are among them.
fn unique(q: &Query) -> Option<Vec<usize>> {
    match &q.body {
        Body::Select(s) if s.grouping_sets.is_empty() && s.distinct == Distinct::No => {
            let place = |key: &Expr| s.items.iter().position(|i| i.expr == *key);
            let grouped = s.has_group_by() || s.items.iter().any(|i| has_aggregate(&i.expr));
            s.group_by.iter().map(place).collect::<Option<Vec<_>>>().filter(|_| grouped)
        }
        Body::Query(inner) => unique(inner),
        _ => None,
    }
}

/// How many rows a query has at most, as its text and public data tell; where they tell nothing [`MOST_ROWS`], and more are
/// refused when they are there.
fn most_rows(q: &Query, releases: &[Release], facts: &Facts<'_>) -> usize {
    let limit = q.limit.as_ref().map(|e| match &e.kind {
        // A parameter has become a constant of a type.
        ExprKind::Cast { expr, .. } => &expr.kind,
        kind => kind,
    });
    let limit = match limit {
        Some(ExprKind::Literal(Literal::Number(n) | Literal::String(n))) => n.parse::<usize>().ok(),
        _ => None,
    };
    let own = match &q.body {
        Body::Select(s) if !s.has_group_by() && s.items.iter().any(|i| has_aggregate(&i.expr)) => Some(1),
        Body::Select(s) if s.grouping_sets.is_empty() => {
            let release = releases.iter().find(|r| r.select == s.id && r.public_groups);
            let groups = release.map(|r| groups::size(r.group_keys(), facts));
            // HAVING may leave few.
            groups.filter(|n| *n <= MOST_ROWS || s.having.is_none())
        }
        Body::Query(inner) => Some(most_rows(inner, releases, facts)),
        _ => None,
    };
    limit.into_iter().chain(own).min().unwrap_or(MOST_ROWS)
}

/// More released rows than may meet private ones.
pub fn too_many(pos: Pos) -> ClientError {
    Meeting::ReleasedRows(MOST_ROWS).at(pos).into()
}

/// `WITH … SELECT (q)`: of no row it is NULL, and of several PostgreSQL says so. Of rows the query itself.
fn alone(q: &Query, with: Vec<Cte>, value: bool) -> Query {
    let body = if value {
        let value = Expr::new(ExprKind::Subquery(Box::new(q.clone())), None);
        Body::Select(Box::new(Select::of(vec![Item { expr: value, name: "value".into() }], None)))
    } else {
        Body::Query(Box::new(q.clone()))
    };
    Query { with, ..Query::of(body) }
}

/// Types whose parameters a fetch may hold.
fn is_held(ty: &SqlType) -> bool {
    ty.is_number()
        || ty.is_datetime()
        || matches!(
            ty,
            SqlType::Bool
                | SqlType::Text
                | SqlType::Varchar
                | SqlType::Time
                | SqlType::Interval
                | SqlType::Uuid
                | SqlType::Inet
                | SqlType::Cidr
                | SqlType::Enum { .. }
        )
}

/// Where the columns of a subquery lie that are aggregates: its finish cuts averages and points to the range of their values.
fn bounds(q: &Query, releases: &[Release], types: &[SqlType]) -> Vec<Interval> {
    let items = match &q.body {
        Body::Select(s) => s.items.as_slice(),
        _ => &[],
    };
    let of = |(i, ty): (usize, &SqlType)| {
        let ExprKind::Aggregate(a) = &items.get(i)?.expr.kind else { return None };
        let Body::Select(s) = &q.body else { return None };
        releases.iter().filter(|r| r.select == s.id && ty.is_number()).find_map(|r| {
            let (_, output) = r.outputs.iter().find(|(have, _)| *have == **a)?;
            output.range(r.cells.as_ref()).map(|(low, high)| Interval::new(low, high))
        })
    };
    types.iter().enumerate().map(|x| of(x).unwrap_or_default()).collect()
}
