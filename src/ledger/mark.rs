//! The mark of a ledger, beside its file, or, for a ledger in a database, on this proxy's own disk (soundness rule 42).
//!
//! [`durable::Mark`] is what every book has; here is where a ledger's lies, and what its owner is told.

use super::error::LedgerError;
use super::faults::Mismatch;
use super::log::Tip;
use durable::{Fault, Seen};
use policy::{GivenFile, LedgerLocation};

/// The file.
pub(super) struct Mark {
    path: GivenFile,
    mark: durable::Mark,
}

impl Mark {
    /// Reads the mark of a ledger that is there.
    pub(super) fn find(location: &LedgerLocation, write: bool) -> Result<Self, LedgerError> {
        let path = path(location);
        let book = match location {
            LedgerLocation::Sqlite(file) => Some(file.reveal().as_path()),
            LedgerLocation::Postgres(_) => None,
        };
        let mark = durable::Mark::find(path.reveal(), book, write).map_err(|e| io(&path, &e))?;
        Ok(Self { path, mark })
    }

    /// Contents, if they can be read.
    pub(super) fn seen(&self) -> Option<Seen> {
        self.mark.seen
    }

    /// The end that it knows.
    pub(super) fn tip(&self) -> Option<Tip> {
        self.mark.seen.map(|seen| Tip { id: seen.tip.id, hash: seen.tip.hash })
    }

    /// Says where the ledger ends now. Not waited for on disk, unless it is new.
    pub(super) fn write(&mut self, first: [u8; 32], tip: Tip, restored: i64) -> Result<(), LedgerError> {
        self.mark.write(first, end(tip), restored).map_err(|e| io(&self.path, &e))
    }

    /// Whether what is written can be found again.
    pub(super) fn in_place(&self) -> bool {
        self.mark.in_place()
    }

    /// Whether the ledger that was found is the one that was marked ([`durable::Mark::check`]), in words.
    pub(super) fn check(
        &self,
        place: &str,
        first: [u8; 32],
        found: (Tip, Option<[u8; 32]>),
        covered: impl FnOnce(&Seen) -> bool,
    ) -> Result<(), Mismatch> {
        let (place, mark) = (place.to_owned(), self.path.clone());
        self.mark.check(first, (end(found.0), found.1), covered).map_err(|fault| match fault {
            Fault::Missing { why } => Mismatch::Missing { place, mark, why },
            Fault::Other => Mismatch::Other { place, mark },
            Fault::Behind { expected, found } => Mismatch::Behind { place, expected, found },
            Fault::Copy => Mismatch::Copy { place },
        })
    }
}

fn end(Tip { id, hash }: Tip) -> durable::Tip {
    durable::Tip { id, hash }
}

/// Path of a ledger's mark.
pub(super) fn path(location: &LedgerLocation) -> GivenFile {
    let name = beside(location);
    match location {
        LedgerLocation::Sqlite(_) => name.and("-mark"),
        LedgerLocation::Postgres(_) => name,
    }
}

/// A file on this machine that is the ledger's alone, which the names of others that belong to it begin with.
pub fn beside(location: &LedgerLocation) -> GivenFile {
    match location {
        LedgerLocation::Sqlite(file) => {
            // By whatever name it is opened, a file has one mark. One that is not there yet has its folder.
            file.clone().map(|file| match (file.canonicalize(), file.parent(), file.file_name()) {
                (Ok(found), ..) => found,
                (Err(_), Some(folder), Some(name)) if !folder.as_os_str().is_empty() => {
                    folder.canonicalize().map_or_else(|_| file.clone(), |folder| folder.join(name))
                }
                _ => file,
            })
        }
        LedgerLocation::Postgres(database) => database.mark.clone(),
    }
}

fn io(path: &GivenFile, cause: &std::io::Error) -> LedgerError {
    LedgerError::Io { path: path.to_owned(), cause: cause.to_string() }
}
