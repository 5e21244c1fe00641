//! What a plan is made from beside the statement, the policy and the session's settings: what PostgreSQL is asked for first.

pub mod public_rows;

use answer::ClientError;
use public_rows::PublicRows;
use sql::ast::*;
use std::cell::RefCell;
use std::collections::HashMap;

/// Why there is no plan.
#[derive(Debug)]
pub enum PlanError {
    /// The statement is refused.
    Refused(Box<ClientError>),
    /// These numbers are needed first.
    NeedSizes(Vec<Size>),
    /// The types of this query's columns are needed first, in [`Statement::types`] under this key.
    NeedTypes(TypesOf, Box<Query>),
    /// These rows are needed first, in the statement.
    NeedRows(Box<PublicRows>),
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

/// The numbers that a statement's plan looks at, and which of them are not known yet. Such a one counts as 1 while the rest is looked
/// at, so that all that are missing are asked for at once: nothing that was planned with it is used.
pub(crate) struct Counts<'s> {
    known: &'s Sizes,
    missing: RefCell<Vec<Size>>,
}

impl<'s> Counts<'s> {
    pub fn new(known: &'s Sizes) -> Self {
        Self { known, missing: RefCell::default() }
    }

    pub fn get(&self, size: Size) -> usize {
        self.known.get(&size).copied().unwrap_or_else(|| {
            let mut missing = self.missing.borrow_mut();
            if !missing.contains(&size) {
                missing.push(size);
            }
            1
        })
    }

    /// What was planned, or refused, with these numbers, if all of them are known.
    ///
    /// # Errors
    /// Some are not.
    pub fn complete<T>(self, planned: T) -> Result<T, PlanError> {
        match self.missing.into_inner() {
            missing if missing.is_empty() => Ok(planned),
            missing => Err(PlanError::NeedSizes(missing)),
        }
    }
}

impl std::convert::From<ClientError> for PlanError {
    fn from(e: ClientError) -> Self {
        Self::Refused(Box::new(e))
    }
}
