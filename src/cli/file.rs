//! Files as commands read them, and replace them: as a whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes `text` beside `path` and renames it there: a reader sees the old file or the new one. `private` files are
/// readable by their owner only; others keep the mode of the file they replace.
pub fn replace(path: &Path, text: &str, private: bool) -> io::Result<()> {
    let temporary = beside(path)?;
    let written = write(&temporary, path, text, private).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // What is left of it is of no use, and the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    // The rename itself is on disk once its folder is; where a folder cannot be opened so, the file is whole anyway.
    if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()).or(Some(Path::new(".")))
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Writes a file that its owner alone reads, as [`replace`] does.
///
/// # Errors
/// In words, with the file's name.
pub fn write_private(path: &Path, text: &str) -> Result<(), String> {
    replace(path, text, true).map_err(|e| format!("{} cannot be written: {e}", path.display()))
}

/// The text of a file, or of standard input for `-`.
///
/// # Errors
/// In words, with the file's name.
pub fn text(path: &Path) -> Result<String, String> {
    if path == Path::new("-") {
        return io::read_to_string(io::stdin().lock())
            .map_err(|e| format!("standard input cannot be read: {e}"));
    }
    fs::read_to_string(path).map_err(|e| format!("{} cannot be read: {e}", path.display()))
}

/// A name of this process's own in the same folder: a rename does not cross file systems.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let Some(name) = path.file_name() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a file's name"));
    };
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}", std::process::id()));
    Ok(path.with_file_name(hidden))
}

fn write(temporary: &Path, path: &Path, text: &str, private: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut file = options.open(temporary)?;
    if !private && let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_are_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        replace(&path, "one", false).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        replace(&path, "two", false).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o640);
        replace(&path, "three", true).unwrap();
        assert_eq!(mode(), 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
        assert!(replace(&folder.path().join("no/f"), "x", true).is_err());
        assert!(replace(Path::new("/"), "x", true).is_err());
    }
}
