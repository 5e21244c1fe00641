//! Texts of fetches, and what the database's planner is told of each.

use super::param::Param;
use kernel::Certified;
use std::sync::Arc;

/// A statement over private rows, printed by us.
#[derive(Clone, Debug)]
pub struct FetchText {
    /// A SELECT, of which the kernel has proven what one unit can change in its answer (soundness
    /// rule 46).
    pub certified: Arc<Certified>,
    /// `$1`, `$2`, …
    pub params: Vec<Param>,
    /// Hints for the database's planner.
    pub hints: Hints,
}

/// Facts that a planner cannot see in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The text has joins that no index could serve: rows of one side are never looked for one by
    /// one, whatever the planner takes their number for.
    pub hashed: bool,
    /// The text joins tables. PostgreSQL takes a row that a worker hands over to cost as much as
    /// ten that are read: it would leave a join that has a group for each unit to one processor.
    pub joined: bool,
}

impl Hints {
    /// Until the end of the transaction.
    pub(super) fn settings(self) -> String {
        let hashed = self.hashed.then_some("SET LOCAL enable_nestloop = off");
        let joined = self.joined.then_some("SET LOCAL parallel_tuple_cost = 0.01");
        hashed.into_iter().chain(joined).collect::<Vec<_>>().join("; ")
    }
}
