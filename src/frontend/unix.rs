//! Unix sockets as PostgreSQL has them: `.s.PGSQL.<port>` in a folder, with a lock file beside it that says whose
//! it is.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use tokio::net::UnixListener;

/// A bound socket's files, removed on drop.
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode: what somebody else put in its place is not ours to remove.
    id: (u64, u64),
    // Goes last.
    _lock: Lock,
}

/// The lock file, held by flock: the kernel drops the lock of a process that died, however it died.
struct Lock {
    path: PathBuf,
    _file: File,
}

/// Binds the socket at `path`. A stale one, which nobody answers at, is replaced; a live one is an error.
pub fn bind(path: &Path, port: u16, mode: u32) -> io::Result<(UnixListener, SocketFile)> {
    let lock = lock(path, port)?;
    remove_stale(path)?;
    let listener = UnixListener::bind(path)?;
    let id = std::fs::symlink_metadata(path).map(|m| (m.dev(), m.ino()))?;
    // From here on the files go with this value, whatever happens.
    let file = SocketFile { path: path.to_owned(), id, _lock: lock };
    std::fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok((listener, file))
}

fn in_use(path: &Path) -> io::Error {
    let why = format!("another program listens at {}", path.display());
    io::Error::new(ErrorKind::AddrInUse, why)
}

fn lock(socket: &Path, port: u16) -> io::Result<Lock> {
    let mut path = socket.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    loop {
        let mut file = open_lock(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(socket)),
            Err(TryLockError::Error(e)) => return Err(e),
        }
        // A process that ends removes the file it holds: then this is the lock of a file without a name.
        let same = std::fs::metadata(&path).and_then(|named| {
            let held = file.metadata()?;
            Ok((named.dev(), named.ino()) == (held.dev(), held.ino()))
        });
        if !same.unwrap_or(false) {
            continue;
        }
        // As PostgreSQL writes it: process id, folder of the data, start, port, folder of the socket. A PostgreSQL
        // that is told to use the same socket reads it, and leaves the socket alone while the process lives.
        let folder = socket.parent().unwrap_or(Path::new("/")).display();
        let start = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_secs());
        let text = format!("{}\n{folder}\n{start}\n{port}\n{folder}\n", std::process::id());
        file.set_len(0)?;
        file.write_all(text.as_bytes())?;
        return Ok(Lock { path, _file: file });
    }
}

/// Opens the lock file, or makes it. In a folder where anybody may write (`/tmp`) somebody may have put a link in its place, to a
/// file that we would overwrite.
fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).map_err(io::Error::other)?);
    let wrong = |what: &str| {
        io::Error::new(ErrorKind::AlreadyExists, format!("{} is {what}: remove it", path.display()))
    };
    let file = options.open(path).map_err(|e| match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => wrong("a symbolic link, and no lock file"),
        _ => e,
    })?;
    let found = file.metadata()?;
    // While another process removes it, it has no name.
    if !found.is_file() || found.nlink() > 1 {
        return Err(wrong("another file, and no lock file"));
    }
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

fn remove_stale(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
        Ok(found) if !found.file_type().is_socket() => {
            let why = format!("{} is there already, and is no socket", path.display());
            return Err(io::Error::new(ErrorKind::AlreadyExists, why));
        }
        Ok(_) => {}
    }
    // Not everybody who listens takes our lock: ask.
    match UnixStream::connect(path) {
        Ok(_) => Err(in_use(path)),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        // A full queue, for one, is a sign of life.
        Err(_) => Err(in_use(path)),
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = std::fs::symlink_metadata(&self.path).is_ok_and(|m| (m.dev(), m.ino()) == self.id);
        if ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Before the lock is given up: who comes next makes a new file.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn stale_sockets_are_replaced_and_live_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".s.PGSQL.6432");
        let lock = folder.path().join(".s.PGSQL.6432.lock");
        let (listener, file) = bind(&path, 6432, 0o700).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        let written = std::fs::read_to_string(&lock).unwrap();
        assert_eq!(written.lines().next(), Some(std::process::id().to_string().as_str()));
        assert_eq!(written.lines().nth(3), Some("6432"));
        assert_eq!(bind(&path, 6432, 0o700).err().unwrap().kind(), ErrorKind::AddrInUse);
        drop((listener, file));
        assert!(!path.exists() && !lock.exists());

        // What a process leaves behind that died: a socket nobody answers at, and a lock nobody holds.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        std::fs::write(&lock, "1\n").unwrap();
        assert!(path.exists());
        drop(bind(&path, 6432, 0o777).unwrap());
        assert!(!path.exists() && !lock.exists());

        // Somebody who listens without our lock.
        let other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(bind(&path, 6432, 0o777).err().unwrap().kind(), ErrorKind::AddrInUse);
        assert!(path.exists(), "it is not ours");
        drop(other);

        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "a file").unwrap();
        assert!(bind(&path, 6432, 0o777).err().unwrap().to_string().contains("is no socket"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a file");
    }

    #[tokio::test]
    async fn a_link_in_the_place_of_the_lock_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join(".s.PGSQL.6432"), folder.path().join("victim"));
        let lock = folder.path().join(".s.PGSQL.6432.lock");
        std::fs::write(&victim, "precious").unwrap();
        for link in
            [std::os::unix::fs::symlink::<&Path, &Path>, |a: &Path, b: &Path| std::fs::hard_link(a, b)]
        {
            link(&victim, &lock).unwrap();
            let refused = bind(&path, 6432, 0o700).err().unwrap();
            assert!(refused.to_string().contains("no lock file: remove it"), "{refused}");
            assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
            std::fs::remove_file(&lock).unwrap();
        }
        // Nobody else reads it, whatever it was.
        std::fs::write(&lock, "1\n").unwrap();
        std::fs::set_permissions(&lock, Permissions::from_mode(0o666)).unwrap();
        let bound = bind(&path, 6432, 0o700).unwrap();
        assert_eq!(std::fs::metadata(&lock).unwrap().mode() & 0o777, 0o600);
        drop(bound);
    }

    #[tokio::test]
    async fn what_somebody_else_put_in_our_place_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".s.PGSQL.1");
        let bound = bind(&path, 1, 0o777).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "theirs").unwrap();
        drop(bound);
        assert!(path.exists());
    }
}
