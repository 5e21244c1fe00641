//! Where the ledger's rows live: an append-only list in a hash chain, and beside it the shelf of stored releases and the
//! list of reads that have not ended well.
//!
//! [`Log`] is one of two stores with the same contract: a SQLite file for one proxy, a PostgreSQL schema that any
//! number of proxies share. All calls block: the ledger's writer thread makes them, and the owner's tools. What a row
//! means (budgets, prices, windows) is not known here.

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

/// What is told of each row that is read. An error of its own ends the reading.
pub type Visit<'a> = &'a mut dyn FnMut(&Row) -> Result<(), LedgerError>;

/// What a batch starts from.
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
    /// Its own name.
    pub id: String,
    /// Who reads.
    pub user: String,
    /// When it was reserved, in microseconds since 1970.
    pub began: i64,
    /// When it counts as failed, if nothing is heard of it until then.
    pub until: i64,
    /// It did not end well.
    pub failed: bool,
}

/// What happens to a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadChange {
    /// It may begin.
    Reserve(PrivateRead),
    /// It failed, or nobody waited for its end.
    Fail(String),
    /// It ended well, never began, or was long ago.
    Remove(String),
}

/// A stored release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The entry that paid for it.
    pub entry: i64,
    /// The data epoch that it was stored under.
    pub epoch: i64,
    /// What was stored.
    pub bytes: Vec<u8>,
}

/// Which stored releases are forgotten.
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
/// A batch is `begin`, any number of `append`, `put`, `note`, `forget` and `make_room`, then `commit` or `abandon`. A call out
/// of turn is an error.
pub enum Log {
    /// One file, one process.
    Sqlite(Box<Sqlite>),
    /// A schema of a database, any number of processes.
    Postgres(Box<Postgres>),
}

impl Log {
    /// Makes a log with these first bodies. What exists is refused: it may hold what was spent.
    pub fn create(location: &LedgerLocation, first: &[String]) -> Result<(), LedgerError> {
        match location {
            LedgerLocation::Sqlite(path) => Sqlite::create(path, first),
            LedgerLocation::Postgres(ledger) => Postgres::create(ledger, first),
        }
    }

    /// Opens a log, proves its whole chain, and shows each row to `visit` in order. Never makes one.
    ///
    /// # Errors
    /// [`LedgerError::Missing`] names the command that makes one; [`LedgerError::InUse`] where another process serves
    /// from the same file; [`LedgerError::Broken`] names the first entry that is not as it was written.
    pub fn open(location: &LedgerLocation, visit: Visit<'_>) -> Result<Self, LedgerError> {
        let mut log = match location {
            LedgerLocation::Sqlite(path) => Self::Sqlite(Sqlite::open(path)?.into()),
            LedgerLocation::Postgres(ledger) => Self::Postgres(Postgres::open(ledger)?.into()),
        };
        log.replay(visit)?;
        Ok(log)
    }

    /// Opens a log for reading, beside whoever serves from it. Nothing is proven until [`Self::replay`] is called.
    pub fn open_read_only(location: &LedgerLocation) -> Result<Self, LedgerError> {
        match location {
            LedgerLocation::Sqlite(path) => Ok(Self::Sqlite(Sqlite::open_read_only(path)?.into())),
            LedgerLocation::Postgres(ledger) => Ok(Self::Postgres(Postgres::open_read_only(ledger)?.into())),
        }
    }

    /// Reads every row from the first to the last, proves the chain, and shows each to `visit`. Rows are streamed.
    ///
    /// # Errors
    /// As [`Self::open`], and what `visit` says.
    pub fn replay(&mut self, visit: Visit<'_>) -> Result<Tip, LedgerError> {
        match self {
            Self::Sqlite(log) => log.replay(visit),
            Self::Postgres(log) => log.replay(visit),
        }
    }

