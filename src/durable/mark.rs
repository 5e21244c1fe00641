//! The mark of a book: number and hash of its last entry, kept outside of it (soundness rules 42 and 53).
//!
//! A chain of hashes proves that nothing in it was changed. That its end is not missing it cannot tell: an older copy, a
//! file without its WAL, or one from which somebody cut the last entries is whole. So each commit is followed by a write
//! to a small file beside the book, before any answer goes out. The mark may lag behind the book, because nobody waits until
//! it is on disk; it never leads.
//!
//! It has two slots of one sector each, which are written by turns and have a checksum: of a torn write the other is left.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// End of a book: the last entry's number, from 1, and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The number; 0 where there is no entry.
    pub id: i64,
    /// The hash.
    pub hash: [u8; 32],
}

/// Contents of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Hash of the book's first entry, which has its random identity.
    pub first: [u8; 32],
    /// The last entry.
    pub tip: Tip,
    /// The last entry by which an owner restored it; 0 where there is none.
    pub restored: i64,
    /// Number of the book's file; 0 for a database.
    pub inode: u64,
}

const SECTOR: usize = 512;
const SIZE: usize = 2 * SECTOR;
const MAGIC: [u8; 8] = *b"ngMARK01";
/// Magic, turn, first, id, hash, restored, inode.
const BODY: usize = 8 + 8 + 32 + 8 + 32 + 8 + 8;

impl Seen {
    fn write(&self, turn: u64) -> Vec<u8> {
        let mut slot = Vec::with_capacity(BODY + 32);
        slot.extend(MAGIC);
        slot.extend(turn.to_be_bytes());
        slot.extend(self.first);
        slot.extend(self.tip.id.to_be_bytes());
        slot.extend(self.tip.hash);
        slot.extend(self.restored.to_be_bytes());
        slot.extend(self.inode.to_be_bytes());
        let sum = Sha256::digest(&slot);
        slot.extend(sum);
        slot
    }

    fn read(slot: &[u8]) -> Option<(u64, Self)> {
        let (body, rest) = slot.split_at_checked(BODY)?;
        if rest.get(..32)? != Sha256::digest(body).as_slice() || body.get(..8)? != MAGIC {
            return None;
        }
        let number = |at: usize| Some(u64::from_be_bytes(body.get(at..at + 8)?.try_into().ok()?));
        let hash = |at: usize| body.get(at..at + 32)?.try_into().ok();
        let seen = Self {
            first: hash(16)?,
            tip: Tip { id: number(48)?.cast_signed(), hash: hash(56)? },
            restored: number(88)?.cast_signed(),
            inode: number(96)?,
        };
        Some((number(8)?, seen))
    }
}

/// Why a book does not fit its mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nobody knows where it ended: the mark is not there, or is damaged.
    Missing {
        /// "is not there", or what is wrong with it.
        why: &'static str,
    },
    /// The mark is that of another book.
    Other,
    /// Entries that were there are not.
    Behind {
        /// The number in the mark.
        expected: i64,
        /// "it ends with entry 7", or what else is wrong.
        found: String,
    },
    /// The book's file is not the one that was marked.
    Copy,
}

/// The file.
pub struct Mark {
    path: PathBuf,
    /// Of the book's file; 0 for a database.
    inode: u64,
    /// None where there is none yet. With its device and inode.
    file: Option<(File, (u64, u64))>,
    turn: u64,
    /// Other processes may write to it: owners' tools beside a running proxy.
    shared: bool,
    /// Contents, if they can be read.
    pub seen: Option<Seen>,
}

