//! A proposal: something to make, and why.

/// Something to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    /// Statements, one after the other, each in a transaction of its own.
    pub(super) sql: Vec<String>,
    /// Why, and what it costs.
    pub(super) reason: String,
    /// It changes which rows the table takes.
    pub(super) is_key: bool,
}
