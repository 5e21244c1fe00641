//! Readings of metrics, at a moment.

use record::{Histogram, Recorder};
use std::sync::Arc;

/// All of it.
pub struct Reading {
    /// The program's version.
    pub version: &'static str,
    /// When the process began, in seconds since 1970.
    pub since: f64,
    /// Clients that have logged in.
    pub sessions: usize,
    /// Incidents of this process.
    pub incidents: u64,
    /// Databases that are served.
    pub databases: Vec<Database>,
}

/// A database that is served.
pub struct Database {
    /// Name of the database.
    pub name: String,
    /// Record of its statements.
    pub record: Arc<Recorder>,
    /// Connections to it.
    pub pools: Vec<Pool>,
    /// Messages that are known by their text.
    pub known: usize,
    /// Budgets, with the part of each that is spent, from 0 to 1, by the user who has spent most;
    /// empty when the ledger did not answer.
    pub spent: Vec<(String, f64)>,
    /// The ledger.
    pub ledger: Ledger,
}

/// Connections of one kind.
pub struct Pool {
    /// Purpose of the connections.
    pub name: &'static str,
    /// The most connections.
    pub most: usize,
    /// Number of connections that work.
    pub busy: usize,
    /// Statements that wait for one.
    pub waiting: usize,
}

/// The ledger of a database.
pub struct Ledger {
    /// Times of commits, waiting for disk or server.
    pub commits: Arc<Histogram>,
    /// Batches that could not be written.
    pub failures: u64,
    /// Seconds since the latest entry.
    pub tip_age: f64,
    /// Whether it answers at this moment.
    pub answers: bool,
}

/// Reason why a database cannot be served, in a few words of ours: the reader has not logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The database's name.
    pub database: String,
    /// The reason.
    pub what: &'static str,
}
