//! Logs of ledgers: an append-only list in a hash chain, and beside it the shelf of stored releases
//! and the list of reads that have not ended well.
//!
//! A [`Log`] is one of two stores with the same contract: a SQLite file for one proxy, a PostgreSQL
//! schema that any number of proxies share. All calls block: the ledger's writer thread makes them,
//! and the owner's tools. The meaning of a row (budgets, prices, windows) is not known here.

mod chain;
mod postgres;
mod sqlite;
#[cfg(test)]
mod tests;

pub use chain::{Broken, GENESIS, Row, Tip};
pub use postgres::{Postgres, grants};
pub use sqlite::Sqlite;

use super::error::LedgerError;
use policy::LedgerLocation;

/// A visitor of each row that is read. An error of its own ends the reading.
pub type Visit<'a> = &'a mut dyn FnMut(&Row) -> Result<(), LedgerError>;

/// The start of a batch.
#[derive(Debug)]
pub struct Begun {
    /// Every row after the one that was asked for, in order and proven to be of the chain.
    pub rows: Vec<Row>,
    /// The log's clock: microseconds since 1970.
    pub now: i64,
    /// Reads of private rows that are under way or have failed.
    pub reads: Vec<PrivateRead>,
}

/// A read of private rows, from its debit on and until it has ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateRead {
    /// Name of the read.
    pub id: String,
    /// User who reads.
    pub user: String,
    /// When it was reserved, in microseconds since 1970.
    pub began: i64,
    /// When it is no longer under way, if nothing is heard of it until then.
    pub until: i64,
    /// The read did not end well.
    pub failed: bool,
}

/// A change of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadChange {
    /// The read may begin.
    Reserve(PrivateRead),
    /// The read failed, or nobody waited for its end.
    Fail(String),
    /// The read ended well, never began, or was long ago.
    Remove(String),
}

/// A stored release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The entry that paid for it.
    pub entry: i64,
    /// The data epoch that it was stored under.
    pub epoch: i64,
    /// Bytes that were stored.
    pub bytes: Vec<u8>,
}

/// Stored releases that are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forget {
    /// The one with this key.
    Key([u8; 32]),
    /// All of earlier epochs.
    Before(i64),
    /// Every one.
    All,
}

/// An open log.
///
/// A batch is `begin`, any number of `append`, `note` and calls of the [`Shelf`], then `commit` or `abandon`. A call out of
/// turn is an error.
pub trait Log: Shelf + Send {
    /// Reads every row from the first to the last, proves the chain, and that what was seen before is in it, and shows each
    /// to `visit`. Rows are streamed.
    ///
    /// # Errors
    /// [`LedgerError::Broken`] names the first entry that is not as it was written; and what `visit` says.
    fn replay(&mut self, visit: Visit<'_>) -> Result<Tip, LedgerError>;

    /// Starts a batch. Until it ends nobody else writes; `after` is the last row that the caller knows.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`] may pass; after [`LedgerError::Broken`] and [`LedgerError::Behind`] this log is of
    /// no use any more. No batch is open after an error.
    fn begin(&mut self, after: i64) -> Result<Begun, LedgerError>;

    /// Adds a row to the batch.
    fn append(&mut self, body: String) -> Result<Row, LedgerError>;

    /// Notes what happens to a read.
    fn note(&mut self, change: ReadChange) -> Result<(), LedgerError>;

    /// Whether batches that begin from now on may end before they are on disk: a power failure may undo them then. No
    /// batch with an entry may be such a one.
    fn relax(&mut self, relaxed: bool);

    /// Ends the batch. When this is `Ok` the batch is on disk; after an error it may or may not be, and the next
    /// [`Self::begin`] tells.
    fn commit(&mut self) -> Result<(), LedgerError>;

    /// Ends the batch without it. Does nothing where there is none.
    fn abandon(&mut self);

    /// Whether what is written can be found again: the file is still where its name says.
    fn in_place(&self) -> bool;

    /// The last row that is known to be on disk.
    fn tip(&self) -> Tip;
}

/// The stored releases beside a log.
pub trait Shelf {
    /// Stores a release. What is stored under the key already stays.
    fn put(&mut self, key: &[u8; 32], entry: i64, epoch: i64, bytes: Vec<u8>) -> Result<(), LedgerError>;

    /// A stored release. Outside of a batch, too.
    fn get(&mut self, key: &[u8; 32]) -> Result<Option<Kept>, LedgerError>;

    /// Says which releases this batch will [`get`](Self::get): a database is asked for all of them at once, and not for
    /// each while others wait for the lock.
    fn look(&mut self, keys: &[[u8; 32]]) -> Result<(), LedgerError>;

    /// Removes stored releases and says how many.
    fn forget(&mut self, what: Forget) -> Result<u64, LedgerError>;

    /// Bytes of all stored releases. In a batch only.
    fn stored(&mut self) -> Result<u64, LedgerError>;

    /// Where the stored releases have more than `cap` bytes, forgets those of the oldest entries until a tenth of it is
    /// free. Says how many.
    fn make_room(&mut self, cap: u64) -> Result<u64, LedgerError>;
}

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