    /// Starts a batch. Until it ends nobody else writes; `after` is the last row that the caller knows.
    ///
    /// # Errors
    /// [`LedgerError::Unavailable`] may pass; after [`LedgerError::Broken`] and [`LedgerError::Behind`] this log is of
    /// no use any more. No batch is open after an error.
    pub fn begin(&mut self, after: i64) -> Result<Begun, LedgerError> {
        match self {
            Self::Sqlite(log) => log.begin(after),
            Self::Postgres(log) => log.begin(after),
        }
    }

    /// Adds a row to the batch.
    pub fn append(&mut self, body: String) -> Result<Row, LedgerError> {
        match self {
            Self::Sqlite(log) => log.append(body),
            Self::Postgres(log) => log.append(body),
        }
    }

    /// Notes what happens to a read.
    pub fn note(&mut self, change: ReadChange) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(log) => log.note(&change),
            Self::Postgres(log) => log.note(change),
        }
    }

    /// Whether batches that begin from now on may end before they are on disk: a power failure may undo them then. No
    /// batch with an entry may be such a one.
    pub fn relax(&mut self, relaxed: bool) {
        match self {
            Self::Sqlite(log) => log.relax(relaxed),
            Self::Postgres(log) => log.relax(relaxed),
        }
    }

    /// Stores a release. What is stored under the key already stays.
    pub fn put(&mut self, key: &[u8; 32], entry: i64, epoch: i64, bytes: Vec<u8>) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(log) => log.put(key, entry, epoch, bytes),
            Self::Postgres(log) => log.put(key, entry, epoch, bytes),
        }
    }

    /// A stored release. Outside of a batch, too.
    pub fn get(&mut self, key: &[u8; 32]) -> Result<Option<Kept>, LedgerError> {
        match self {
            Self::Sqlite(log) => log.get(key),
            Self::Postgres(log) => log.get(key),
        }
    }

    /// Says which releases this batch will [`get`](Self::get): a database is asked for all of them at once, and not for
    /// each while others wait for the lock.
    pub fn look(&mut self, keys: &[[u8; 32]]) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(log) => log.look(keys),
        }
    }

    /// Removes stored releases and says how many.
    pub fn forget(&mut self, what: Forget) -> Result<u64, LedgerError> {
        match self {
            Self::Sqlite(log) => log.forget(what),
            Self::Postgres(log) => log.forget(what),
        }
    }

    /// Bytes of all stored releases. In a batch only.
    pub fn stored(&mut self) -> Result<u64, LedgerError> {
        match self {
            Self::Sqlite(log) => log.stored(),
            Self::Postgres(log) => log.stored(),
        }
    }

    /// Where the stored releases have more than `cap` bytes, forgets those of the oldest entries until a tenth of it is
    /// free. Says how many.
    pub fn make_room(&mut self, cap: u64) -> Result<u64, LedgerError> {
        match self {
            Self::Sqlite(log) => log.make_room(cap),
            Self::Postgres(log) => log.make_room(cap),
        }
    }

    /// Ends the batch. When this is `Ok` the batch is on disk; after an error it may or may not be, and the next
    /// [`Self::begin`] tells.
    pub fn commit(&mut self) -> Result<(), LedgerError> {
        match self {
            Self::Sqlite(log) => log.commit(),
            Self::Postgres(log) => log.commit(),
        }
    }

    /// Ends the batch without it. Does nothing where there is none.
    pub fn abandon(&mut self) {
        match self {
            Self::Sqlite(log) => log.abandon(),
            Self::Postgres(log) => log.abandon(),
        }
    }

    /// Whether what is written can be found again: the file is still where its name says.
    pub fn in_place(&self) -> bool {
        match self {
            Self::Sqlite(log) => log.in_place(),
            // Each batch looks for what this process has seen.
            Self::Postgres(_) => true,
        }
    }

    /// The last row that is known to be on disk.
    pub fn tip(&self) -> Tip {
        match self {
            Self::Sqlite(log) => log.tip(),
            Self::Postgres(log) => log.tip(),
        }
    }
}
