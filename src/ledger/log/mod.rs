//! Logs of ledgers: an append-only list in a hash chain, and beside it the shelf of stored releases
//! and the list of reads that have not ended well.
//!
//! A [`Log`] is one of two stores with the same contract: a SQLite file for one proxy, a PostgreSQL
//! schema that any number of proxies share. All calls block: the ledger's writer thread makes them,
//! and the owner's tools. The meaning of a row (budgets, prices, windows) is not known here.

mod chain;
mod contract;
mod postgres;
mod read;
mod shelf;
mod sqlite;
#[cfg(test)]
mod tests;

pub use chain::{Broken, GENESIS, Row, Tip};
pub use contract::{Begun, Log, Visit};
pub use postgres::{Postgres, grants};
pub use read::{PrivateRead, ReadChange};
pub use shelf::{Forget, Kept, Shelf};
pub use sqlite::Sqlite;

use super::error::LedgerError;
use policy::LedgerLocation;

/// Makes a log with these first bodies. What exists is refused: it may hold what was spent.
pub fn create(location: &LedgerLocation, first: &[String]) -> Result<(), LedgerError> {
    match location {
        LedgerLocation::Sqlite(path) => Sqlite::create(path, first),
        LedgerLocation::Postgres(ledger) => Postgres::create(ledger, first),
    }
}

/// Opens a log. Never makes one. Nothing is proven until [`Log::replay`] is called.
///
/// # Errors
/// [`LedgerError::Missing`] names the command that makes one; [`LedgerError::InUse`] where another process serves
/// from the same file.
pub fn open(location: &LedgerLocation) -> Result<Box<dyn Log>, LedgerError> {
    Ok(match location {
        LedgerLocation::Sqlite(path) => Box::new(Sqlite::open(path)?),
        LedgerLocation::Postgres(ledger) => Box::new(Postgres::open(ledger)?),
    })
}

/// Opens a log for reading, beside a process that serves from it. Nothing is proven until
/// [`Log::replay`] is called.
pub fn open_read_only(location: &LedgerLocation) -> Result<Box<dyn Log>, LedgerError> {
    Ok(match location {
        LedgerLocation::Sqlite(path) => Box::new(Sqlite::open_read_only(path)?),
        LedgerLocation::Postgres(ledger) => Box::new(Postgres::open(ledger)?),
    })
}
