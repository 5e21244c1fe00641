//! Entries of the table of aggregates.
//!
//! An entry says what an aggregate is for people, and how parts and an estimator come of it: which integers are released, how the
//! answer follows from them after the noise, and how far off it is.

use super::builder::{Builder, Call, Result};
use super::estimator::Output;

/// Adds the parts of an aggregate to what is released, and says how it is computed of them; None of what is noted for a release
/// of its own.
pub(super) type Ask = fn(&mut Builder<'_, '_>, &Call<'_>) -> Result<Option<Output>>;

/// An aggregate of this name.
pub struct Entry {
    /// Name in SQL.
    pub name: &'static str,
    /// As it stands in the list of all, if it does.
    pub(super) hint: &'static str,
    /// The argument stands in WITHIN GROUP.
    pub(super) within_group: bool,
    /// As it is written, for people; none of what is refused.
    pub forms: &'static [Form],
    pub(super) ask: Ask,
}

/// Words about a form of an aggregate, for the reference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// As it is written.
    pub written: &'static str,
    /// Released numbers that the form is computed from.
    pub from: &'static str,
    /// Range of its values, and the condition for NULL.
    pub and: &'static str,
}
