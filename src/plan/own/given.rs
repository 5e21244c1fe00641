//! Released values that later rows are compared with: constants, of which the values are not known
//! yet.

use crate::expr::Scalar;
use crate::expr::interval::Interval;
use crate::syntax::renumber::Bare;
use schema::SqlType;
use sql::ast::*;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A stage: a query whose rows are released before the rest of the statement is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The number of its first SELECT ([`Body::first_select`]); several where it is written several times.
    pub(crate) selects: Vec<SelectId>,
    /// The query as it is written.
    pub(crate) text: Bare,
    /// The query that finishes it. Of a value: one row of one column.
    pub query: Query,
    /// The types of its columns.
    pub types: Vec<SqlType>,
    /// The most rows that it may have; None for a value.
    pub rows: Option<usize>,
    /// The number of its first parameter among those of the statement.
    pub first: usize,
    /// The releases that it follows from, by their indexes in [`crate::Plan::releases`].
    pub releases: Vec<usize>,
    /// Columns that tell its rows apart, by their places, where its text says so.
    pub(crate) unique: Option<Vec<usize>>,
    /// Ranges of the values of each column, as far as its finish says.
    pub(crate) bounds: Vec<Interval>,
}

impl Stage {
    /// Number of its parameters.
    pub fn width(&self) -> usize {
        self.rows.map_or(1, |rows| rows.saturating_mul(self.types.len().saturating_add(1)))
    }
}

/// A released row: its cells, and whether it is there.
pub(super) type Row = (Vec<Scalar>, Scalar);

/// The stages of a statement, as a release's rows see them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    stages: Rc<BTreeMap<SelectId, Stage>>,
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

    /// The scalar of a subquery that was released as a value.
    pub fn value(&self, q: &Query) -> Option<Scalar> {
        let stage = self.stage(q, false)?;
        Some(self.parameter(stage.first, stage.types.first()?, stage.bounds.first()?))
    }

    /// The rows of this query, where they were released: the cells of each, and whether it is there.
    pub(super) fn rows(&self, q: &Query) -> Option<(&Stage, Vec<Row>)> {
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
