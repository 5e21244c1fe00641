//! SQLite files whose commits are on disk when they return, and the rules that every book has (soundness rule 53): a mark outside
//! of it, and a clock that only goes forward.

mod mark;

pub use mark::{Fault, Mark, Seen, Tip};

use rusqlite::{Connection, OpenFlags, ffi};
use std::path::Path;

/// A file is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be made.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// SQLite's word.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// Opens a file that is there. WAL with `synchronous=FULL` syncs the log at every commit.
///
/// # Errors
/// SQLite cannot open the file, or cannot keep a log beside it.
pub fn open(path: impl AsRef<Path>, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = connect(path, access)?;
    if !access.contains(OpenFlags::SQLITE_OPEN_READ_ONLY) {
        keep_log(&connection)?;
    }
    Ok(connection)
}

/// Opens a file of one process, or makes one that nobody but its owner reads; what SQLite puts
/// beside it has the same mode. No other process opens the file meanwhile, and what is deleted is
/// overwritten.
///
/// # Errors
/// [`OpenError`].
pub fn open_alone(path: &Path) -> Result<Connection, OpenError> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    keep_log(&connection)?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    Ok(connection)
}

/// The version of the tables (`PRAGMA user_version`); None where there is no table yet.
///
/// # Errors
/// SQLite cannot read the file.
pub fn version(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(Some(version).filter(|version| (*version, tables) != (0, 0)))
}

/// The moment by a book's own clock, which only goes forward: that of this machine's clock, or the last one in the book, where the
/// machine's went back. What has ended by it has ended for good.
pub fn forward<T: Ord>(clock: T, last: T) -> T {
    clock.max(last)
}

fn connect(path: impl AsRef<Path>, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(connection)
}

/// SQLite does not fail where it cannot do what a PRAGMA says: it says what it does in its place.
fn keep_log(connection: &Connection) -> rusqlite::Result<()> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // macOS: fsync alone does not reach the medium.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    let full: i32 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    if (mode.as_str(), full) == ("wal", 2) {
        return Ok(());
    }
    let why = format!("SQLite cannot keep a log there: journal_mode is {mode}, synchronous is {full}");
    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), Some(why)))
}
