//! Results that are released before private rows are read: `fare > (SELECT avg(fare) FROM trips)`.
//!
//! The subquery is a release of its own. Its noisy value is finished by PostgreSQL, and stands as a parameter in the
//! fetches that come after: to these it is a constant, of which nothing is known but its type. Plan and price are made
//! before it is known, and hold for any value of it (soundness rules 9 and 25).

use super::release::{Output, points::Axis};
use super::renumber::defined;
use super::{PlanError, Planner, Release, unsupported};
use crate::expr::Scalar;
use crate::interval::Interval;
use schema::SqlType;
use sql::ast::*;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// A value that is released before what follows it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The number of its first SELECT ([`Body::first_select`]).
    pub select: usize,
    /// What finishes it: one row of one column.
    pub query: Query,
    /// Its type.
    pub ty: SqlType,
    /// The releases that it follows from, by their indexes in [`super::Plan::releases`].
    pub releases: Vec<usize>,
    /// Where it lies, as far as its finish says.
    bound: Interval,
}

/// The values of a statement's stages, as a release's rows see them.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    values: Rc<HashMap<usize, Scalar>>,
    used: Rc<RefCell<BTreeSet<usize>>>,
}

impl Given {
    pub fn new(stages: &[Stage]) -> Self {
        let value = |(n, s): (usize, &Stage)| (s.select, Scalar::given(n, s.ty.clone(), s.bound.clone()));
        Self { values: Rc::new(stages.iter().enumerate().map(value).collect()), used: Rc::default() }
    }

    /// What this subquery is, where it was released.
    pub fn value(&self, q: &Query) -> Option<Scalar> {
        let value = self.values.get(&q.body.first_select()?)?;
        if let crate::expr::Node::Given(n) = value.node() {
            self.used.borrow_mut().insert(*n);
        }
        Some(value.clone())
    }

    /// The numbers of those that were looked at.
    pub fn used(&self) -> Vec<usize> {
        self.used.borrow().iter().copied().collect()
    }
}

impl<'a> Planner<'a> {
    /// Whether this subquery is a stage already: what a statement is grouped by stands in it more than once.
    pub(super) fn is_staged(&self, q: &Query) -> bool {
        let first = q.body.first_select();
        self.stages.iter().any(|s| Some(s.select) == first)
    }

    /// A scalar subquery that was released, among private rows: `releases` were found in it.
    pub(super) fn stage(&mut self, q: &'a Query, releases: Range<usize>, pos: Pos) -> Result<(), PlanError> {
        if self.settings.question {
            return Err(unsupported("a subquery over private rows in a question to a stream", pos)
                .hint("Ask for it by itself (SET noisegate.stream TO DEFAULT), and write its answer as a constant.")
                .into());
        }
        let Some(select) = q.body.first_select() else {
            return Err(unsupported("VALUES as a released result among private rows", pos)
                .hint("Write SELECT instead.")
                .into());
        };
        let ctes = self.ctes_of(q);
        let mut releases: BTreeSet<usize> = releases.collect();
        releases.extend(ctes.iter().filter_map(|id| self.within.get(id)).flat_map(Range::clone));
        let with = ctes.iter().filter_map(|id| Some(Cte { id: *id, query: (*self.ctes.get(id)?).clone() }));
        let query = alone(q, with.collect());
        let Some(ty) = self.types.get(&select) else {
            return Err(PlanError::NeedType(select, Box::new(query)));
        };
        if !is_held(ty) {
            return Err(unsupported("a released value of this type among private rows", pos)
                .hint("Cast it to a number, text, date, timestamp or boolean.")
                .into());
        }
        let bound = bound(q, &self.releases, ty).unwrap_or_default();
        let releases = releases.into_iter().collect();
        self.stages.push(Stage { select, query, ty: ty.clone(), releases, bound });
        Ok(())
    }

    /// The CTEs that a query reads, and those that these read, in the order of the text.
    fn ctes_of(&self, q: &Query) -> Vec<usize> {
        let (mut found, mut rest) = (BTreeSet::new(), vec![q]);
        while let Some(q) = rest.pop() {
            for binding in defined(q).0 {
                if let Some(Source::Cte(id)) = self.bindings.get(binding).map(|b| &b.source)
                    && let Some(query) = self.ctes.get(id)
                    && found.insert(*id)
                {
                    rest.push(query);
                }
            }
        }
        let own: HashSet<usize> = q.with.iter().map(|c| c.id).collect();
        found.into_iter().filter(|id| !own.contains(id)).collect()
    }
}

/// `WITH … SELECT (q)`: of no row it is NULL, and of several PostgreSQL says so.
fn alone(q: &Query, with: Vec<Cte>) -> Query {
    let value = Expr::new(ExprKind::Subquery(Box::new(q.clone())), None);
    let select = Select {
        id: usize::MAX,
        distinct: Distinct::No,
        items: vec![Item { expr: value, name: "value".into() }],
        from: Vec::new(),
        filter: None,
        group_by: Vec::new(),
        grouping_sets: Vec::new(),
        having: None,
        pos: None,
    };
    Query { with, body: Body::Select(Box::new(select)), order_by: Vec::new(), limit: None, offset: None }
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
                | SqlType::Enum { .. }
        )
}

/// Where a subquery of one aggregate lies: its finish cuts averages and points to the range of their values.
fn bound(q: &Query, releases: &[Release], ty: &SqlType) -> Option<Interval> {
    let Body::Select(s) = &q.body else { return None };
    let [Item { expr: Expr { kind: ExprKind::Aggregate(a), .. }, .. }] = s.items.as_slice() else {
        return None;
    };
    let of = |r: &&Release| r.select == s.id && ty.is_number();
    releases.iter().filter(of).find_map(|r| {
        let (_, output) = r.outputs.iter().find(|(have, _)| *have == **a)?;
        match (output, r.cells.as_ref().map(|c| &c.axis)) {
            (Output::Avg { low, high, .. }, _) => Some(Interval::new(low.clone(), high.clone())),
            (Output::Points { array: false, .. }, Some(Axis::Grid { low, high, .. })) => {
                Some(Interval::new(low.clone(), high.clone()))
            }
            _ => None,
        }
    })
}
