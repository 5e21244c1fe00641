//! Facts about a statement: who asked, what was paid, and how it ended.

use crate::stage::Stages;

/// Facts about a statement when it begins.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The user.
    pub user: String,
    /// In which database, where there are several.
    pub database: Option<String>,
    /// The session's number, by which the client cancels.
    pub session: i32,
    /// Kind of the statement (`query`, `explain`).
    pub class: &'static str,
    /// Text of the statement, where the policy keeps texts; it is cut.
    pub text: Option<String>,
    /// Times of stages before it: it was parsed, it was bound.
    pub before: Stages,
}

/// Share of a budget that a payment took.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The budget's name.
    pub budget: String,
    /// The part of its limit, from 0 to 1.
    pub part: f64,
}

/// A payment.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The name of the price.
    pub epsilon: String,
    /// The ledger's entry.
    pub entry: i64,
    /// Shares of each budget that pays.
    pub shares: Vec<Share>,
}

/// The end of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With its last row.
    Done,
    /// With an error: the SQLSTATE, and why in words without the analyst's own ([`crate::reason`]).
    Error(String, String),
    /// The client went away first.
    Early,
}
