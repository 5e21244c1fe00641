//! What is measured, at a moment.

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
    /// Each database that is served.
    pub databases: Vec<Database>,
}

/// A database that is served.
pub struct Database {
    /// Its name.
    pub name: String,
    /// Its statements.
    pub record: Arc<Recorder>,
    /// Connections to it.
    pub pools: Vec<Pool>,
    /// Messages that are known by their text.
    pub known: usize,
    /// Each budget, with the part of it that is spent, from 0 to 1, by whoever has spent most; empty where the ledger did not
    /// answer.
    pub spent: Vec<(String, f64)>,
    /// The ledger.
    pub ledger: Ledger,
}

/// Connections of one kind.
pub struct Pool {
    /// What they are for.
    pub name: &'static str,
    /// How many there may be.
    pub most: usize,
    /// How many work.
    pub busy: usize,
    /// Statements that wait for one.
    pub waiting: usize,
}

/// The ledger of a database.
pub struct Ledger {
    /// How long commits took, waiting for disk or server.
    pub commits: Arc<Histogram>,
    /// Batches that could not be written.
    pub failures: u64,
    /// Seconds since the latest entry.
    pub tip_age: f64,
    /// Whether it answers at this moment.
    pub answers: bool,
}

/// Why a database cannot be served, in a few words of ours: whoever asks has not logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The database's name.
    pub database: String,
    /// What is wrong.
    pub what: &'static str,
}
