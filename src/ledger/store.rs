//! The file while it is open: one connection, and the sums of all budgets as they stand in it.

use super::account::Account;
use super::entry;
use super::error::LedgerError;
use super::schema::{check, connect, insert_budget, io};
use super::writer::Debit;
use crate::dp::Cost;
use crate::policy::Scope;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sums by account and owner.
pub(super) type Sums = HashMap<(usize, String), Cost>;

/// Device and inode of a file, if it is there.
type FileId = Option<(u64, u64)>;

pub(super) struct Store {
    pub(super) connection: Connection,
    pub(super) accounts: Arc<[Account]>,
    /// Row ids of `accounts` in the file, in the same order.
    ids: Vec<i64>,
    /// What the file holds; None after a failure, until it is read again.
    pub(super) sums: Option<Sums>,
    /// `PRAGMA data_version` when `sums` was read: another connection's commit changes it.
    data_version: i64,
    path: PathBuf,
    /// The files that the connection has open.
    files: [FileId; 2],
    /// Held (by flock) for as long as the store lives, so that no second process serves from the same file. A file
    /// beside the ledger, because closing any handle on the ledger itself would drop SQLite's own locks on it.
    _lock: std::fs::File,
}

impl Store {
    pub(super) fn open(path: &Path, accounts: Arc<[Account]>) -> Result<Self, LedgerError> {
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(LedgerError::Missing(path.to_owned()));
            }
            Err(e) => return Err(io(path, e)),
        };
        let lock = lock(&path)?;
        let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|e| explain(&path, &e))?;
        check(&path, &connection)?;
        if connection.is_readonly("main").map_err(|e| io(&path, e))? {
            return Err(io(&path, "the file is read-only"));
        }
        let files = [None; 2];
        let mut store = Self {
            connection,
            accounts,
            ids: Vec::new(),
            sums: None,
            data_version: 0,
            path,
            files,
            _lock: lock,
        };
        store.connection.execute_batch("BEGIN IMMEDIATE").map_err(|e| io(&store.path, e))?;
        store.ids = store.reconcile()?;
        store.connection.execute_batch("COMMIT").map_err(|e| io(&store.path, e))?;
        store.load().map_err(|e| io(&store.path, e))?;
        store.files = store.found();
        Ok(store)
    }

    /// What is at the places of the ledger and of its log now.
    fn found(&self) -> [FileId; 2] {
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        [self.path.as_path(), Path::new(&log)].map(|place| {
            let found = std::fs::metadata(place).ok()?;
            Some((found.dev(), found.ino()))
        })
    }

    /// Whether what is written can be found again: the connection's files are still at their places. Who moves one away
    /// or puts another in its place is not noticed by SQLite, and what is debited then is not known after a restart.
    pub(super) fn in_place(&self) -> bool {
        self.files.iter().all(Option::is_some) && self.files == self.found()
    }

    /// Brings the file's budgets in line with the policy's, or says why that cannot be. Gives the row ids.
    fn reconcile(&self) -> Result<Vec<i64>, LedgerError> {
        self.accounts.iter().map(|account| self.reconcile_one(account)).collect()
    }

    fn reconcile_one(&self, account: &Account) -> Result<i64, LedgerError> {
        let budget = &account.budget;
        let sql = |e: rusqlite::Error| io(&self.path, e);
        let stored: Option<(i64, String, String)> = self
            .connection
            .query_row("SELECT id, per, accounting FROM budgets WHERE name = ?", [&budget.name], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()
            .map_err(sql)?;
        let id = match stored {
            None => insert_budget(&self.connection, account).map_err(sql)?,
            Some((id, per, accounting)) => {
                let changed = |what, stored, policy| LedgerError::Changed {
                    name: budget.name.clone(),
                    what,
                    stored,
                    policy,
                };
                if per != budget.scope.word() {
                    return Err(changed("per", per, budget.scope.word()));
                }
                if accounting != budget.accounting.word() {
                    return Err(changed("accounting", accounting, budget.accounting.word()));
                }
                self.connection
                    .execute(
                        "UPDATE budgets SET epsilon = ?, delta = ?, selection_delta = ? WHERE id = ?",
                        params![
                            budget.epsilon.to_string(),
                            budget.delta.to_string(),
                            budget.selection_delta.to_string(),
                            id
                        ],
                    )
                    .map_err(sql)?;
                id
            }
        };
        self.take_over(account, id)?;
        Ok(id)
    }

    /// Debits a budget for every entry that it has not counted: those from before it was in the policy.
    fn take_over(&self, account: &Account, id: i64) -> Result<(), LedgerError> {
        let sql = |e: rusqlite::Error| io(&self.path, e);
        let mut missing = self
            .connection
            .prepare(
                "SELECT id, user, role, epsilon, selection_delta, events FROM entries e
                 WHERE NOT EXISTS (SELECT 1 FROM debits d WHERE d.entry = e.id AND d.budget = ?)",
            )
            .map_err(sql)?;
        let mut rows = missing.query([id]).map_err(sql)?;
        while let Some(row) = rows.next().map_err(sql)? {
            let entry: i64 = row.get(0).map_err(sql)?;
            let text = |column: usize| row.get::<_, String>(column).map_err(sql);
            let owner = match account.budget.scope {
                Scope::Dataset => Some(String::new()),
                Scope::User => Some(text(1)?),
                Scope::Role => row.get::<_, Option<String>>(2).map_err(sql)?,
            };
            let Some(owner) = owner else { continue };
            let charge = entry::decode(&text(3)?, &text(4)?, &text(5)?)
                .ok_or_else(|| io(&self.path, format!("entry {entry} cannot be read")))?;
            let price = account.filter.notion.price(&charge).map_err(|reason| LedgerError::Unpriced {
                name: account.budget.name.clone(),
                entry,
                reason,
            })?;
            self.insert_debit(entry, id, &owner, price).map_err(sql)?;
        }
        Ok(())
    }

    /// Reads all sums from the file.
    fn load(&mut self) -> rusqlite::Result<()> {
        self.sums = None;
        let index: HashMap<i64, usize> = self.ids.iter().enumerate().map(|(i, id)| (*id, i)).collect();
        let mut sums = Sums::new();
        let version = self.version()?;
        let mut debits = self.connection.prepare("SELECT budget, owner, loss, delta FROM debits")?;
        let mut rows = debits.query([])?;
        while let Some(row) = rows.next()? {
            let Some(account) = index.get(&row.get(0)?) else { continue };
            let text = |column: usize| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
            let cost = Cost::from_text(text(2)?, text(3)?).ok_or_else(|| {
                let why = "an amount is no number".into();
                rusqlite::Error::FromSqlConversionFailure(2, rusqlite::types::Type::Text, why)
            })?;
            let sum = sums.entry((*account, row.get(1)?)).or_default();
            // What does not fit is more than any limit.
            *sum = sum.saturating_add(cost);
        }
        drop(rows);
        drop(debits);
        self.sums = Some(sums);
        self.data_version = version;
        Ok(())
    }

    fn version(&self) -> rusqlite::Result<i64> {
        self.connection.pragma_query_value(None, "data_version", |row| row.get(0))
    }

    /// Opens a transaction, with `sums` right in it.
    pub(super) fn begin(&mut self) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        if self.sums.is_none() || self.version()? != self.data_version {
            self.load()?;
        }
        Ok(())
    }

    /// Makes the transaction durable.
    pub(super) fn commit(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch("COMMIT")
    }

    /// Ends a transaction that failed. Sums are read again before they are used.
    pub(super) fn abandon(&mut self) {
        self.sums = None;
        if !self.connection.is_autocommit() && self.connection.execute_batch("ROLLBACK").is_err() {
            // A connection that cannot even roll back is replaced, if it can be; else the next debit fails and
            // comes here again.
            if let Ok(connection) = connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
                self.connection = connection;
                self.files = self.found();
            }
        }
    }

    /// Writes an entry and its debits. Gives its number.
    pub(super) fn insert(&self, debit: &Debit) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached(
                "INSERT INTO entries (user, role, statement, policy, epsilon, selection_delta, events)
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                debit.user,
                debit.role,
                debit.statement,
                debit.policy,
                debit.epsilon,
                debit.selection_delta,
                debit.events
            ])?;
        let entry = self.connection.last_insert_rowid();
        for price in &debit.prices {
            let id = self.ids.get(price.account).ok_or(rusqlite::Error::QueryReturnedNoRows)?;
            self.insert_debit(entry, *id, &price.owner, price.price)?;
        }
        Ok(entry)
    }

    fn insert_debit(&self, entry: i64, budget: i64, owner: &str, price: Cost) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached("INSERT INTO debits (entry, budget, owner, loss, delta) VALUES (?, ?, ?, ?, ?)")?
            .execute(params![entry, budget, owner, price.loss_text(), price.delta.to_string()])?;
        Ok(())
    }
}

/// Takes the lock beside the file.
fn lock(path: &Path) -> Result<std::fs::File, LedgerError> {
    let mut name = path.as_os_str().to_owned();
    name.push("-lock");
    let lock = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&name)
        .map_err(|e| io(Path::new(&name), e))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(std::fs::TryLockError::WouldBlock) => Err(LedgerError::InUse(path.to_owned())),
        Err(std::fs::TryLockError::Error(e)) => Err(io(Path::new(&name), e)),
    }
}

/// SQLite's "file is not a database" while the journal mode is set.
fn explain(path: &Path, error: &rusqlite::Error) -> LedgerError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => {
            LedgerError::Foreign { path: path.to_owned(), why: "it is not a SQLite file".into() }
        }
        _ => io(path, error),
    }
}
