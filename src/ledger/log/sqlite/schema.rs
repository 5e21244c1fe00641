//! The file's tables, how it is made, and how it is opened.

use super::file::io;
use crate::error::LedgerError;
use crate::log::Tip;
use policy::GivenFile;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use std::path::Path;

/// `PRAGMA application_id`: "ngLG".
const APPLICATION_ID: i32 = 0x6e67_4c47;
/// `PRAGMA user_version`.
const VERSION: i32 = 3;

/// The triggers stop accidents. Whoever may write to the file can drop them; the chain shows what they did.
const TABLES: &str = "
CREATE TABLE entries (
    id   INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

-- Stored releases. They may be removed: asking again is charged then.
CREATE TABLE shelf (
    key   BLOB PRIMARY KEY CHECK (length(key) = 32),
    entry INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    bytes BLOB NOT NULL
) STRICT;
CREATE INDEX shelf_by_entry ON shelf (entry, key);

CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entries_in_order BEFORE INSERT ON entries
WHEN NEW.id IS NOT (SELECT ifnull(max(id), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'entries are numbered without a gap'); END;
";

/// Makes the file.
pub(super) fn create(path: &GivenFile, first: &[String]) -> Result<(), LedgerError> {
    let wal = path.and("-wal");
    if wal.reveal().exists() {
        // That of a ledger that was here, and is open still or did not end in order: SQLite would take it for ours.
        return Err(LedgerError::Exists(wal));
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => {}
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(LedgerError::Exists(path.to_owned()));
        }
        Err(e) => return Err(io(path, e)),
    }
    let filled = fill(path, first).and_then(|()| sync_folder(path));
    if filled.is_err() {
        // Ours, and of no use half made.
        let _ = std::fs::remove_file(path);
    }
    filled
}

fn fill(path: &GivenFile, first: &[String]) -> Result<(), LedgerError> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    write_first(&mut connection, first).map_err(|e| io(path, e))
}

fn write_first(connection: &mut Connection, first: &[String]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    let mut tip = Tip::START;
    for body in first {
        let row = tip.next(body.clone());
        transaction.execute(
            "INSERT INTO entries (id, body, hash) VALUES (?, ?, ?)",
            params![row.id, row.body, row.hash],
        )?;
        tip = Tip::of(&row);
    }
    transaction.commit()
}

/// The file's name must survive a power failure too.
fn sync_folder(path: &GivenFile) -> Result<(), LedgerError> {
    let folder = match path.reveal().parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::File::open(folder).and_then(|f| f.sync_all()).map_err(|e| io(path, e))
}

/// A connection whose commits are on disk when they return.
pub(super) fn connect(path: &GivenFile, access: OpenFlags) -> Result<Connection, LedgerError> {
    durable::open(path, access).map_err(|e| explain(path, &e))
}

/// Checks that the file is a ledger.
pub(super) fn check(path: &GivenFile, connection: &Connection) -> Result<(), LedgerError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let foreign = |why: String| LedgerError::Foreign { path: path.to_owned(), why };
    if pragma("application_id").map_err(|e| explain(path, &e))? != APPLICATION_ID {
        return Err(foreign("it is another kind of SQLite file".into()));
    }
    match pragma("user_version").map_err(|e| explain(path, &e))? {
        VERSION => Ok(()),
        1..VERSION => Err(LedgerError::Old(path.to_owned())),
        other => Err(foreign(format!("its format is {other}, not {VERSION}"))),
    }
}

/// SQLite's "file is not a database".
pub(super) fn explain(path: &GivenFile, error: &rusqlite::Error) -> LedgerError {
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            LedgerError::Foreign { path: path.to_owned(), why: "it is not a SQLite file".into() }
        }
        _ => io(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_no_wal_is_refused() {
        let memory = connect(&std::path::PathBuf::from(":memory:").into(), OpenFlags::SQLITE_OPEN_READ_WRITE);
        let refused = memory.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(refused.contains("journal_mode is memory"), "{refused}");
    }
}
