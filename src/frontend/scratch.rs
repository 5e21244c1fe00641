//! A session's file for rows that do not fit into memory.
//!
//! It has no name and belongs to this process alone (`O_TMPFILE`, or unlinked when it is made):
//! nobody else can open it, and it is gone when nothing of it is needed any more, or the process
//! ends.

use super::budget::{Account, Held};
use answer::{ClientError, SqlState};
use bytes::Bytes;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// 53100: no room on disk.
const DISK_FULL: SqlState = SqlState(*b"53100");

/// The file, made when it is needed first. Clones name the same one.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    account: Account,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    file: Option<Arc<File>>,
    end: u64,
    /// What it takes of its session's share of the disk.
    held: Option<Held>,
    /// Parts of it that are needed.
    parts: usize,
}

/// A part of the file. The last of them that is dropped takes the file with it.
#[derive(Debug)]
pub(super) struct Part {
    scratch: Scratch,
    at: u64,
    length: usize,
}

impl Scratch {
    /// A file that grows for as long as the account lasts.
    pub fn new(account: Account) -> Self {
        Self { account, inner: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes at the end; None where nothing is left of the account.
    pub async fn write(&self, bytes: Bytes) -> Result<Option<Part>, ClientError> {
        let part = {
            let mut inner = self.lock();
            let taken = match &mut inner.held {
                Some(held) => held.grow(bytes.len()),
                none => self.account.hold(bytes.len()).map(|held| *none = Some(held)),
            };
            if taken.is_err() {
                return Ok(None);
            }
            let (at, end) = (inner.end, inner.end.saturating_add(bytes.len() as u64));
            (inner.end, inner.parts) = (end, inner.parts + 1);
            Part { scratch: self.clone(), at, length: bytes.len() }
        };
        let (scratch, at) = (self.clone(), part.at);
        let write = move || scratch.file()?.write_all_at(&bytes, at);
        blocking(write).await.map_err(|e| failed(&e))?;
        Ok(Some(part))
    }

    fn file(&self) -> io::Result<Arc<File>> {
        let mut inner = self.lock();
        if let Some(file) = &inner.file {
            return Ok(file.clone());
        }
        let file = tempfile::tempfile()?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        Ok(inner.file.insert(Arc::new(file)).clone())
    }
}

impl Part {
    /// Bytes that were written.
    pub async fn read(&self) -> Result<Bytes, ClientError> {
        let (scratch, at, mut buffer) = (self.scratch.clone(), self.at, vec![0; self.length]);
        let read = move || scratch.file()?.read_exact_at(&mut buffer, at).map(|()| buffer);
        blocking(read).await.map(Bytes::from).map_err(|e| failed(&e))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let mut inner = self.scratch.lock();
        inner.parts = inner.parts.saturating_sub(1);
        if inner.parts == 0 {
            *inner = Inner::default();
        }
    }
}

/// File work, away from the threads that serve clients.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| Err(io::Error::other(e)))
}

fn failed(e: &io::Error) -> ClientError {
    let message = "rows could not be kept in a temporary file";
    if e.kind() == io::ErrorKind::StorageFull {
        tracing::error!(error = %e, "no room for rows that clients have not asked for yet");
        return ClientError::new(DISK_FULL, message)
            .hint("Ask for fewer rows, or try again later; the operator makes room, or sets TMPDIR.");
    }
    ClientError::incident(SqlState::IO_ERROR, message, e)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::budget::testing::accounts;

    #[tokio::test]
    async fn parts_share_one_file_which_goes_with_the_last() {
        let scratch = Scratch::new(accounts(0, 10).disk);
        let first = scratch.write(Bytes::from_static(b"12345")).await.unwrap().unwrap();
        let second = scratch.write(Bytes::from_static(b"678")).await.unwrap().unwrap();
        assert!(scratch.write(Bytes::from_static(b"901")).await.unwrap().is_none(), "beyond the limit");
        assert_eq!(second.read().await.unwrap(), "678");
        drop(second);
        assert_eq!(first.read().await.unwrap(), "12345");
        drop(first);
        assert!(scratch.lock().file.is_none() && scratch.lock().end == 0);
        assert_eq!(scratch.account.taken(), 0);
        assert!(scratch.write(Bytes::from_static(b"0123456789")).await.unwrap().is_some());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn nobody_else_can_open_the_file() {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        let scratch = Scratch::new(accounts(0, 10).disk);
        let _part = scratch.write(Bytes::from_static(b"12345")).await.unwrap().unwrap();
        let file = scratch.file().unwrap();
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.nlink(), metadata.mode() & 0o077), (0, 0), "no name, and no rights for others");
        let link = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
        assert!(link.to_string_lossy().ends_with("(deleted)"), "{}", link.display());
    }
}
