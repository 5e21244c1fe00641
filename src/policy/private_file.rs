//! Files of secrets: nobody but their owner reads them.

use super::given::Given;
use std::path::PathBuf;

/// The bytes of a file of at most `most` bytes; `what` is how errors call it, such as "the key file".
///
/// # Errors
/// It cannot be read, is too large, or others than its owner can read it. Never a part of it.
pub fn private_file(file: &Given<PathBuf>, what: &str, most: u64) -> Result<Vec<u8>, String> {
    let (shown, file) = (file, file.reveal());
    let unreadable = |e: std::io::Error| format!("{what} {shown} cannot be read: {e}");
    let of = std::fs::metadata(file).map_err(unreadable)?;
    if !of.is_file() || of.len() > most {
        return Err(format!("{what} {shown} is not a file of at most {most} bytes"));
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&of.permissions()) & 0o077 != 0 {
        return Err(format!("{what} {shown} can be read by others; run chmod 600 {shown}"));
    }
    std::fs::read(file).map_err(unreadable)
}
