//! Storage of records: in the ledger, and a copy of those that were read in this process.
//!
//! Records in the ledger stay as they are. A record that cannot be read (another key, changed
//! bytes) leaves its place to it, and the next place of the same key is used: it counts as not
//! stored, and the operator hears of it.

use super::encoding::Record;
use super::key::{Key, nth};
use super::memory::Memory;
use super::seal::{Broken, Seal};
use ledger::Ledger;

/// Places of one key.
const PLACES: u64 = 4;

/// Record under a key.
#[derive(Debug)]
pub enum Found {
    /// A record.
    Record(Record),
    /// No record, and the place where it could lie; no place where all are taken by records that
    /// cannot be read.
    Nothing(Option<Key>),
}

/// Reads and writes records.
pub(super) struct Records<'a> {
    pub(super) seal: &'a Seal,
    pub(super) memory: &'a Memory,
    pub(super) ledger: &'a Ledger,
}

impl Records<'_> {
    /// The record under a key.
    pub(super) async fn find(&self, key: &Key) -> Found {
        for place in (0..PLACES).map(|n| nth(key, n)) {
            if let Some(bytes) = self.memory.get(&place) {
                match self.open(&place, &bytes) {
                    Ok(record) => return Found::Record(record),
                    Err(_) => continue,
                }
            }
            match self.ledger.kept(place).await {
                Ok(Some(bytes)) => {
                    self.memory.put(place, &bytes);
                    match self.open(&place, &bytes) {
                        Ok(record) => return Found::Record(record),
                        Err(why) => {
                            tracing::warn!(%why, "a kept answer cannot be used, and is paid for again");
                        }
                    }
                }
                Ok(None) => return Found::Nothing(Some(place)),
                // Who needs the books to pay will hear of it.
                Err(_) => return Found::Nothing(None),
            }
        }
        Found::Nothing(None)
    }

    fn open(&self, place: &Key, bytes: &[u8]) -> Result<Record, Broken> {
        Record::decode(&self.seal.open(place, bytes)?).ok_or(Broken::Format)
    }

    /// Puts a record in its place, for the entry that paid for it.
    pub(super) async fn put(&self, entry: i64, place: Key, record: &Record) {
        let Some(bytes) = self.seal.close(&place, &record.encode()) else {
            tracing::warn!("an answer is not kept: no randomness is available");
            return;
        };
        self.memory.put(place, &bytes);
        if let Err(refusal) = self.ledger.keep(entry, place, bytes).await {
            tracing::warn!(%refusal, "an answer is kept in this process only: the ledger cannot be written");
        }
    }
}
