//! The file's tables, how it is created, and how it is opened.

use super::account::Account;
use super::error::LedgerError;
use rusqlite::{Connection, OpenFlags, params};
use std::path::Path;

/// `PRAGMA application_id`: "ngLG".
const APPLICATION_ID: i32 = 0x6e67_4c47;
/// `PRAGMA user_version`.
const VERSION: i32 = 1;

/// Amounts are decimal integers in units of 10^-24, as text: SQLite's integers have 64 bits only.
const TABLES: &str = "
CREATE TABLE budgets (
    id              INTEGER PRIMARY KEY,
    name            TEXT NOT NULL UNIQUE,
    per             TEXT NOT NULL,
    accounting      TEXT NOT NULL,
    epsilon         TEXT NOT NULL,
    delta           TEXT NOT NULL,
    selection_delta TEXT NOT NULL,
    created_at      TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) STRICT;

-- One row per charged statement. The events say what was drawn, so that a budget added later can count it too.
CREATE TABLE entries (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    at              TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    user            TEXT NOT NULL,
    role            TEXT,
    statement       TEXT NOT NULL,
    policy          TEXT NOT NULL,
    epsilon         TEXT NOT NULL,
    selection_delta TEXT NOT NULL,
    events          TEXT NOT NULL
) STRICT;

-- What an entry cost in each budget that matched: loss is what its notion sums (one number, or one per
-- Rényi order), delta is that of group selection.
CREATE TABLE debits (
    entry  INTEGER NOT NULL REFERENCES entries (id),
    budget INTEGER NOT NULL REFERENCES budgets (id),
    owner  TEXT NOT NULL,
    loss   TEXT NOT NULL,
    delta  TEXT NOT NULL,
    PRIMARY KEY (entry, budget)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
CREATE TRIGGER debits_no_update BEFORE UPDATE ON debits BEGIN SELECT RAISE(ABORT, 'debits are append-only'); END;
CREATE TRIGGER debits_no_delete BEFORE DELETE ON debits BEGIN SELECT RAISE(ABORT, 'debits are append-only'); END;
";

pub(super) fn io(path: &Path, cause: impl std::fmt::Display) -> LedgerError {
    LedgerError::Io { path: path.to_owned(), cause: cause.to_string() }
}

/// Creates the file.
pub(super) fn create(path: &Path, accounts: &[Account]) -> Result<(), LedgerError> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if Path::new(&log).exists() {
        // That of a ledger that was here, and is open still or did not end in order: SQLite would take it for ours.
        return Err(LedgerError::Exists(log.into()));
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => {}
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(LedgerError::Exists(path.to_owned()));
        }
        Err(e) => return Err(io(path, e)),
    }
    let filled = fill(path, accounts).map_err(|e| io(path, e)).and_then(|()| sync_folder(path));
    if filled.is_err() {
        // Ours, and of no use half made.
        let _ = std::fs::remove_file(path);
    }
    filled
}

fn fill(path: &Path, accounts: &[Account]) -> rusqlite::Result<()> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    for account in accounts {
        insert_budget(&transaction, account)?;
    }
    transaction.commit()
}

/// The file's name must survive a power failure too.
fn sync_folder(path: &Path) -> Result<(), LedgerError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    std::fs::File::open(folder).and_then(|f| f.sync_all()).map_err(|e| io(path, e))
}

/// A connection whose commits are on disk when they return: WAL with `synchronous=FULL` syncs the log at every commit.
pub(super) fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    if !access.contains(OpenFlags::SQLITE_OPEN_READ_ONLY) {
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        // macOS: fsync alone does not reach the medium.
        connection.pragma_update(None, "fullfsync", true)?;
        connection.pragma_update(None, "checkpoint_fullfsync", true)?;
        connection.pragma_update(None, "foreign_keys", true)?;
    }
    Ok(connection)
}

/// Checks that the file is a ledger.
pub(super) fn check(path: &Path, connection: &Connection) -> Result<(), LedgerError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let foreign = |why: String| LedgerError::Foreign { path: path.to_owned(), why };
    match pragma("application_id") {
        Ok(APPLICATION_ID) => {}
        Ok(_) => return Err(foreign("it is another kind of SQLite file".into())),
        Err(e) if e.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            return Err(foreign("it is not a SQLite file".into()));
        }
        Err(e) => return Err(io(path, e)),
    }
    match pragma("user_version").map_err(|e| io(path, e))? {
        VERSION => Ok(()),
        other => Err(foreign(format!("its format is {other}, not {VERSION}"))),
    }
}

/// Writes a budget's row and gives its id.
pub(super) fn insert_budget(connection: &Connection, account: &Account) -> rusqlite::Result<i64> {
    let b = &account.budget;
    connection.execute(
        "INSERT INTO budgets (name, per, accounting, epsilon, delta, selection_delta) VALUES (?, ?, ?, ?, ?, ?)",
        params![
            b.name,
            b.scope.word(),
            b.accounting.word(),
            b.epsilon.to_string(),
            b.delta.to_string(),
            b.selection_delta.to_string()
        ],
    )?;
    Ok(connection.last_insert_rowid())
}
