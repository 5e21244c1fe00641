//! Numbers of rows that were changed, and of bytes that are stored.

use rusqlite::Connection;

/// What must change a row, and one only, has not done what was asked for if it did not.
pub(super) fn one(changed: usize) -> rusqlite::Result<()> {
    if changed == 1 { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(changed)) }
}

/// A number of bytes, which is never below zero.
pub(super) fn bytes(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|n| u64::try_from(n).unwrap_or(0))
}

/// Bytes of all that is stored.
pub(super) fn stored(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("SELECT ifnull(sum(length(bytes)), 0) FROM shelf", [], |row| bytes(row, 0))
}
