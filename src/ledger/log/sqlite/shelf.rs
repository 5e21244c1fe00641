//! Stored releases in the file.

use super::Sqlite;
use super::counts::bytes;
use crate::error::LedgerError;
use crate::log::{Forget, Kept, Shelf};
use rusqlite::{OptionalExtension, params};

impl Sqlite {
    /// Runs a DELETE that gives the length of each row it removes.
    fn remove(&mut self, sql: &str, params: impl rusqlite::Params) -> Result<u64, LedgerError> {
        let batch = self.batch.as_mut().ok_or(LedgerError::NoBatch)?;
        let removed = || -> rusqlite::Result<Vec<u64>> {
            let mut delete = self.connection.prepare_cached(sql)?;
            delete.query_map(params, |row| bytes(row, 0))?.collect()
        };
        let lengths = removed().map_err(|e| self.place.io(e))?;
        batch.stored = lengths.iter().fold(batch.stored, |sum, length| sum.saturating_sub(*length));
        Ok(lengths.len() as u64)
    }
}

impl Shelf for Sqlite {
    fn put(&mut self, key: &[u8; 32], entry: i64, epoch: i64, bytes: Vec<u8>) -> Result<(), LedgerError> {
        let batch = self.batch.as_mut().ok_or(LedgerError::NoBatch)?;
        let stored = self
            .connection
            .prepare_cached(
                "INSERT INTO shelf (key, entry, epoch, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            )
            .and_then(|mut s| s.execute(params![key, entry, epoch, bytes]))
            .map_err(|e| self.place.io(e))?;
        if stored > 0 {
            batch.stored = batch.stored.saturating_add(bytes.len() as u64);
        }
        Ok(())
    }

    fn get(&mut self, key: &[u8; 32]) -> Result<Option<Kept>, LedgerError> {
        self.connection
            .prepare_cached("SELECT entry, epoch, bytes FROM shelf WHERE key = ?")
            .and_then(|mut s| {
                let kept = |row: &rusqlite::Row<'_>| {
                    Ok(Kept { entry: row.get(0)?, epoch: row.get(1)?, bytes: row.get(2)? })
                };
                s.query_row([key], kept).optional()
            })
            .map_err(|e| self.place.io(e))
    }

    fn look(&mut self, _: &[[u8; 32]]) -> Result<(), LedgerError> {
        Ok(())
    }

    fn forget(&mut self, what: Forget) -> Result<u64, LedgerError> {
        const RETURNING: &str = "RETURNING length(bytes)";
        match what {
            Forget::Key(key) => self.remove(&format!("DELETE FROM shelf WHERE key = ? {RETURNING}"), [key]),
            Forget::Before(epoch) => {
                self.remove(&format!("DELETE FROM shelf WHERE epoch < ? {RETURNING}"), [epoch])
            }
            Forget::All => self.remove(&format!("DELETE FROM shelf {RETURNING}"), []),
        }
    }

    fn stored(&mut self) -> Result<u64, LedgerError> {
        self.batch.as_ref().map(|b| b.stored).ok_or(LedgerError::NoBatch)
    }

    fn make_room(&mut self, cap: u64) -> Result<u64, LedgerError> {
        let mut removed = 0;
        if self.stored()? > cap {
            while self.stored()? > cap - cap / 10 {
                let oldest =
                    "DELETE FROM shelf WHERE key IN (SELECT key FROM shelf ORDER BY entry, key LIMIT 1)
                              RETURNING length(bytes)";
                match self.remove(oldest, [])? {
                    0 => break,
                    some => removed += some,
                }
            }
        }
        Ok(removed)
    }
}
