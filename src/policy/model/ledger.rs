//! Place of the books: `[ledger]`.

use crate::given::{Given, GivenFile};
use std::time::Duration;

/// `ledger.url`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerLocation {
    /// A SQLite file; relative paths are relative to the policy.
    Sqlite(GivenFile),
    /// A schema of a PostgreSQL database.
    Postgres(LedgerDatabase),
}

/// Place of a shared ledger.
#[derive(Clone, PartialEq, Eq)]
pub struct LedgerDatabase {
    /// The connection; it may hold a password.
    pub url: Given<String>,
    /// The password, where the URL has none.
    pub password_file: Option<GivenFile>,
    /// The schema that is all the ledger's.
    pub schema: String,
    /// Time that the database has to answer. Then statements are refused.
    pub timeout: Duration,
    /// The file in which this proxy notes where the ledger ends.
    pub mark: GivenFile,
}

impl std::fmt::Debug for LedgerDatabase {
    /// Without the URL.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LedgerDatabase").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl std::fmt::Display for LedgerLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sqlite(path) => path.fmt(f),
            Self::Postgres(database) => database.fmt(f),
        }
    }
}