impl Mark {
    /// Reads the mark at `path`, where there is one. `book`: the book's file; None of a database, whose mark is shared.
    ///
    /// # Errors
    /// The mark cannot be read, or the book is not there.
    pub fn find(path: &Path, book: Option<&Path>, write: bool) -> io::Result<Self> {
        let inode = book.map_or(Ok(0), |file| std::fs::metadata(file).map(|m| m.ino()))?;
        let opened = File::options().read(true).write(write).open(path).and_then(known);
        let file = match opened {
            Ok(file) => Some(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        let mut mark =
            Self { path: path.to_owned(), inode, file, turn: 0, shared: book.is_none(), seen: None };
        mark.read()?;
        Ok(mark)
    }

    fn read(&mut self) -> io::Result<()> {
        let Some((file, _)) = &self.file else { return Ok(()) };
        let mut bytes = Vec::with_capacity(SIZE);
        let mut sector = [0; SECTOR];
        for at in [0, SECTOR as u64] {
            let n = file.read_at(&mut sector, at)?;
            bytes.extend(sector.iter().take(n));
        }
        let slots = bytes.chunks(SECTOR).filter_map(Seen::read);
        if let Some((turn, seen)) = slots.max_by_key(|(turn, _)| *turn) {
            (self.turn, self.seen) = (turn, Some(seen));
        }
        Ok(())
    }

    /// Says where the book ends now. Not waited for on disk, unless it is new.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&mut self, first: [u8; 32], tip: Tip, restored: i64) -> io::Result<()> {
        let seen = Seen { first, tip, restored, inode: self.inode };
        if self.shared {
            self.read()?;
        }
        if self.seen == Some(seen) {
            return Ok(());
        }
        let turn = self.turn.saturating_add(1);
        match &self.file {
            Some((file, _)) => file.write_all_at(&seen.write(turn), turn % 2 * SECTOR as u64)?,
            None => self.make(&seen.write(turn), turn % 2 * SECTOR as u64)?,
        }
        (self.turn, self.seen) = (turn, Some(seen));
        Ok(())
    }

    fn make(&mut self, slot: &[u8], at: u64) -> io::Result<()> {
        let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&self.path)?;
        file.set_len(SIZE as u64)?;
        file.write_all_at(slot, at)?;
        file.sync_all()?;
        let folder = self.path.parent().filter(|f| !f.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        self.file = Some(known(file)?);
        Ok(())
    }

    /// Whether what is written can be found again.
    pub fn in_place(&self) -> bool {
        self.file.as_ref().is_none_or(|(_, id)| {
            std::fs::metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == *id)
        })
    }

    /// Whether the book that was found is the one that was marked, and has all that it had. `at` is the hash of the entry
    /// with the number in the mark; `covered` says whether an owner has made up for what was lost between two entries.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn check(
        &self,
        first: [u8; 32],
        (tip, at): (Tip, Option<[u8; 32]>),
        covered: impl FnOnce(&Seen) -> bool,
    ) -> Result<(), Fault> {
        let Some(seen) = &self.seen else {
            let why = if self.file.is_some() { "is damaged" } else { "is not there" };
            return Err(Fault::Missing { why });
        };
        if seen.first != first {
            return Err(Fault::Other);
        }
        if at != Some(seen.tip.hash) && !covered(seen) {
            let found = match at {
                Some(_) => format!("another entry {} stands there", seen.tip.id),
                None => format!("it ends with entry {}", tip.id),
            };
            return Err(Fault::Behind { expected: seen.tip.id, found });
        }
        if seen.inode != self.inode {
            return Err(Fault::Copy);
        }
        Ok(())
    }
}

fn known(file: File) -> io::Result<(File, (u64, u64))> {
    let found = file.metadata()?;
    Ok((file, (found.dev(), found.ino())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_torn_slot_leaves_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let (book, path) = (folder.path().join("books.db"), folder.path().join("books.db-mark"));
        std::fs::write(&book, "").unwrap();
        let find = || Mark::find(&path, Some(&book), true).unwrap();
        let mut mark = find();
        assert_eq!(mark.seen, None);
        let tip = |id: i64| Tip { id, hash: [id as u8; 32] };
        for id in 1..=5 {
            mark.write([9; 32], tip(id), 0).unwrap();
            assert_eq!(find().seen.unwrap().tip, tip(id));
        }
        let bytes = std::fs::read(&mark.path).unwrap();
        assert_eq!(bytes.len(), SIZE);
        // The fifth is in the second slot: wherever it is torn, the fourth is left; without both there is none.
        for torn in [0, 9, 50, 130] {
            let mut bytes = bytes.clone();
            *bytes.get_mut(SECTOR + torn).unwrap() ^= 1;
            std::fs::write(&mark.path, &bytes).unwrap();
            assert_eq!(find().seen.unwrap().tip, tip(4));
            *bytes.get_mut(torn).unwrap() ^= 1;
            std::fs::write(&mark.path, &bytes).unwrap();
            assert_eq!(find().seen, None);
        }
        std::fs::write(&mark.path, &bytes).unwrap();
        // What goes back goes back: an owner has restored the ledger.
        mark.write([9; 32], tip(3), 3).unwrap();
        assert_eq!(find().seen.unwrap().tip, tip(3));
        assert!(mark.in_place());
        std::fs::rename(&mark.path, folder.path().join("away")).unwrap();
        assert!(!mark.in_place());
    }
}
