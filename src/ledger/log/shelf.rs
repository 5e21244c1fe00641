//! Stored releases beside a log.

use crate::error::LedgerError;

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
