//! Finds PostgreSQL's server programs on this machine, or has a private copy made.

use super::binaries::{Binaries, pg_config_bindir, versioned};
use super::{Error, copy};
use std::path::Path;

/// Names the folder to take the server programs from, before any other place; or says [`PRIVATE`].
pub const OVERRIDE: &str = "NOISEGATE_PG_BIN";

/// The value of [`OVERRIDE`] with which installed programs are passed over: the private copy is used.
pub const PRIVATE: &str = "private";

impl Binaries {
    /// The first usable folder of: `NOISEGATE_PG_BIN`, `PATH`, `pg_config --bindir`, the versioned folders of
    /// Debian, Red Hat and Homebrew (newest version first); and else the private copy in this user's cache, which
    /// is downloaded if it is not there yet. Blocks.
    ///
    /// # Errors
    ///
    /// [`Error::NoBinaries`] when there is none, with the line that installs them; when `NOISEGATE_PG_BIN` is
    /// set, what is wrong with that folder, or with the private copy.
    pub fn find() -> Result<Self, Error> {
        match std::env::var_os(OVERRIDE) {
            None => {}
            Some(word) if word == PRIVATE => return Self::private(),
            Some(dir) => return Self::in_dir(Path::new(&dir)),
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::env::split_paths(&path).chain(pg_config_bindir()).chain(versioned(Path::new("/")));
        Self::first_of(places, Self::private)
    }

    /// The private copy in this user's cache, which is downloaded if it is not there yet. Blocks.
    ///
    /// # Errors
    ///
    /// [`Error::NoCopy`] with what each package client said.
    pub fn private() -> Result<Self, Error> {
        let [major, ..] = copy::MAJORS;
        copy::bin_dir(major)
    }
}
