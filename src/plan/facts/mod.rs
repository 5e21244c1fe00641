//! Facts that a plan is made from, beside the statement, the policy and the session's settings:
//! PostgreSQL is asked for them first.

pub mod public_rows;

use crate::refusals::Refusal;
use answer::ClientError;
use public_rows::PublicRows;
use schema::SqlType;
use sql::ast::*;
use std::cell::RefCell;
use std::collections::HashMap;

/// Why there is no plan.
#[derive(Debug)]
pub enum PlanError {
    /// The statement is refused.
    Refused(Box<ClientError>),
    /// Facts are needed first.
    Missing(Missing),
}

/// Facts that a plan needs and PostgreSQL alone knows: all that can be told of a statement as it is, so that a few rounds of
/// questions are enough for any.
#[derive(Debug, Default)]
pub struct Missing {
    /// Queries whose columns' types are wanted, in [`Statement::types`] under these keys.
    pub types: Vec<(TypesOf, Query)>,
    /// Public rows that are wanted in the statement.
    pub rows: Vec<PublicRows>,
    /// Numbers that are wanted.
    pub sizes: Vec<Size>,
}

impl Missing {
    fn is_empty(&self) -> bool {
        self.types.is_empty() && self.rows.is_empty() && self.sizes.is_empty()
    }
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

/// The facts that a pass looks at, and which of them are not known yet. A number that is missing counts as 1 while the rest is
/// looked at, and a query whose rows or types are missing as released: all that are missing are asked for at once, and nothing that
/// was planned without them is used.
pub(crate) struct Facts<'s> {
    sizes: &'s Sizes,
    missing: RefCell<Missing>,
}

impl<'s> Facts<'s> {
    pub fn new(sizes: &'s Sizes) -> Self {
        Self { sizes, missing: RefCell::default() }
    }

    /// A number, 1 where it is missing.
    pub fn size(&self, size: Size) -> usize {
        self.sizes.get(&size).copied().unwrap_or_else(|| {
            let missing = &mut self.missing.borrow_mut().sizes;
            if !missing.contains(&size) {
                missing.push(size);
            }
            1
        })
    }

    /// Notes that public rows are missing.
    pub fn want_rows(&self, rows: PublicRows) {
        self.missing.borrow_mut().rows.push(rows);
    }

    /// The types of a query's columns among those that are known; None where they are missing.
    pub fn types(
        &self,
        known: &HashMap<TypesOf, Vec<SqlType>>,
        of: TypesOf,
        query: impl FnOnce() -> Query,
    ) -> Option<Vec<SqlType>> {
        let types = known.get(&of).cloned();
        if types.is_none() {
            let missing = &mut self.missing.borrow_mut().types;
            if !missing.iter().any(|(have, _)| *have == of) {
                missing.push((of, query()));
            }
        }
        types
    }

    /// Whether something is missing, so that refusals may be for want of it.
    pub fn are_missing(&self) -> bool {
        !self.missing.borrow().is_empty()
    }

    /// The outcome of a pass, if no fact was missing.
    ///
    /// # Errors
    /// Some were.
    pub fn complete<T>(&self, outcome: T) -> Result<T, PlanError> {
        match self.missing.take() {
            missing if missing.is_empty() => Ok(outcome),
            missing => Err(PlanError::Missing(missing)),
        }
    }
}

impl std::convert::From<ClientError> for PlanError {
    fn from(e: ClientError) -> Self {
        Self::Refused(Box::new(e))
    }
}

impl std::convert::From<Refusal> for PlanError {
    fn from(refusal: Refusal) -> Self {
        ClientError::from(refusal).into()
    }
}
