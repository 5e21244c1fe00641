//! Our own tree of a statement: names resolved, wildcards expanded, parentheses gone.
//!
//! What PostgreSQL runs is printed from this tree and never from the analyst's text. A name is a pair of numbers
//! here, (binding, column), so no alias can capture another. `query` has the clauses, `expr` what stands in them, and
//! `walk` the one way through both.

mod bindings;
mod expr;
mod frame;
mod ids;
mod query;
mod size;
mod visit;
mod walk;

pub use bindings::Bindings;
pub use expr::*;
pub use frame::*;
pub use ids::*;
pub use query::*;
pub use size::Size;
pub use visit::{Part, PartMut, Parts};

use crate::Spend;

use schema::SqlType;
use std::collections::HashMap;

/// A resolved query with all that its numbers point to.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The tree.
    pub query: Query,
    /// Bindings by number.
    pub bindings: Bindings,
    /// Types of columns that PostgreSQL was asked for.
    pub types: HashMap<TypesOf, Vec<SqlType>>,
    /// Account of the statement.
    pub spend: Spend,
}

/// A query, or part of one, whose columns' types PostgreSQL was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypesOf {
    /// The columns of a subquery, by [`Body::first_select`].
    Query(SelectId),
    /// Of what a rule makes out of a SELECT, one of the parts.
    Part {
        /// The SELECT.
        select: Option<SelectId>,
        /// Place of the part.
        part: usize,
    },
}
