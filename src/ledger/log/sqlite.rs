//! The log in one SQLite file, for one process.
//!
//! WAL with `synchronous=FULL`: a commit is on disk when it returns, and costs one sync. A torn end of the WAL is cut
//! off by SQLite when the file is next opened (frames have checksums), which leaves the rows of whole commits only.

mod counts;
mod file;
mod reads;
mod schema;
mod shelf;

use super::chain::{Gap, Read, Row, Tip, Walk};
use super::contract::{Begun, Log, Visit};
use super::read::ReadChange;
use crate::error::LedgerError;
use crate::time::clock;
use counts::one;
use file::Place;
use policy::GivenFile;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

/// A log in a file.
pub struct Sqlite {
    /// Closed before the place's lock is.
    connection: Connection,
    place: Place,
    /// The last row that is known to be on disk.
    tip: Tip,
    /// Bytes of stored releases; None until they are counted.
    stored: Option<u64>,
    /// The batch that is open.
    batch: Option<Batch>,
    /// What batches are to be, and what the connection makes them.
    relaxed: bool,
    relaxed_now: bool,
}

/// Where the batch will have come to.
struct Batch {
    tip: Tip,
    /// Bytes of stored releases.
    stored: u64,
}

impl Sqlite {
    pub(super) fn create(path: &GivenFile, first: &[String]) -> Result<(), LedgerError> {
        schema::create(path, first)
    }

    pub(super) fn open(path: &GivenFile) -> Result<Self, LedgerError> {
        let mut place = Place::find(path)?;
        place.lock()?;
        let connection = schema::connect(&place.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        schema::check(&place.path, &connection)?;
        if connection.is_readonly("main").map_err(|e| place.io(e))? {
            return Err(place.io("the file is read-only"));
        }
        reads::table(&connection).map_err(|e| place.io(e))?;
        // Nobody else has the file open: whoever made these is gone.
        reads::forget_under_way(&connection).map_err(|e| place.io(e))?;
        let mut log = Self::over(connection, place);
        // The WAL is made by the first transaction; a disk without room is better noticed now.
        log.connection.execute_batch("BEGIN IMMEDIATE; COMMIT").map_err(|e| log.place.io(e))?;
        log.place.remember();
        Ok(log)
    }

    pub(super) fn open_read_only(path: &GivenFile) -> Result<Self, LedgerError> {
        let place = Place::find(path)?;
        let connection = schema::connect(&place.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        schema::check(&place.path, &connection)?;
        Ok(Self::over(connection, place))
    }

    fn over(connection: Connection, place: Place) -> Self {
        let (tip, stored, batch) = (Tip::START, None, None);
        Self { connection, place, tip, stored, batch, relaxed: false, relaxed_now: false }
    }

    /// What this process does not know is read and proven; what it knows must be there still.
    fn catch_up(&self, after: i64) -> Result<(Begun, Batch), LedgerError> {
        let place = &self.place;
        let sql = |e: rusqlite::Error| place.io(e);
        let last = last(&self.connection).map_err(sql)?;
        let mut rows = Vec::new();
        if (last, after) != (self.tip, self.tip.id) {
            // From where both the caller and the chain are known.
            let from = after.min(self.tip.id);
            let mut read = Read { from, hash: self.hash_of(from)?, head: last, rows };
            rows_after(&self.connection, place, from, &mut |row| {
                read.rows.push(row.clone());
                Ok(())
            })?;
            let seen = self.tip.id;
            rows = read.prove(self.tip, after).map_err(|gap| gap.error(place.shown(), seen, last.id))?;
        }
        let reads = reads::all(&self.connection).map_err(sql)?;
        let stored = self.stored.map_or_else(|| counts::stored(&self.connection), Ok).map_err(sql)?;
        Ok((Begun { rows, now: clock(), reads }, Batch { tip: last, stored }))
    }

    fn hash_of(&self, id: i64) -> Result<Option<[u8; 32]>, LedgerError> {
        self.connection
            .prepare_cached("SELECT hash FROM entries WHERE id = ?")
            .and_then(|mut s| s.query_row([id], |row| row.get(0)).optional())
            .map_err(|e| self.place.io(e))
    }

    /// Makes commits sync the log, or not: in WAL mode, `NORMAL` leaves that to the next commit that does.
    fn synchronous(&mut self) -> Result<(), LedgerError> {
        if self.relaxed != self.relaxed_now {
            let how = if self.relaxed { "NORMAL" } else { "FULL" };
            self.connection.pragma_update(None, "synchronous", how).map_err(|e| self.place.io(e))?;
            self.relaxed_now = self.relaxed;
        }
        Ok(())
    }
}

impl Log for Sqlite {
    fn replay(&mut self, visit: Visit<'_>) -> Result<Tip, LedgerError> {
        self.abandon();
        let (place, seen) = (&self.place, self.tip);
        // One snapshot.
        let snapshot = self.connection.unchecked_transaction().map_err(|e| place.io(e))?;
        let last = last(&self.connection).map_err(|e| place.io(e))?;
        let wrong = |gap: Gap| gap.error(place.shown(), seen.id, last.id);
        let mut walk = Walk::new(seen);
        rows_after(&self.connection, place, 0, &mut |row| {
            walk.follow(row).map_err(wrong)?;
            visit(row)
        })?;
        let tip = walk.end(&last).map_err(wrong)?;
        snapshot.commit().map_err(|e| place.io(e))?;
        self.tip = tip;
        Ok(tip)
    }

    fn begin(&mut self, after: i64) -> Result<Begun, LedgerError> {
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

    fn append(&mut self, body: String) -> Result<Row, LedgerError> {
        let batch = self.batch.as_mut().ok_or(LedgerError::NoBatch)?;
        let row = batch.tip.next(body);
        self.connection
            .prepare_cached("INSERT INTO entries (id, body, hash) VALUES (?, ?, ?)")
            .and_then(|mut s| s.execute(params![row.id, row.body, row.hash]))
            .and_then(one)
            .map_err(|e| self.place.io(e))?;
        batch.tip = Tip::of(&row);
        Ok(row)
    }

    fn note(&mut self, change: ReadChange) -> Result<(), LedgerError> {
        self.batch.as_ref().ok_or(LedgerError::NoBatch)?;
        reads::note(&self.connection, &change).map_err(|e| self.place.io(e))
    }

    fn relax(&mut self, relaxed: bool) {
        self.relaxed = relaxed;
    }

    fn commit(&mut self) -> Result<(), LedgerError> {
        let Batch { tip, stored } = self.batch.take().ok_or(LedgerError::NoBatch)?;
        // Until it is known what came of it.
        self.stored = None;
        let committed = self.connection.prepare_cached("COMMIT").and_then(|mut s| s.execute([]));
        match committed {
            Ok(_) => {
                (self.tip, self.stored) = (tip, Some(stored));
                Ok(())
            }
            Err(error) => {
                let error = self.place.io(error);
                self.abandon();
                Err(error)
            }
        }
    }

    fn abandon(&mut self) {
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

    fn in_place(&self) -> bool {
        self.place.is_as_remembered()
    }

    fn tip(&self) -> Tip {
        self.tip
    }
}

/// Where the rows end. That none is missing after it is the mark's to say.
fn last(connection: &Connection) -> rusqlite::Result<Tip> {
    let mut last = connection.prepare_cached("SELECT id, hash FROM entries ORDER BY id DESC LIMIT 1")?;
    let found = last.query_row([], |row| Ok(Tip { id: row.get(0)?, hash: row.get(1)? })).optional()?;
    Ok(found.unwrap_or(Tip::START))
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
