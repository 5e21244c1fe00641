//! A builder of releases: their parts, as they come together.

use super::estimator::Output;
use super::part::{Axis, Part, PartKind};
use crate::Settings;
use crate::algebra::source::PrivateSource;
use crate::expr::{Node, Scalar, filtered};
use crate::facts::Facts;
use crate::groups::key::Key;
use crate::own::relation::{Owned, Reading, Relation};
use crate::refusals::aggregate::Aggregation;
use crate::stop::Stop;
use dp::Pick;
use policy::Policy;
use sql::ast::*;

pub(crate) type Result<T> = std::result::Result<T, Stop>;

/// Builds the release of one SELECT.
pub(crate) struct Builder<'a, 'b> {
    /// The relation that `source` says of.
    pub(crate) relation: Relation<'a, Owned>,
    pub(crate) policy: &'a Policy,
    pub(crate) settings: &'b Settings,
    pub(crate) facts: &'b Facts<'b>,
    pub(crate) source: PrivateSource,
    pub(crate) parts: Vec<Part>,
    pub(crate) outputs: Vec<(Aggregate, Output)>,
    /// Choices among points, each a release of its own.
    pub(crate) requests: Vec<Request>,
    /// Distinct values that are counted or added up, those of each expression in releases of their own.
    pub(crate) distinct: Vec<Distinct>,
    /// Number of public groups, once it is known.
    pub(crate) group_count: usize,
    /// Groups are public, once it is known.
    pub(crate) public: bool,
}

impl<'a, 'b> Builder<'a, 'b> {
    /// Starts from a SELECT over private rows.
    pub fn new(
        relation: Relation<'a, Reading>,
        policy: &'a Policy,
        settings: &'b Settings,
        facts: &'b Facts<'b>,
        select: &Select,
    ) -> Result<Self> {
        let mut relation = relation.read(select)?.filtered()?;
        let source = relation.source(select.pos)?;
        Ok(Self {
            relation,
            policy,
            settings,
            facts,
            source,
            parts: Vec::new(),
            outputs: Vec::new(),
            requests: Vec::new(),
            distinct: Vec::new(),
            group_count: 1,
            public: true,
        })
    }

    pub(crate) fn lower(&mut self, e: &Expr) -> Result<Scalar> {
        Ok(self.relation.value(e)?)
    }

    /// The place of a part, which is released once.
    pub(super) fn part(&mut self, kind: PartKind, label: &str) -> usize {
        place(&mut self.parts, |p| p.kind == kind, || Part::new(kind.clone(), label))
    }

    /// The count of the rows where a value is there, or of all.
    pub(super) fn count_part(&mut self, arg: Option<&Scalar>) -> usize {
        let kind = PartKind::Count(arg.filter(|a| a.nullable()).cloned());
        let label = if arg.is_some_and(|a| a.nullable()) { "count of non-NULL rows" } else { "count(*)" };
        self.part(kind, label)
    }
}

/// The place of what is listed once.
pub(super) fn place<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    list.iter().position(is).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    })
}

pub(crate) fn too_wide() -> Stop {
    Aggregation::TooWide.at(None).into()
}

/// Choices among the points of one value.
pub(crate) struct Request {
    pub(crate) key: Key,
    pub(crate) axis: Axis,
    pub(crate) picks: Vec<Pick>,
    pub(crate) outputs: Vec<(Aggregate, Output)>,
    /// Position in the text.
    pub(crate) pos: Pos,
}

impl Request {
    /// Whether it serves this aggregate already.
    pub(super) fn has(&self, a: &Aggregate) -> bool {
        self.outputs.iter().any(|(have, _)| have == a)
    }
}

/// Questions about distinct values of one expression: their number, or their sum on a grid and
/// perhaps their number.
pub(crate) struct Distinct {
    /// The value, NULL where FILTER is not true.
    pub(crate) of: Scalar,
    pub(crate) parts: Vec<PartKind>,
    pub(crate) outputs: Vec<(Aggregate, Output)>,
    /// Position in the text.
    pub(crate) pos: Pos,
}

impl Distinct {
    /// Whether it serves this aggregate already.
    pub(super) fn has(&self, a: &Aggregate) -> bool {
        self.outputs.iter().any(|(have, _)| have == a)
    }

    /// Name of the aggregate in messages.
    pub(crate) fn name(&self) -> &'static str {
        match self.outputs.first().map(|(a, _)| a.name) {
            Some("sum") => "sum(DISTINCT x)",
            Some("avg") => "avg(DISTINCT x)",
            _ => "count(DISTINCT x)",
        }
    }
}

/// A question about distinct values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Number of values.
    Count,
    /// Sum of values.
    Sum,
    /// Average of values.
    Mean,
}

/// An aggregate over private rows, as it is asked for.
pub(super) struct Call<'c> {
    pub(super) aggregate: &'c Aggregate,
    /// Condition of FILTER.
    pub(super) when: Option<Scalar>,
    /// Position in the text.
    pub(super) pos: Pos,
}

impl Call<'_> {
    /// A value where FILTER is true, else NULL: CASE WHEN w THEN x END.
    pub(super) fn only(&self, x: Scalar) -> Scalar {
        match &self.when {
            None => x,
            Some(when) => filtered(when.clone(), x),
        }
    }

    /// Whether each value counts once; of none there are no others.
    pub(super) fn is_of_distinct(&self, x: &Scalar) -> bool {
        self.aggregate.distinct && !matches!(x.node(), Node::Null)
    }

    /// Refuses another number of arguments.
    pub(super) fn takes<T>(&self, takes: &'static str) -> Result<T> {
        Err(Aggregation::Arguments { name: self.aggregate.name, takes }.at(self.pos).into())
    }
}
