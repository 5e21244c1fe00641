//! The contract of a log.

use super::chain::{Row, Tip};
use super::read::{PrivateRead, ReadChange};
use super::shelf::Shelf;
use crate::error::LedgerError;

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
