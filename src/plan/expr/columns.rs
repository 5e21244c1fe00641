//! Columns, and other surroundings of an expression, as lowering knows them.

use super::refusal::Result;
use super::scalar::Scalar;
use answer::ClientError;
use schema::SqlType;
use sql::ast::{BindingId, Expr, Query};

/// A column of a scan, as lowering needs it.
pub(crate) struct ColumnInfo<'a> {
    /// The policy's column.
    pub column: &'a policy::Column,
    /// The column can be NULL, by itself or by an outer join.
    pub nullable: bool,
    /// A public domain that follows from where it is (a public table's column).
    pub public_table: Option<usize>,
}

/// Finds columns.
pub(crate) trait Columns {
    /// The column behind a binding.
    fn column(&self, binding: BindingId, column: usize) -> Option<ColumnInfo<'_>>;
    /// A column that a set operation, or a SELECT over several rows of a unit, computes.
    fn computed(&self, _binding: BindingId, _column: usize) -> Option<Scalar> {
        None
    }
    /// A subquery that was found to be allowed, in its place.
    fn prepared(&self, _e: &Expr) -> Option<Scalar> {
        None
    }
    /// A subquery whose value is released before these rows are read.
    fn given(&self, _q: &Query) -> Option<Scalar> {
        None
    }
    /// EXTRACT gives numeric since PostgreSQL 14, double precision before.
    fn extract_type(&self) -> SqlType;
    /// Whether moments without a zone are UTC's.
    fn utc(&self) -> bool;
    /// Whether the session shows days as ISO writes them.
    fn iso(&self) -> bool;
    /// Counts one expression against the statement's limit: several forms look at their arguments more than once, and
    /// nested they would double with each level.
    fn spend(&self) -> Result<(), ClientError>;
}
