//! Folders of PostgreSQL's server programs on this machine.

use super::Error;
use super::error::Remedy;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The oldest major version that noisegate works with.
pub const OLDEST: u32 = 13;

/// A folder that holds `postgres` and `initdb` of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binaries {
    dir: PathBuf,
    major: u32,
}

impl Binaries {
    /// The first of these folders that holds a usable version, else what `otherwise` gives.
    ///
    /// # Errors
    ///
    /// [`Error::NoBinaries`] when there is none; it names those that are too old.
    pub fn first_of(
        places: impl Iterator<Item = PathBuf>,
        otherwise: impl FnOnce() -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        let mut unusable = Vec::new();
        for dir in places.filter(|d| d.join("postgres").is_file() && d.join("initdb").is_file()) {
            match Self::in_dir(&dir) {
                Ok(found) => return Ok(found),
                Err(why) => unusable.push(why.to_string()),
            }
        }
        otherwise().map_err(|why| Error::NoBinaries { unusable, copy: Box::new(why), remedy: remedy() })
    }

    /// The programs in this folder.
    ///
    /// # Errors
    ///
    /// [`Error::BadBinaries`] when one is missing, does not run, or is older than [`OLDEST`].
    pub fn in_dir(dir: &Path) -> Result<Self, Error> {
        let bad = |why: String| Error::BadBinaries { dir: dir.to_owned(), why };
        if !dir.join("initdb").is_file() {
            return Err(bad("there is no initdb in it".to_owned()));
        }
        let text = output(&dir.join("postgres"), "--version").map_err(|e| bad(format!("postgres: {e}")))?;
        let major = major_version(&text).ok_or_else(|| bad(format!("unknown version {:?}", text.trim())))?;
        if major < OLDEST {
            return Err(bad(format!("it is version {major}; {OLDEST} or newer is needed")));
        }
        Ok(Self { dir: dir.to_owned(), major })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The major version.
    pub fn major(&self) -> u32 {
        self.major
    }

    /// The path of one of the programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

fn output(program: &Path, arg: &str) -> std::io::Result<String> {
    let out = Command::new(program).arg(arg).stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// `15` out of `postgres (PostgreSQL) 15.7 (Debian 15.7-0+deb12u1)`, or of `… 18beta1`.
fn major_version(text: &str) -> Option<u32> {
    let version = text.split_once("(PostgreSQL) ")?.1;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

pub(super) fn pg_config_bindir() -> Option<PathBuf> {
    let dir = output(Path::new("pg_config"), "--bindir").ok()?;
    (!dir.trim().is_empty()).then(|| PathBuf::from(dir.trim()))
}

/// The folders in which distributions keep one version beside another, newest first. `root` is `/` but in tests.
pub(super) fn versioned(root: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = [
        ("usr/lib/postgresql", ""),          // Debian, Ubuntu
        ("usr", "pgsql-"),                   // Red Hat (PGDG)
        ("opt/homebrew/opt", "postgresql@"), // Homebrew on Apple silicon
        ("usr/local/opt", "postgresql@"),    // Homebrew on Intel
    ]
    .into_iter()
    .flat_map(|(parent, prefix)| {
        let entries = std::fs::read_dir(root.join(parent)).into_iter().flatten().flatten();
        entries.filter_map(move |entry| {
            let version = entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
    })
    .collect();
    found.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    let mut dirs: Vec<PathBuf> = found.into_iter().map(|(_, dir)| dir).collect();
    dirs.push(root.join("usr/bin")); // Red Hat's own package
    dirs
}

/// Whether this program is in `PATH`.
pub(super) fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
}

/// What installs a server here, and what a client that fetches a private copy of one, each a line for a shell.
fn remedy() -> Remedy {
    let root = super::user::whoami().is_ok_and(|uid| uid == 0);
    remedy_by(is_installed, if root { "" } else { "sudo " })
}

fn remedy_by(installed: impl Fn(&str) -> bool, sudo: &str) -> Remedy {
    if cfg!(target_os = "macos") {
        return Remedy { server: "brew install postgresql@18".to_owned(), client: None };
    }
    // How each is told what to do, the server's package, and that of pip.
    let known = [
        ("apt-get", "apt-get update && {}apt-get install -y", "postgresql", "python3-pip"),
        ("dnf", "dnf install -y", "postgresql-server", "python3-pip"),
        ("zypper", "zypper install -y", "postgresql-server", "python3-pip"),
        ("pacman", "pacman -S --noconfirm", "postgresql", "python-pip"),
        ("apk", "apk add", "postgresql", "npm"),
    ];
    match known.into_iter().find(|(tool, ..)| installed(tool)) {
        Some((_, install, server, client)) => {
            let install = format!("{sudo}{}", install.replace("{}", sudo));
            Remedy { server: format!("{install} {server}"), client: Some(format!("{install} {client}")) }
        }
        None => Remedy { server: "see postgresql.org/download".to_owned(), client: None },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn versions_are_read_as_distributions_print_them() {
        assert_eq!(major_version("postgres (PostgreSQL) 15.7 (Debian 15.7-0+deb12u1)\n"), Some(15));
        assert_eq!(major_version("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major_version("postgres (PostgreSQL) 9.6.24"), Some(9));
        assert_eq!(major_version("mysqld 8"), None);
    }

    #[test]
    fn versioned_folders_come_newest_first() {
        let root = tempfile::tempdir().unwrap();
        for dir in
            ["usr/lib/postgresql/9.6", "usr/lib/postgresql/13", "usr/lib/postgresql/17", "usr/pgsql-16"]
        {
            std::fs::create_dir_all(root.path().join(dir).join("bin")).unwrap();
        }
        let expected =
            ["usr/lib/postgresql/17/bin", "usr/pgsql-16/bin", "usr/lib/postgresql/13/bin", "usr/bin"];
        assert_eq!(versioned(root.path()), expected.map(|d| root.path().join(d)));
    }

    #[test]
    fn who_has_no_server_is_told_how_to_get_one_or_a_copy() {
        let here = |sudo| remedy_by(|tool| tool == "apt-get", sudo).to_string();
        let root = here("");
        assert!(root.contains("install one:  apt-get update && apt-get install -y postgresql\n"), "{root}");
        assert!(root.contains("pip or npm") && root.ends_with("apt-get install -y python3-pip"), "{root}");
        let line = "sudo apt-get update && sudo apt-get install -y postgresql\n";
        assert!(here("sudo ").contains(line), "{}", here("sudo "));
        assert!(remedy_by(|_| false, "").to_string().contains("postgresql.org/download"));
    }

    #[test]
    fn without_a_server_the_error_names_the_line_that_installs_one() {
        let empty = tempfile::tempdir().unwrap();
        let places = || std::iter::once(empty.path().to_owned());
        let offline = || Err(Error::NoCopy { why: vec!["npm: is this machine offline?".to_owned()] });
        let error = Binaries::first_of(places(), offline).unwrap_err().to_string();
        assert!(error.contains(&remedy().server) && error.contains("offline?"), "{error}");
        let copy = Binaries { dir: "/copy".into(), major: 18 };
        assert_eq!(Binaries::first_of(places(), || Ok(copy.clone())).unwrap(), copy);
    }
}
