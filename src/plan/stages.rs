//! Results that are released before private rows are read: `fare > (SELECT avg(fare) FROM trips)`, `JOIN (SELECT station …
//! ORDER BY count(*) DESC LIMIT 5) AS top`, `station IN (SELECT station … LIMIT 5)`.
//!
//! The subquery is a release of its own. Its noisy rows are finished by PostgreSQL, and stand as parameters in the fetches
//! that come after: to these they are constants, of which nothing is known but their types and how many there are at most.
//! Plan and price are made before they are known, and hold for any value of them (soundness rules 9 and 25).
//!
//! A value is one parameter. Rows are one parameter for each of their cells, and one that says whether the row is there; a
//! row that is not there repeats the first.

use super::flatten::{Draft, Flattener};
use super::refusals::unsupported;
use super::release::{Output, points::Axis};
use super::renumber::{Bare, bare};
use super::set_operations::MOST_CONSTANTS;
use super::source::{Kind, Leaf, SetRows, SetTree, Tree};
use super::{PlanError, Planner, Release, Sizes, groups, has_aggregate, public_rows};
use crate::expr::{Node, Scalar, among};
use crate::interval::Interval;
use answer::ClientError;
use schema::SqlType;
use sql::ast::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

/// Released rows that may meet private ones: each of them is a branch of a text that is planned and proven.
const MOST_ROWS: usize = if MOST_CONSTANTS < 100 { MOST_CONSTANTS } else { 100 };

/// What is released before what follows it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The number of its first SELECT ([`Body::first_select`]); several where it is written several times.
    selects: Vec<usize>,
    /// What is written.
    text: Bare,
    /// What finishes it. Of a value: one row of one column.
    pub query: Query,
    /// The types of its columns.
    pub types: Vec<SqlType>,
    /// How many rows it may have; None for a value.
    pub rows: Option<usize>,
    /// The number of its first parameter among those of the statement.
    pub first: usize,
    /// The releases that it follows from, by their indexes in [`super::Plan::releases`].
    pub releases: Vec<usize>,
    /// Columns that tell its rows apart, by their places, where its text says so.
    unique: Option<Vec<usize>>,
    /// Where the values of each column lie, as far as its finish says.
    bounds: Vec<Interval>,
}

impl Stage {
    /// How many parameters it is.
    pub fn width(&self) -> usize {
        self.rows.map_or(1, |rows| rows.saturating_mul(self.types.len().saturating_add(1)))
    }
}

/// A released row: its cells, and whether it is there.
type Row = (Vec<Scalar>, Scalar);

/// The stages of a statement, as a release's rows see them.
#[derive(Clone, Debug, Default)]
pub(super) struct Given {
    stages: Rc<HashMap<usize, Stage>>,
    used: Rc<RefCell<BTreeSet<usize>>>,
}

impl Given {
    pub fn new(stages: &[Stage]) -> Self {
        let each = |s: &Stage| s.selects.iter().map(|n| (*n, s.clone())).collect::<Vec<_>>();
        let stages = stages.iter().flat_map(each).collect();
        Self { stages: Rc::new(stages), used: Rc::default() }
    }

    fn stage(&self, q: &Query, rows: bool) -> Option<&Stage> {
        self.stages.get(&q.body.first_select()?).filter(|s| s.rows.is_some() == rows)
    }

    fn parameter(&self, number: usize, ty: &SqlType, bound: &Interval) -> Scalar {
        self.used.borrow_mut().insert(number);
        Scalar::given(number, ty.clone(), bound.clone())
    }

    /// What this subquery is, where it was released as a value.
    pub fn value(&self, q: &Query) -> Option<Scalar> {
        let stage = self.stage(q, false)?;
        Some(self.parameter(stage.first, stage.types.first()?, stage.bounds.first()?))
    }

    /// Whether the rows of this query were released.
    pub fn is_released(&self, q: &Query) -> bool {
        self.stage(q, true).is_some()
    }

    /// The rows of this query, where they were released: the cells of each, and whether it is there.
    fn rows(&self, q: &Query) -> Option<(&Stage, Vec<Row>)> {
        let stage = self.stage(q, true)?;
        let free = Interval::default();
        let row = |row: usize| {
            let first = stage.first + row * (stage.types.len() + 1);
            let cells = stage.types.iter().enumerate().map(|(i, ty)| self.parameter(first + i, ty, &free));
            (cells.collect(), self.parameter(first + stage.types.len(), &SqlType::Bool, &free))
        };
        Some((stage, (0..stage.rows?).map(row).collect()))
    }

