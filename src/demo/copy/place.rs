//! Places of private copies: a folder that is this user's alone to write, and that the server can
//! pass through.

use super::Error;
use crate::folder::{may_pass, server_user};
use crate::user::whoami;
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// `noisegate/postgresql` in the user's cache folder, made where it is not there.
///
/// A server that root starts runs as another user, who cannot enter root's home: root's cache is in `/var/cache`,
/// unless `XDG_CACHE_HOME` names a place that both can use.
///
/// # Errors
/// No place can be used.
pub(super) fn folder() -> Result<PathBuf, Error> {
    let uid = whoami()?;
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let usual = if uid == 0 { Some(PathBuf::from("/var/cache")) } else { home };
    let mut why = Vec::new();
    for cache in named.into_iter().chain(usual) {
        match prepare(&cache, uid) {
            Ok(folder) => return Ok(folder),
            Err(reason) => why.push(format!("{}: {reason}", cache.display())),
        }
    }
    if why.is_empty() {
        why.push("neither XDG_CACHE_HOME nor HOME is set".to_owned());
    }
    Err(Error::NoCopy { why })
}

fn prepare(cache: &Path, uid: u32) -> Result<PathBuf, String> {
    let said = |e: std::io::Error| e.to_string();
    let mut folder = cache.to_owned();
    for name in ["noisegate", "postgresql"] {
        folder.push(name);
        DirBuilder::new().recursive(true).mode(0o755).create(&folder).map_err(said)?;
        let found = folder.metadata().map_err(said)?;
        // Programs are run from here: nobody else may put them here.
        if found.uid() != uid {
            return Err(format!("{} belongs to user {}", folder.display(), found.uid()));
        }
        if found.mode() & 0o022 != 0 {
            return Err(format!("others can write to {}", folder.display()));
        }
        if uid == 0 && found.mode() & 0o055 != 0o055 {
            // A strict umask.
            std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).map_err(said)?;
        }
    }
    let folder = folder.canonicalize().map_err(said)?;
    if uid == 0 {
        let server = server_user().map_err(|e| e.to_string())?;
        if !may_pass(&folder, server) {
            return Err("the user that PostgreSQL runs as cannot get there".to_owned());
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let (uid, parent) = (whoami().unwrap(), dir.path().join("noisegate"));
        let made = prepare(dir.path(), uid).unwrap();
        assert_eq!(made, parent.join("postgresql").canonicalize().unwrap());
        for place in [&made, &parent] {
            std::fs::set_permissions(place, PermissionsExt::from_mode(0o777)).unwrap();
            assert!(prepare(dir.path(), uid).unwrap_err().contains("others can write"));
            std::fs::set_permissions(place, PermissionsExt::from_mode(0o755)).unwrap();
        }
        assert!(prepare(dir.path(), uid + 1).unwrap_err().contains("belongs to"));
    }

    #[test]
    fn root_needs_a_folder_that_the_server_can_enter() {
        let uid = whoami().unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o700)).unwrap();
        let found = prepare(dir.path(), uid);
        assert_eq!(found.is_err(), uid == 0, "{found:?}");
    }
}
