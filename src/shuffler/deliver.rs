//! A batch as a file: for an analyser on the same machine, or for whatever carries files to it.

use super::spool::Batch;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes a batch to a folder as `ID.batch`, durably: it is there whole or not at all. The same batch again leaves the same file.
///
/// # Errors
/// The file system's.
pub fn to_folder(folder: &Path, batch: &Batch) -> io::Result<()> {
    let name = batch.name();
    let (being, done) = (folder.join(format!(".{name}.part")), folder.join(format!("{name}.batch")));
    let mut file = File::create(&being)?;
    file.write_all(batch.text().as_bytes())?;
    file.sync_all()?;
    fs::rename(&being, &done)?;
    File::open(folder)?.sync_all()
}
