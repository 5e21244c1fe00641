//! A temporary folder that the watchdog removes, together with the server whose data is in it.

use super::Error;
use super::watchdog::{MARKER, Watchdog};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

/// A watched folder: gone when this value or this process is gone.
pub(super) struct Folder {
    dir: PathBuf,
    user: Option<Ids>,
    watchdog: Watchdog,
}

impl Folder {
    /// Makes the folder, with `data` and `private` in it, and starts its watchdog.
    pub(super) fn new(watchdog: &Path) -> Result<Self, Error> {
        let (dir, user) = make_folder()?;
        match Watchdog::start(watchdog, &dir) {
            Ok(watchdog) => Ok(Self { dir, user, watchdog }),
            Err(error) => {
                let _ = std::fs::remove_dir_all(&dir);
                Err(error)
            }
        }
    }

    /// Path of the folder. Others may pass through, not look.
    pub(super) fn path(&self) -> &Path {
        &self.dir
    }

    /// A folder in it that only the user of this process can read.
    pub(super) fn private(&self) -> PathBuf {
        self.dir.join("private")
    }

    /// User that a server in this folder runs as, if it is another than this process's.
    pub(super) fn user(&self) -> Option<Ids> {
        self.user
    }

    /// Ends the server in it and removes it. Nothing happens when called again.
    pub(super) fn remove(&mut self) -> Result<(), Error> {
        if self.watchdog.watches() { self.watchdog.finish() } else { Ok(()) }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!(%error, dir = %self.dir.display(), "a private server may be left behind");
        }
    }
}

/// User and group that the server runs as when this process is root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// A new folder, marked as ours, and who the server in it is to run as (`None`: as ourselves).
fn make_folder() -> Result<(PathBuf, Option<Ids>), Error> {
    let places = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    let mut refused = std::io::Error::from(std::io::ErrorKind::NotFound);
    for place in places {
        let Ok(place) = place.canonicalize() else { continue };
        let dir = place.join(format!("noisegate-{}", random_hex(6)?));
        // `create` fails where anything of this name exists: nobody else can have prepared it.
        match DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) => refused = error,
            Ok(()) => match furnish(&dir) {
                Ok(Some(user)) => return Ok((dir, user)),
                Ok(None) => {
                    let _ = std::fs::remove_dir_all(&dir);
                }
                Err(error) => {
                    let _ = std::fs::remove_dir_all(&dir);
                    return Err(error);
                }
            },
        }
    }
    Err(Error::io("cannot make a folder for the private server (set TMPDIR)")(refused))
}

/// Fills a new folder. `None` if the user that the server would run as cannot get there.
fn furnish(dir: &Path) -> Result<Option<Option<Ids>>, Error> {
    let failed = || Error::io(format!("cannot prepare {}", dir.display()));
    File::create(dir.join(MARKER)).map_err(failed())?;
    for name in ["private", "data"] {
        DirBuilder::new().mode(0o700).create(dir.join(name)).map_err(failed())?;
    }
    // Who owns what we just made is who we are: no call of getuid is needed.
    if dir.metadata().map_err(failed())?.uid() != 0 {
        return Ok(Some(None));
    }
    let user = server_user()?;
    std::fs::set_permissions(dir, Permissions::from_mode(0o711)).map_err(failed())?;
    chown(dir.join("data"), Some(user.uid), Some(user.gid)).map_err(failed())?;
    Ok(may_pass(dir, user).then_some(Some(user)))
}

/// Whether this user can get to the folder.
pub(super) fn may_pass(dir: &Path, user: Ids) -> bool {
    let open = |d: &Path| d.metadata().is_ok_and(|m| m.mode() & 0o001 != 0 || m.uid() == user.uid);
    dir.ancestors().all(open)
}

/// `postgres`, else `nobody`: initdb wants a user that has a name.
pub(super) fn server_user() -> Result<Ids, Error> {
    let passwd = std::fs::read_to_string("/etc/passwd").map_err(Error::io("cannot read /etc/passwd"))?;
    ["postgres", "nobody"].iter().find_map(|name| ids_of(&passwd, name)).ok_or(Error::NoServerUser)
}

fn ids_of(passwd: &str, name: &str) -> Option<Ids> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        // macOS writes nobody's ids as -2.
        let mut id = |skip| u32::try_from(fields.nth(skip)?.parse::<i64>().ok()? & 0xffff_ffff).ok();
        let (uid, gid) = (id(1)?, id(0)?);
        (uid != 0).then_some(Ids { uid, gid })
    })
}

/// Writes a file that nobody but its owner can read.
pub(super) fn write_private(path: &Path, text: &str, owner: Option<Ids>) -> Result<(), Error> {
    let failed = || Error::io(format!("cannot write {}", path.display()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed())?;
    file.write_all(text.as_bytes()).map_err(failed())?;
    if let Some(Ids { uid, gid }) = owner {
        chown(path, Some(uid), Some(gid)).map_err(failed())?;
    }
    Ok(())
}

/// Random hexadecimal digits, two for each byte: a password or a name that nobody guesses.
pub(super) fn random_hex(bytes: usize) -> Result<String, Error> {
    let mut buffer = vec![0u8; bytes];
    fill_random(&mut buffer)?;
    Ok(buffer.iter().map(|b| format!("{b:02x}")).collect())
}

/// Fills the buffer from the operating system.
pub(super) fn fill_random(buffer: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(buffer)
        .map_err(|e| Error::io("the operating system gives no random numbers")(std::io::Error::other(e)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ids_are_read_from_passwd() {
        let passwd =
            "root:x:0:0::/:/bin/sh\nnobody:*:-2:-2::/:/bin/false\npostgres:x:101:104:,,,:/:/bin/sh\n";
        let postgres = ids_of(passwd, "postgres").unwrap();
        assert_eq!((postgres.uid, postgres.gid), (101, 104));
        assert_eq!(ids_of(passwd, "nobody").unwrap().uid, u32::MAX - 1);
        assert!(ids_of(passwd, "root").is_none());
        assert!(ids_of(passwd, "ghost").is_none());
    }
}
