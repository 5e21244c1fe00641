//! The file's place: the lock beside it, and whether it is still what is open.

use crate::error::LedgerError;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Device and inode of a file, if it is there.
type FileId = Option<(u64, u64)>;

/// Where the ledger is.
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// The files that the connection has open.
    files: [FileId; 2],
    /// Held (by flock) for as long as the log lives, so that no second process serves from the same file. A file beside
    /// the ledger, because closing any handle on the ledger itself would drop SQLite's own locks on it.
    lock: Option<std::fs::File>,
}

impl Place {
    /// The file must be there.
    pub(super) fn find(path: &Path) -> Result<Self, LedgerError> {
        match path.canonicalize() {
            Ok(path) => Ok(Self { path, files: [None; 2], lock: None }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(LedgerError::Missing(path.to_owned())),
            Err(e) => Err(io(path, e)),
        }
    }

    /// Takes the lock beside the file.
    pub(super) fn lock(&mut self) -> Result<(), LedgerError> {
        let name = beside(&self.path, "-lock");
        let lock = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&name)
            .map_err(|e| io(&name, e))?;
        match lock.try_lock() {
            Ok(()) => {
                self.lock = Some(lock);
                Ok(())
            }
            Err(std::fs::TryLockError::WouldBlock) => Err(LedgerError::InUse(self.path.clone())),
            Err(std::fs::TryLockError::Error(e)) => Err(io(&name, e)),
        }
    }

    /// What is at the places of the ledger and of its WAL now.
    fn found(&self) -> [FileId; 2] {
        [self.path.clone(), beside(&self.path, "-wal")].map(|place| {
            let found = std::fs::metadata(place).ok()?;
            Some((found.dev(), found.ino()))
        })
    }

    /// The connection has just been made.
    pub(super) fn remember(&mut self) {
        self.files = self.found();
    }

    /// Who moves a file away or puts another in its place is not noticed by SQLite, and what is written then is not
    /// known after a restart.
    pub(super) fn is_as_remembered(&self) -> bool {
        self.files.iter().all(Option::is_some) && self.files == self.found()
    }

    pub(super) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    pub(super) fn io(&self, cause: impl std::fmt::Display) -> LedgerError {
        io(&self.path, cause)
    }
}

pub(super) fn io(path: &Path, cause: impl std::fmt::Display) -> LedgerError {
    LedgerError::Io { path: path.to_owned(), cause: cause.to_string() }
}

/// A file with the same name and something after it.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
