//! The log in one SQLite file, for one process.
//!
//! WAL with `synchronous=FULL`: a commit is on disk when it returns, and costs one sync. A torn end of the WAL is cut
//! off by SQLite when the file is next opened (frames have checksums), which leaves the rows of whole commits only.

mod file;
mod reads;
mod schema;

use super::chain::{Gap, Read, Row, Tip};
use super::{Begun, Forget, Kept, Visit};
use crate::error::LedgerError;
use file::Place;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use std::path::Path;

/// A log in a file.
pub struct Sqlite {
    connection: Connection,
    place: Place,
    /// The last row that is known to be on disk.
    tip: Tip,
    /// The batch that is open.
    batch: Option<Batch>,
    /// What batches are to be, and what the connection makes them.
    relaxed: bool,
    relaxed_now: bool,
}

/// What the head will say.
struct Batch {
    tip: Tip,
    /// Bytes of stored releases.
    stored: u64,
}

impl Sqlite {
    pub(super) fn create(path: &Path, first: &[String]) -> Result<(), LedgerError> {
        schema::create(path, first)
    }

    pub(super) fn open(path: &Path) -> Result<Self, LedgerError> {
        let mut place = Place::find(path)?;
        place.lock()?;
        let connection = schema::connect(&place.path, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .map_err(|e| schema::explain(&place.path, &e))?;
        schema::check(&place.path, &connection)?;
        if connection.is_readonly("main").map_err(|e| place.io(e))? {
            return Err(place.io("the file is read-only"));
        }
        reads::table(&connection).map_err(|e| place.io(e))?;
        let mut log = Self::over(connection, place);
        // The WAL is made by the first transaction; a disk without room is better noticed now.
        log.connection.execute_batch("BEGIN IMMEDIATE; COMMIT").map_err(|e| log.place.io(e))?;
        log.place.remember();
        Ok(log)
    }

    pub(super) fn open_read_only(path: &Path) -> Result<Self, LedgerError> {
        let place = Place::find(path)?;
        let connection = schema::connect(&place.path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(|e| schema::explain(&place.path, &e))?;
        schema::check(&place.path, &connection)?;
        Ok(Self::over(connection, place))
    }

    fn over(connection: Connection, place: Place) -> Self {
        Self { connection, place, tip: Tip::START, batch: None, relaxed: false, relaxed_now: false }
    }

    pub(super) fn replay(&mut self, visit: Visit<'_>) -> Result<Tip, LedgerError> {
        // One snapshot of rows and head.
        let snapshot = self.connection.unchecked_transaction().map_err(|e| self.place.io(e))?;
        let mut tip = Tip::START;
        rows_after(&self.connection, &self.place, 0, &mut |row| {
            tip.follow(row).map_err(|broken| self.place.broken(broken))?;
            visit(row)
        })?;
        let (head, _) = head(&self.connection).map_err(|e| self.place.io(e))?;
        tip.ends_at(&head).map_err(|broken| self.place.broken(broken))?;
        snapshot.commit().map_err(|e| self.place.io(e))?;
        self.tip = tip;
        Ok(tip)
    }

    pub(super) fn begin(&mut self, after: i64) -> Result<Begun, LedgerError> {
        self.abandon();
        // Before it begins: within a transaction it cannot be changed.
        self.synchronous()?;
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|e| self.place.io(e))?;
        match self.catch_up(after) {
            Ok((begun, batch)) => {
                self.tip = batch.tip;
                self.batch = Some(batch);
                Ok(begun)
            }
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    /// What this process does not know is read and proven; what it knows must be there still.
    fn catch_up(&self, after: i64) -> Result<(Begun, Batch), LedgerError> {
        let place = &self.place;
        let (head, stored) = head(&self.connection).map_err(|e| place.io(e))?;
        // From where both the caller and the chain are known.
        let from = after.min(self.tip.id);
        let mut read = Read { from, hash: self.hash_of(from)?, head, rows: Vec::new() };
        rows_after(&self.connection, place, from, &mut |row| {
            read.rows.push(row.clone());
            Ok(())
        })?;
        let rows = read.prove(self.tip, after).map_err(|gap| match gap {
            Gap::Behind => LedgerError::Behind { place: place.shown(), seen: self.tip.id, found: head.id },
            Gap::Broken(broken) => place.broken(broken),
        })?;
        let reads = reads::all(&self.connection).map_err(|e| place.io(e))?;
        Ok((Begun { rows, now: now(), reads }, Batch { tip: head, stored }))
    }

    fn hash_of(&self, id: i64) -> Result<Option<[u8; 32]>, LedgerError> {
        self.connection
            .prepare_cached("SELECT hash FROM entries WHERE id = ?")
            .and_then(|mut s| s.query_row([id], |row| row.get(0)).optional())
            .map_err(|e| self.place.io(e))
    }

    pub(super) fn append(&mut self, body: String) -> Result<Row, LedgerError> {
        let batch = self.batch.as_mut().ok_or(LedgerError::NoBatch)?;
        let row = batch.tip.next(body);
        self.connection
            .prepare_cached("INSERT INTO entries (id, body, hash) VALUES (?, ?, ?)")
            .and_then(|mut s| s.execute(params![row.id, row.body, row.hash]))
            .map_err(|e| self.place.io(e))?;
        batch.tip = Tip::of(&row);
        Ok(row)
    }

    pub(super) fn put(
        &mut self,
        key: &[u8; 32],
        entry: i64,
        epoch: i64,
        bytes: Vec<u8>,
    ) -> Result<(), LedgerError> {
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

    pub(super) fn get(&mut self, key: &[u8; 32]) -> Result<Option<Kept>, LedgerError> {
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

    pub(super) fn forget(&mut self, what: Forget) -> Result<u64, LedgerError> {
        const RETURNING: &str = "RETURNING length(bytes)";
        match what {
            Forget::Key(key) => self.remove(&format!("DELETE FROM shelf WHERE key = ? {RETURNING}"), [key]),
            Forget::Before(epoch) => {
                self.remove(&format!("DELETE FROM shelf WHERE epoch < ? {RETURNING}"), [epoch])
            }
            Forget::All => self.remove(&format!("DELETE FROM shelf {RETURNING}"), []),
        }
    }

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

    pub(super) fn stored(&mut self) -> Result<u64, LedgerError> {
        self.batch.as_ref().map(|b| b.stored).ok_or(LedgerError::NoBatch)
    }

    pub(super) fn make_room(&mut self, cap: u64) -> Result<u64, LedgerError> {
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

    pub(super) fn commit(&mut self) -> Result<(), LedgerError> {
        let Batch { tip, stored } = self.batch.take().ok_or(LedgerError::NoBatch)?;
        let written = || -> rusqlite::Result<()> {
            let sql = "UPDATE head SET id = ?1, hash = ?2, stored = ?3 WHERE id <> ?1 OR stored <> ?3";
            let stored = i64::try_from(stored).unwrap_or(i64::MAX);
            self.connection.prepare_cached(sql)?.execute(params![tip.id, tip.hash, stored])?;
            self.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        };
        match written() {
            Ok(()) => {
                self.tip = tip;
                Ok(())
            }
            Err(error) => {
                let error = self.place.io(error);
                self.abandon();
                Err(error)
            }
        }
    }

    pub(super) fn abandon(&mut self) {
        self.batch = None;
        if !self.connection.is_autocommit() && self.connection.execute_batch("ROLLBACK").is_err() {
            // A connection that cannot even roll back is replaced, if it can be; else the next batch fails and
            // comes here again.
            if let Ok(connection) = schema::connect(&self.place.path, OpenFlags::SQLITE_OPEN_READ_WRITE) {
                self.connection = connection;
                self.relaxed_now = false;
                self.place.remember();
            }
        }
    }

    pub(super) fn in_place(&self) -> bool {
        self.place.is_as_remembered()
    }

    pub(super) fn tip(&self) -> Tip {
        self.tip
    }
}

fn head(connection: &Connection) -> rusqlite::Result<(Tip, u64)> {
    let mut head = connection.prepare_cached("SELECT id, hash, stored FROM head")?;
    head.query_row([], |row| Ok((Tip { id: row.get(0)?, hash: row.get(1)? }, bytes(row, 2)?)))
}

/// A number of bytes, which is never below zero.
fn bytes(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|n| u64::try_from(n).unwrap_or(0))
}

/// Shows every row after this one.
fn rows_after(
    connection: &Connection,
    place: &Place,
    after: i64,
    visit: &mut dyn FnMut(&Row) -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    let sql = |e: rusqlite::Error| place.io(e);
    let mut select = connection
        .prepare_cached("SELECT id, body, hash FROM entries WHERE id > ? ORDER BY id")
        .map_err(sql)?;
    let mut rows = select.query([after]).map_err(sql)?;
    while let Some(row) = rows.next().map_err(sql)? {
        let row = Row {
            id: row.get(0).map_err(sql)?,
            body: row.get(1).map_err(sql)?,
            hash: row.get(2).map_err(sql)?,
        };
        visit(&row)?;
    }
    Ok(())
}

/// The system's clock, in microseconds since 1970.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
