//! A log and the books that it is read into: the one way by which either is written.

use super::books::{Body, Books, Entry};
use super::error::LedgerError;
use super::log::{self, Forget, Log, PrivateRead, ReadChange};
use super::reads;
use policy::LedgerLocation;

/// A log, its books, and the batch that is open, if one is.
pub(super) struct Keeper {
    pub(super) log: Box<dyn Log>,
    pub(super) books: Books,
    /// The clock of this batch.
    pub(super) now: i64,
    /// Reads of private rows, as this batch leaves them.
    pub(super) reads: Vec<PrivateRead>,
    /// This batch has something to commit.
    pub(super) wrote: bool,
    /// The books may have what the log has not, or the other way round: they are read anew before they are used.
    stale: bool,
}

impl Keeper {
    /// Reads a log that nobody else may serve from, if it is a file.
    pub(super) fn open(location: &LedgerLocation) -> Result<Self, LedgerError> {
        let mut books = Books::new();
        let log = log::open(location, &mut |row| Ok(books.apply(row)?))?;
        if matches!(location, LedgerLocation::Sqlite(_)) {
            books.alone();
        }
        Ok(Self::over(log, books))
    }

    /// Reads a log beside whoever serves from it.
    pub(super) fn read(location: &LedgerLocation) -> Result<Self, LedgerError> {
        let mut books = Books::new();
        let mut log = log::open_read_only(location)?;
        log.replay(&mut |row| Ok(books.apply(row)?))?;
        Ok(Self::over(log, books))
    }

    pub(super) fn over(log: Box<dyn Log>, books: Books) -> Self {
        Self { log, books, now: 0, reads: Vec::new(), wrote: false, stale: false }
    }

    /// Starts a batch, and takes what others wrote.
    pub(super) fn begin(&mut self, relaxed: bool) -> Result<(), LedgerError> {
        self.wrote = false;
        self.log.relax(relaxed);
        if self.stale {
            // A failure is rare: nobody keeps what would undo one.
            let mut books = Books::new();
            self.log.replay(&mut |row| Ok(books.apply(row)?))?;
            self.books = books;
            self.stale = false;
        }
        let begun = self.log.begin(self.books.head().id)?;
        for row in &begun.rows {
            self.take(|books| books.apply(row))?;
        }
        (self.now, self.reads) = (begun.now, begun.reads);
        Ok(())
    }

    /// Ends the batch: by a commit where there is something to write, and without it after an error. What is in the books
    /// after an error may not be on disk, and what is not may be: they are read anew.
    pub(super) fn end(&mut self, done: Result<(), LedgerError>) -> Result<(), LedgerError> {
        let ended = match done {
            Ok(()) if self.wrote => self.log.commit(),
            done => {
                self.log.abandon();
                done
            }
        };
        if ended.is_err() {
            self.log.abandon();
            self.stale |= self.books.head().id != self.log.tip().id;
        }
        ended
    }

    /// One batch of one entry, or of none.
    pub(super) fn write(
        &mut self,
        edit: impl FnOnce(&mut Books, i64) -> Result<Option<Entry>, LedgerError>,
    ) -> Result<(), LedgerError> {
        let done = self.begin(false).and_then(|()| edit(&mut self.books, self.now));
        let done = done.and_then(|entry| entry.map_or(Ok(()), |entry| self.append(&entry).map(drop)));
        self.end(done)
    }

    /// Writes an entry and takes it. Gives its number.
    pub(super) fn append(&mut self, entry: &Entry) -> Result<i64, LedgerError> {
        let body =
            entry.write().ok_or_else(|| LedgerError::Impossible("an entry cannot be written".into()))?;
        self.wrote = true;
        let row = self.log.append(body)?;
        self.take(|books| books.follow(&row, entry.clone()))?;
        if matches!(entry.what, Body::Epoch(_)) {
            self.log.forget(Forget::Before(self.epoch()))?;
        }
        Ok(row.id)
    }

    /// An entry that is refused may have left a part of itself.
    fn take(
        &mut self,
        entry: impl FnOnce(&mut Books) -> Result<(), super::books::Wrong>,
    ) -> Result<(), LedgerError> {
        let taken = entry(&mut self.books);
        self.stale |= taken.is_err();
        Ok(taken?)
    }

    /// Notes what happens to a read.
    pub(super) fn note(&mut self, change: ReadChange) -> Result<(), LedgerError> {
        reads::apply(&mut self.reads, &change);
        self.wrote = true;
        self.log.note(change)
    }

    /// As it is stored.
    pub(super) fn epoch(&self) -> i64 {
        i64::try_from(self.books.epoch()).unwrap_or(i64::MAX)
    }
}