    /// The numbers of those that were looked at.
    pub fn used(&self) -> Vec<usize> {
        self.used.borrow().iter().copied().collect()
    }
}

impl Flattener<'_> {
    /// Released rows in FROM, if these are: constants, as VALUES would be.
    pub(super) fn released(
        &mut self,
        binding: usize,
        q: &Query,
        nullable: bool,
        pos: Pos,
    ) -> Option<super::flatten::Result<Draft>> {
        let given = self.given.clone();
        let (stage, rows) = given.rows(q)?;
        let column = |(i, (ty, bound)): (usize, (&SqlType, &Interval))| {
            Scalar::given(0, ty.clone(), bound.clone()).column_of(binding, format!("c{i}"), false)
        };
        let columns: Vec<Scalar> = stage.types.iter().zip(&stage.bounds).enumerate().map(column).collect();
        let inner = self.nested(false);
        let branch =
            |(cells, there): Row| SetTree::Branch(Box::new(inner.branch(Tree::Scan(0), vec![there], cells)));
        let all = |left, right| SetTree::Op {
            op: SetOp::Union,
            all: true,
            left: Box::new(left),
            right: Box::new(right),
        };
        let tree = rows.into_iter().map(branch).reduce(all)?;
        if let Some(columns) = &stage.unique {
            self.unique.insert(binding, columns.clone());
        }
        let rows = SetRows { tree, columns, unit: None, unit_name: String::new(), keeps: None, capped: None };
        Some(self.scan(binding, Leaf::Set(Box::new(rows)), nullable, pos))
    }

    /// `x [NOT] IN (q)`, where the rows of q were released.
    pub(super) fn among_released(
        &self,
        x: &Scalar,
        q: &Query,
        negated: bool,
        pos: Pos,
    ) -> Option<super::flatten::Result<Scalar>> {
        let (_, rows) = self.given.rows(q)?;
        let there = rows.first()?.1.clone();
        let members: Vec<Scalar> =
            rows.into_iter().filter_map(|(cells, _)| cells.into_iter().next()).collect();
        Some(among(x, &members, there, negated, pos))
    }

    /// Whether there is a row of q, where its rows were released.
    pub(super) fn any_released(&self, q: &Query) -> Option<Scalar> {
        self.given.rows(q)?.1.into_iter().next().map(|(_, there)| there)
    }

    /// Whether the rows of a relation in FROM were released.
    pub(super) fn is_released(&self, binding: usize, query: Option<&Query>) -> bool {
        let cte = match self.binding(binding).map(|b| &b.source) {
            Some(Source::Cte(id)) => self.ctes.get(id).copied(),
            _ => None,
        };
        query.or(cte).is_some_and(|q| self.given.is_released(q))
    }

    /// What inner joins with released rows say of the other side: it is one of their values. So a domain of groups is
    /// narrowed to them.
    pub(super) fn members_of_joins(
        &self,
        tree: &Tree,
        filter: &[Scalar],
    ) -> super::flatten::Result<Vec<Scalar>> {
        let mut conditions: Vec<&Scalar> = filter.iter().collect();
        inner_conditions(tree, &mut conditions);
        let mut out = Vec::new();
        for condition in conditions {
            let Node::Compare(BinaryOp::Eq, a, b) = condition.node() else { continue };
            for (x, released) in [(a, b), (b, a)] {
                if let Some((members, there)) = self.values_of(released) {
                    out.push(among(x, &members, there, false, None)?);
                }
            }
        }
        Ok(out)
    }

    /// The values of a column of released rows, and whether there is any.
    fn values_of(&self, s: &Scalar) -> Option<(Vec<Scalar>, Scalar)> {
        let Node::Column { binding, name } = s.node() else { return None };
        let Leaf::Set(rows) = &self.scan_of(*binding)?.leaf else { return None };
        let at = (0..rows.columns.len()).find(|i| *name == format!("c{i}"))?;
        let branches = rows.branches();
        let given = |s: &&Scalar| matches!(s.node(), Node::Given(_));
        let members: Vec<Scalar> =
            branches.iter().filter_map(|b| b.items.get(at)).filter(given).cloned().collect();
        let there = branches.first()?.filter.first().filter(given)?.clone();
        (members.len() == branches.len()).then_some((members, there))
    }
}

