//! Reads that have not ended well, in the file.

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

/// Forgets reads that have neither failed nor ended.
pub(super) fn forget_under_way(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM reads WHERE failed = 0", []).map(drop)
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

pub(super) fn note(connection: &Connection, change: &ReadChange) -> rusqlite::Result<()> {
    match change {
        ReadChange::Reserve(read) => connection
            .prepare_cached("INSERT INTO reads (id, user_name, began, until, failed) VALUES (?, ?, ?, ?, ?)")?
            .execute(params![read.id, read.user, read.began, read.until, read.failed]),
        ReadChange::Fail(id) => {
            connection.prepare_cached("UPDATE reads SET failed = 1 WHERE id = ?")?.execute([id])
        }
        ReadChange::Remove(id) => connection.prepare_cached("DELETE FROM reads WHERE id = ?")?.execute([id]),
    }
    .and_then(super::counts::one)
}
