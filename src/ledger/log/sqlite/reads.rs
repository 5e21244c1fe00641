//! Reads that have not ended well, in the file.

use super::Sqlite;
use crate::error::LedgerError;
use crate::log::{PrivateRead, ReadChange};
use rusqlite::{Connection, params};

/// The table is made where it is missing: files of this format were made before it was.
const TABLE: &str = "
CREATE TABLE IF NOT EXISTS reads (
    id        TEXT PRIMARY KEY,
    user_name TEXT NOT NULL,
    began     INTEGER NOT NULL,
    until     INTEGER NOT NULL,
    failed    INTEGER NOT NULL
) STRICT";

pub(super) fn table(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLE)
}

pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<PrivateRead>> {
    let mut select = connection.prepare_cached("SELECT id, user_name, began, until, failed FROM reads")?;
    let read = |row: &rusqlite::Row<'_>| {
        Ok(PrivateRead {
            id: row.get(0)?,
            user: row.get(1)?,
            began: row.get(2)?,
            until: row.get(3)?,
            failed: row.get(4)?,
        })
    };
    select.query_map([], read)?.collect()
}

impl Sqlite {
    pub(in crate::log) fn note(&mut self, change: &ReadChange) -> Result<(), LedgerError> {
        self.batch.as_ref().ok_or(LedgerError::NoBatch)?;
        let noted = match change {
            ReadChange::Reserve(read) => self
                .connection
                .prepare_cached(
                    "INSERT INTO reads (id, user_name, began, until, failed) VALUES (?, ?, ?, ?, ?)
                     ON CONFLICT (id) DO NOTHING",
                )
                .and_then(|mut s| {
                    s.execute(params![read.id, read.user, read.began, read.until, read.failed])
                }),
            ReadChange::Fail(id) => self
                .connection
                .prepare_cached("UPDATE reads SET failed = 1 WHERE id = ?")
                .and_then(|mut s| s.execute([id])),
            ReadChange::Remove(id) => self
                .connection
                .prepare_cached("DELETE FROM reads WHERE id = ?")
                .and_then(|mut s| s.execute([id])),
        };
        noted.map(drop).map_err(|e| self.place.io(e))
    }

    pub(in crate::log) fn relax(&mut self, relaxed: bool) {
        self.relaxed = relaxed;
    }

    /// Makes commits sync the log, or not: in WAL mode, `NORMAL` leaves that to the next commit that does.
    pub(super) fn synchronous(&mut self) -> Result<(), LedgerError> {
        if self.relaxed != self.relaxed_now {
            let how = if self.relaxed { "NORMAL" } else { "FULL" };
            self.connection.pragma_update(None, "synchronous", how).map_err(|e| self.place.io(e))?;
            self.relaxed_now = self.relaxed;
        }
        Ok(())
    }
}
