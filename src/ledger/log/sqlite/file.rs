//! The file's place: the lock on it, and whether it is still what is open.

use crate::error::LedgerError;
use policy::GivenFile;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

/// Device and inode of a file.
type FileId = (u64, u64);

/// The files that this process serves from.
static HELD: Mutex<BTreeSet<FileId>> = Mutex::new(BTreeSet::new());

/// A file that nobody else serves from, by whatever name: what is locked (by flock) is the inode.
///
/// SQLite's own locks are of another kind (POSIX), and neither sees the other; but closing any handle on a file drops this
/// process's POSIX locks on it. So the handle is closed after the connection is, and none is opened where this process has
/// one already.
struct Lock {
    id: FileId,
    file: File,
}

impl Lock {
    fn take(path: &GivenFile) -> Result<Self, LedgerError> {
        let found = std::fs::metadata(path).map_err(|e| io(path, e))?;
        if !found.is_file() {
            return Err(io(path, "it is no file"));
        }
        if found.nlink() > 1 {
            return Err(LedgerError::Linked(path.to_owned()));
        }
        let (id, in_use) = ((found.dev(), found.ino()), || LedgerError::InUse(path.to_owned()));
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if held.contains(&id) {
            return Err(in_use());
        }
        let file = File::open(path).map_err(|e| io(path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use()),
            Err(TryLockError::Error(e)) => return Err(io(path, e)),
        }
        // Not one that was put there meanwhile.
        if file_id(file.metadata()) != Some(id) {
            return Err(io(path, "it was replaced while it was opened"));
        }
        held.insert(id);
        Ok(Self { id, file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A child that is being started has every handle until it runs its program.
        let _ = self.file.unlock();
        HELD.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

fn file_id(found: std::io::Result<std::fs::Metadata>) -> Option<FileId> {
    found.ok().map(|found| (found.dev(), found.ino()))
}

/// Place of the ledger.
pub(super) struct Place {
    pub(super) path: GivenFile,
    /// The files that the connection has open.
    files: [Option<FileId>; 2],
    /// Held for as long as the log lives.
    lock: Option<Lock>,
}

impl Place {
    /// The file must be there.
    pub(super) fn find(path: &GivenFile) -> Result<Self, LedgerError> {
        match std::fs::canonicalize(path) {
            Ok(found) => Ok(Self { path: path.clone().map(|_| found), files: [None; 2], lock: None }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(LedgerError::Missing(path.to_owned())),
            Err(e) => Err(io(path, e)),
        }
    }

    /// Takes the lock.
    pub(super) fn lock(&mut self) -> Result<(), LedgerError> {
        self.lock = Some(Lock::take(&self.path)?);
        Ok(())
    }

    /// What is at the places of the ledger and of its WAL now.
    fn found(&self) -> [Option<FileId>; 2] {
        [self.path.clone(), self.path.and("-wal")].map(|place| file_id(std::fs::metadata(place)))
    }

    /// The connection has just been made.
    pub(super) fn remember(&mut self) {
        self.files = self.found();
    }

    /// Whether the file is the one that was opened. SQLite does not notice a file that is moved
    /// away or replaced, and rows that are written then are lost after a restart.
    pub(super) fn is_as_remembered(&self) -> bool {
        self.files.iter().all(Option::is_some) && self.files == self.found()
    }

    pub(super) fn shown(&self) -> String {
        self.path.to_string()
    }

    pub(super) fn io(&self, cause: impl std::fmt::Display) -> LedgerError {
        io(&self.path, cause)
    }
}

pub(super) fn io(path: &GivenFile, cause: impl std::fmt::Display) -> LedgerError {
    LedgerError::Io { path: path.to_owned(), cause: cause.to_string() }
}