/// The conditions of the inner joins at the top of a tree.
fn inner_conditions<'t>(tree: &'t Tree, out: &mut Vec<&'t Scalar>) {
    if let Tree::Join { left, right, kind: Kind::Inner, on } = tree {
        inner_conditions(left, out);
        inner_conditions(right, out);
        out.extend(on);
    }
}

impl<'a> Planner<'a> {
    /// Whether this subquery is a stage already: what a statement is grouped by stands in it more than once, and a CTE may.
    fn is_staged(&self, q: &Query) -> bool {
        let first = q.body.first_select();
        first.is_some_and(|first| self.stages.iter().any(|s| s.selects.contains(&first)))
    }

    /// Whether this subquery in an expression is a stage already, or is now another copy of one: what is written twice in one
    /// scope is one question. `rows`: rows of it are looked at, and no value.
    pub(super) fn is_asked(&mut self, q: &Query, rows: bool) -> bool {
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
    pub(super) fn stage(&mut self, q: &'a Query, releases: Range<usize>, pos: Pos) -> Result<(), PlanError> {
        self.staged(q, releases, None, pos)
    }

    /// The same of rows, which stand in FROM or in an IN beside private ones.
    pub(super) fn stage_rows(
        &mut self,
        q: &'a Query,
        releases: Range<usize>,
        pos: Pos,
    ) -> Result<(), PlanError> {
        if self.is_staged(q) {
            return Ok(());
        }
        let most = most_rows(q, &self.releases, self.sizes)?;
        if most > MOST_ROWS {
            return Err(too_many(pos).into());
        }
        self.staged(q, releases, Some(most.max(1)), pos)
    }

    fn staged(
        &mut self,
        q: &'a Query,
        releases: Range<usize>,
        rows: Option<usize>,
        pos: Pos,
    ) -> Result<(), PlanError> {
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
        let mut ctes = BTreeMap::new();
        public_rows::definitions(q, self.known(), &mut ctes);
        let mut releases: BTreeSet<usize> = releases.collect();
        releases.extend(ctes.keys().filter_map(|id| self.within.get(id)).flat_map(Range::clone));
        let with = ctes.into_iter().map(|(id, query)| Cte { id, query }).collect();
        let query = alone(q, with, rows.is_none());
        let asked = TypesOf::Query(select);
        let Some(types) = self.types.get(&asked) else {
            return Err(PlanError::NeedTypes(asked, Box::new(query)));
        };
        if !types.iter().all(is_held) {
            return Err(unsupported("a released value of this type among private rows", pos)
                .hint("Cast it to a number, text, date, timestamp or boolean.")
                .into());
        }
        let bounds = bounds(q, &self.releases, types);
        let first = self.stages.last().map_or(0, |s| s.first.saturating_add(s.width()));
        let releases = releases.into_iter().collect();
        let (types, unique) = (types.clone(), unique(q));
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
fn most_rows(q: &Query, releases: &[Release], sizes: &Sizes) -> Result<usize, PlanError> {
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
            let groups = release.map(|r| groups::size(r.group_keys(), sizes)).transpose()?;
            // HAVING may leave few.
            groups.filter(|n| *n <= MOST_ROWS || s.having.is_none())
        }
        Body::Query(inner) => Some(most_rows(inner, releases, sizes)?),
        _ => None,
    };
    Ok(limit.into_iter().chain(own).min().unwrap_or(MOST_ROWS))
}

/// More released rows than may meet private ones.
pub fn too_many(pos: Pos) -> ClientError {
    ClientError::new(
        answer::SqlState::PROGRAM_LIMIT_EXCEEDED,
        format!("more than {MOST_ROWS} released rows meet private ones"),
    )
    .detail("Released rows become constants of what is read next.")
    .hint(format!("Take fewer of them: ORDER BY … LIMIT {MOST_ROWS}."))
    .at(pos)
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
            match (output, r.cells.as_ref().map(|c| &c.axis)) {
                (Output::Avg { low, high, .. }, _) => Some(Interval::new(low.clone(), high.clone())),
                (Output::Points { array: false, .. }, Some(Axis::Grid { low, high, .. })) => {
                    Some(Interval::new(low.clone(), high.clone()))
                }
                _ => None,
            }
        })
    };
    types.iter().enumerate().map(|x| of(x).unwrap_or_default()).collect()
}
