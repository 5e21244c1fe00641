//! A proposal: something to make, and why.

/// Something to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proposal {
    /// Statements, one after the other, each in a transaction of its own.
    pub(super) sql: Vec<String>,
    /// Why, and what it costs.
    pub(super) reason: String,
    /// The statements make a key, which changes the rows that the table takes.
    pub(super) is_key: bool,
}
