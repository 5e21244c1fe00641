//! A folder of files as a whole: what is kept of it, who may read it, and its digest.

use sha2::{Digest, Sha256};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Removes the files that are not wanted and the folders that are then empty; lets everybody read the rest, and run
/// what is in a folder `bin`. (Unpacking by Python forgets who may run what, and any umask may have been in force.)
pub(super) fn keep(root: &Path, wanted: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    prune(root, root, wanted)?;
    std::fs::set_permissions(root, Permissions::from_mode(0o755))
}

/// Whether anything is left.
fn prune(root: &Path, dir: &Path, wanted: &dyn Fn(&Path) -> bool) -> io::Result<bool> {
    let mut left = false;
    for entry in std::fs::read_dir(dir)? {
        let (path, kind) = entry.and_then(|e| Ok((e.path(), e.file_type()?)))?;
        if kind.is_dir() {
            if prune(root, &path, wanted)? {
                std::fs::set_permissions(&path, Permissions::from_mode(0o755))?;
                left = true;
            } else {
                std::fs::remove_dir(&path)?;
            }
        } else if !path.strip_prefix(root).is_ok_and(wanted) {
            std::fs::remove_file(&path)?;
        } else {
            if kind.is_file() {
                let mode = if dir.ends_with("bin") { 0o755 } else { 0o644 };
                std::fs::set_permissions(&path, Permissions::from_mode(mode))?;
            }
            left = true;
        }
    }
    Ok(left)
}

/// A digest of all names, links, contents and rights below `root`, but for the file `except` in it.
pub(super) fn digest(root: &Path, except: &str) -> io::Result<String> {
    let mut paths = Vec::new();
    list(root, &mut paths)?;
    paths.sort();
    let mut hash = Sha256::new();
    for path in paths {
        let name = path.strip_prefix(root).map_err(io::Error::other)?;
        if name == Path::new(except) {
            continue;
        }
        let found = path.symlink_metadata()?;
        let content = if found.is_symlink() {
            path.read_link()?.to_string_lossy().into_owned()
        } else {
            format!("{:o} {}", found.permissions().mode(), sha256(&path)?)
        };
        for part in [&*name.to_string_lossy(), &content] {
            hash.update(part.len().to_be_bytes());
            hash.update(part);
        }
    }
    Ok(hex(&hash.finalize()))
}

fn list(dir: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let (path, kind) = entry.and_then(|e| Ok((e.path(), e.file_type()?)))?;
        if kind.is_dir() {
            list(&path, paths)?;
        } else {
            paths.push(path);
        }
    }
    Ok(())
}

/// The hash of a file, in hexadecimal.
pub(super) fn sha256(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_tree_keeps_what_is_wanted_and_its_digest_knows_every_change() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for dir in ["a/bin", "a/include/deep"] {
            std::fs::create_dir_all(at(dir)).unwrap();
        }
        for file in ["a/bin/postgres", "a/share", "a/include/deep/c.h"] {
            std::fs::write(at(file), file).unwrap();
        }
        std::os::unix::fs::symlink("share", at("a/link")).unwrap();
        keep(root.path(), &|p| !p.starts_with("a/include")).unwrap();
        assert!(!at("a/include").exists());
        let mode = |name: &str| at(name).metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("a/bin/postgres"), mode("a/share"), mode("a")), (0o755, 0o644, 0o755));

        let first = digest(root.path(), "digest").unwrap();
        std::fs::write(at("digest"), &first).unwrap();
        assert_eq!(digest(root.path(), "digest").unwrap(), first);
        std::fs::set_permissions(at("a/bin/postgres"), Permissions::from_mode(0o644)).unwrap();
        assert_ne!(digest(root.path(), "digest").unwrap(), first);
        std::fs::set_permissions(at("a/bin/postgres"), Permissions::from_mode(0o755)).unwrap();
        std::fs::write(at("a/share"), "a/sharf").unwrap();
        assert_ne!(digest(root.path(), "digest").unwrap(), first);
        std::fs::remove_file(at("a/share")).unwrap();
        assert_ne!(digest(root.path(), "digest").unwrap(), first);
    }
}
