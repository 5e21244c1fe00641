//! A log, the books that it is read into, and the mark that follows it: the one way by which any of them is written.

use super::books::{Body, Books, Entry};
use super::error::LedgerError;
use super::faults::Mismatch;
use super::log::{self, Forget, GENESIS, Log, PrivateRead, ReadChange, Tip};
use super::mark::Mark;
use super::reads;
use policy::LedgerLocation;

/// A log, its books, its mark, and the batch that is open, if one is.
pub(super) struct Keeper {
    pub(super) log: Box<dyn Log>,
    pub(super) books: Books,
    mark: Mark,
    /// Hash of the first entry.
    first: [u8; 32],
    /// The mark could not be written after the last commit.
    unmarked: bool,
    /// Why the log did not fit the mark when it was opened.
    pub(super) mismatch: Option<Mismatch>,
    /// The clock of this batch.
    pub(super) now: i64,
    /// Reads of private rows, as this batch leaves them.
    pub(super) reads: Vec<PrivateRead>,
    /// The batch has something to commit.
    pub(super) wrote: bool,
    /// The books may have what the log has not, or the other way round: they are read anew before they are used.
    stale: bool,
}

impl Keeper {
    /// Reads a log that nobody else may serve from, if it is a file. One that does not fit its mark is refused.
    pub(super) fn open(location: &LedgerLocation) -> Result<Self, LedgerError> {
        let mut keeper = Self::open_unmarked(location)?;
        match keeper.mismatch.take() {
            // A proxy's first start on a ledger that others made, and have spent nothing of.
            Some(Mismatch::Missing { .. })
                if matches!(location, LedgerLocation::Postgres(_)) && keeper.books.is_unspent() =>
            {
                keeper.remark()?;
            }
            Some(mismatch) => return Err(mismatch.into()),
            None => {}
        }
        Ok(keeper)
    }

    /// The same for an owner, who has a way to go on from one that does not.
    pub(super) fn open_unmarked(location: &LedgerLocation) -> Result<Self, LedgerError> {
        let log = log::open(location)?;
        let mut keeper = Self::load(log, Mark::find(location, true)?, location)?;
        if matches!(location, LedgerLocation::Sqlite(_)) {
            keeper.books.alone();
        }
        Ok(keeper)
    }

    /// Reads a log beside a process that serves from it.
    pub(super) fn read(location: &LedgerLocation) -> Result<Self, LedgerError> {
        let log = log::open_read_only(location)?;
        Self::load(log, Mark::find(location, false)?, location)
    }

    /// The mark was read before the entries: it does not lead.
    pub(super) fn load(
        mut log: Box<dyn Log>,
        mark: Mark,
        location: &LedgerLocation,
    ) -> Result<Self, LedgerError> {
        let mut books = Books::new();
        let (mut first, mut at, marked) = (GENESIS, None, mark.seen().map(|seen| seen.tip.id));
        let tip = log.replay(&mut |row| {
            if row.id == 1 {
                first = row.hash;
            }
            if marked == Some(row.id) {
                at = Some(row.hash);
            }
            Ok(books.apply(row)?)
        })?;
        let mended = |seen: &durable::Seen| books.mended(seen.tip.id, seen.restored);
        let mismatch = mark.check(&format!("the ledger {location}"), first, (tip, at), mended).err();
        let (now, reads, wrote, stale, unmarked) = (0, Vec::new(), false, false, false);
        Ok(Self { log, books, mark, first, unmarked, mismatch, now, reads, wrote, stale })
    }

    /// Hash of the first entry.
    pub(super) fn first(&self) -> [u8; 32] {
        self.first
    }

    /// The mark's tip when this was opened.
    pub(super) fn seen(&self) -> Option<Tip> {
        self.mark.tip()
    }

    /// Has the mark say where the log ends.
    pub(super) fn remark(&mut self) -> Result<(), LedgerError> {
        let marked = self.mark.write(self.first, self.log.tip(), self.books.restored());
        self.unmarked = marked.is_err();
        marked
    }

    /// Whether what is written can be found again.
    pub(super) fn in_place(&self) -> bool {
        self.log.in_place() && self.mark.in_place()
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
        // The mark follows the commit and precedes every answer; where it could not, the next batch has it follow.
        let ended = match ended {
            Ok(()) if self.wrote || self.unmarked => self.remark(),
            ended => ended,
        };
        if ended.is_err() {
            self.log.abandon();
            self.stale |= self.books.head().id != self.log.tip().id;
        }
        ended
    }

    /// Writes a batch of one entry, or of none.
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
        match entry.what {
            Body::Epoch(_) => drop(self.log.forget(Forget::Before(self.epoch()))?),
            // What paid for a stored release may be among what was lost.
            Body::Restore(_) => drop(self.log.forget(Forget::All)?),
            _ => {}
        }
        Ok(row.id)
    }

    /// An entry that is refused may have left a part of itself.
    fn take(
        &mut self,
        entry: impl FnOnce(&mut Books) -> Result<(), super::faults::Wrong>,
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
