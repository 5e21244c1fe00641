//! What a plan is made from beside the statement, the policy and the session's settings: what PostgreSQL is asked for first.

pub mod public_rows;

use answer::ClientError;
use public_rows::PublicRows;
use sql::ast::*;
use std::collections::HashMap;

/// Why there is no plan.
#[derive(Debug)]
pub enum PlanError {
    /// The statement is refused.
    Refused(Box<ClientError>),
    /// This number is needed first.
    NeedSize(Size),
    /// The types of this query's columns are needed first, in [`Statement::types`] under this key.
    NeedTypes(TypesOf, Box<Query>),
    /// These rows are needed first, in the statement.
    NeedRows(Box<PublicRows>),
    /// This statement, which means the same, is to be planned.
    Anew(Box<Statement>),
}

/// A number that public tables tell, and plans rest on: how many groups there are, how much work a row makes. Tables are
/// named by their index in the policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// Distinct values of a column.
    Distinct(usize, String),
    /// Rows of a table.
    Rows(usize),
    /// Rows that share a value of a column, at most.
    PerValue(usize, String),
}

/// The numbers that are known.
pub type Sizes = HashMap<Size, usize>;

impl std::convert::From<ClientError> for PlanError {
    fn from(e: ClientError) -> Self {
        Self::Refused(Box::new(e))
    }
}
