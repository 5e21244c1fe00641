//! What a release is built from, as it comes together.

use super::model::{Axis, Part, PartKind};
use super::output::Output;
use crate::algebra::source::PrivateSource;
use crate::expr::Scalar;
use crate::facts::Counts;
use crate::groups::key::Key;
use crate::own::flatten::Flattener;
use crate::{PlanError, Settings};
use answer::ClientError;
use dp::Pick;
use policy::Policy;
use sql::ast::*;

pub(super) type Result<T> = std::result::Result<T, PlanError>;

/// Builds the release of one SELECT.
pub(crate) struct Builder<'a, 'b> {
    pub(super) flattener: &'b mut Flattener<'a>,
    pub(super) policy: &'a Policy,
    pub(super) settings: &'b Settings,
    pub(super) sizes: &'b Counts<'b>,
    pub(super) source: PrivateSource,
    pub(super) parts: Vec<Part>,
    pub(super) outputs: Vec<(Aggregate, Output)>,
    /// Choices among points, each a release of its own.
    pub(super) requests: Vec<Request>,
    /// Distinct values that are counted or added up, those of each expression in releases of their own.
    pub(super) distinct: Vec<Distinct>,
    /// How many public groups there are, once it is known.
    pub(super) group_count: usize,
    /// Groups are public, once it is known.
    pub(super) public: bool,
}

impl<'a, 'b> Builder<'a, 'b> {
    /// Starts from a SELECT over private rows.
    pub fn new(
        flattener: &'b mut Flattener<'a>,
        policy: &'a Policy,
        settings: &'b Settings,
        sizes: &'b Counts<'b>,
        select: &Select,
    ) -> Result<Self> {
        let source = flattener.flatten(select)?;
        Ok(Self {
            flattener,
            policy,
            settings,
            sizes,
            source,
            parts: Vec::new(),
            outputs: Vec::new(),
            requests: Vec::new(),
            distinct: Vec::new(),
            group_count: 1,
            public: true,
        })
    }

    pub(super) fn lower(&mut self, e: &Expr) -> Result<Scalar> {
        Ok(self.flattener.value(e)?)
    }
}

pub(super) fn refuse(what: &str, pos: Pos) -> PlanError {
    ClientError::unsupported(format!("{what} is not supported")).at(pos).into()
}

pub(super) fn too_wide() -> PlanError {
    ClientError::unsupported("the range of this sum is too wide for its grid")
        .hint("Clamp it to a narrower range, or round it to fewer digits.")
        .into()
}

/// Choices among the points of one value.
pub(super) struct Request {
    pub(super) key: Key,
    pub(super) axis: Axis,
    pub(super) picks: Vec<Pick>,
    pub(super) outputs: Vec<(Aggregate, Output)>,
    /// Where it stands.
    pub(super) pos: Pos,
}

impl Request {
    /// Whether it serves this aggregate already.
    pub(super) fn has(&self, a: &Aggregate) -> bool {
        self.outputs.iter().any(|(have, _)| have == a)
    }
}

/// What is asked of distinct values of one expression: their number, or their sum on a grid and perhaps their number.
pub(super) struct Distinct {
    /// The value, NULL where FILTER is not true.
    pub(super) of: Scalar,
    pub(super) parts: Vec<PartKind>,
    pub(super) outputs: Vec<(Aggregate, Output)>,
    /// Where it stands.
    pub(super) pos: Pos,
}
