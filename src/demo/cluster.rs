//! A private PostgreSQL server in a folder of its own, on loopback, for as long as the [`Cluster`] lives.

use super::folder::{Folder, Ids, fill_random, random_hex, write_private};
use super::{Binaries, Error, postmaster};
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Name of the superuser.
const SUPERUSER: &str = "postgres";

/// Below the range from which operating systems take the ports of outgoing connections: a port that is free now
/// stays free until the server has bound it, but for other servers.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

/// Ports to try.
const TRIES: usize = 20;

/// Options of a [`Cluster`].
#[derive(Clone, Debug)]
pub struct Options {
    /// The `noisegate` program, to be run as `noisegate watchdog`.
    pub watchdog: PathBuf,
    /// Server settings beside the launcher's own.
    pub settings: Vec<(String, String)>,
    /// Time that the server may take until it accepts connections.
    pub patience: Duration,
}

impl Options {
    /// The usual ones.
    pub fn new(watchdog: impl Into<PathBuf>) -> Self {
        Self { watchdog: watchdog.into(), settings: Vec::new(), patience: Duration::from_secs(60) }
    }
}

/// A running private server. Dropping it, or the end of the process by whatever cause, ends the server and
/// removes its folder.
pub struct Cluster {
    folder: Folder,
    port: u16,
    password: String,
    server: Option<Child>,
}

impl Cluster {
    /// Makes a folder, runs `initdb` and starts the server: loopback TCP only, a password for every login, no
    /// durability. Takes about a second. Started by root, the server runs as `postgres` or `nobody`.
    ///
    /// Blocks; in an async function, call it on a thread of its own.
    ///
    /// # Errors
    ///
    /// What failed, with the last lines of PostgreSQL's log where it has something to say.
    pub fn start(binaries: &Binaries, options: &Options) -> Result<Self, Error> {
        // From here on the watchdog removes the folder, whatever happens.
        let folder = Folder::new(&options.watchdog)?;
        let mut cluster = Self { folder, port: 0, password: random_hex(16)?, server: None };
        cluster.initdb(binaries)?;
        for _ in 0..TRIES {
            if cluster.try_port(binaries, options)? {
                return Ok(cluster);
            }
        }
        Err(Error::Server { what: format!("found no free port in {TRIES} tries"), log: cluster.log_tail() })
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The server's process id.
    pub fn server_pid(&self) -> Option<u32> {
        self.server.as_ref().map(Child::id)
    }

    /// The folder that is removed with the server. The server's data is in `data` below it.
    pub fn dir(&self) -> &Path {
        self.folder.path()
    }

    /// A folder below [`dir`](Self::dir) that only the user of this process can read.
    pub fn private_dir(&self) -> PathBuf {
        self.folder.private()
    }

    /// URL of the superuser for this database.
    pub fn superuser_url(&self, database: &str) -> String {
        self.url(SUPERUSER, &self.password, database)
    }

    /// URL of a login. The password must need no escaping in a URL.
    pub fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// The last lines of the server's log.
    pub fn log_tail(&self) -> String {
        let text = std::fs::read_to_string(self.dir().join("log")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.iter().skip(lines.len().saturating_sub(15)).map(|line| format!("  {line}\n")).collect()
    }

    /// Ends the server, removes the folder, and says whether both succeeded.
    ///
    /// # Errors
    ///
    /// [`Error::Watchdog`] when the server does not end or the folder cannot be removed.
    pub fn stop(mut self) -> Result<(), Error> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Error> {
        let done = self.folder.remove();
        if let Some(mut server) = self.server.take() {
            let _ = if done.is_ok() { server.wait().map(drop) } else { server.kill() };
        }
        done
    }

    fn initdb(&self, binaries: &Binaries) -> Result<(), Error> {
        let password_file = self.dir().join("password");
        write_private(&password_file, &self.password, self.folder.user())?;
        let mut command = server_command(&binaries.program("initdb"), self.folder.user());
        command
            .arg("-D")
            .arg(self.dir().join("data"))
            .args([
                "-U",
                SUPERUSER,
                "-A",
                "scram-sha-256",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
                "--pwfile",
            ])
            .arg(&password_file);
        let out = command.output().map_err(Error::io("cannot run initdb"))?;
        let _ = std::fs::remove_file(&password_file);
        if out.status.success() {
            return Ok(());
        }
        let output = [out.stdout, out.stderr].concat();
        Err(Error::InitDb { output: String::from_utf8_lossy(&output).into_owned() })
    }

    /// Starts the server on a port that looks free. `false` if somebody else took it.
    fn try_port(&mut self, binaries: &Binaries, options: &Options) -> Result<bool, Error> {
        let Some(port) = free_port()? else { return Ok(false) };
        let data = self.dir().join("data");
        let log_path = self.dir().join("log");
        let log = File::create(&log_path).map_err(Error::io("cannot create the server's log"))?;
        let log_too = log.try_clone().map_err(Error::io("cannot open the server's log twice"))?;
        // No statement may take all memory: the system would end a process of the server, which ends all others then.
        let mut command = server_command(Path::new("/bin/sh"), self.folder.user());
        command.arg("-c").arg(format!("ulimit -S -v {MEMORY_KB}; exec \"$0\" \"$@\""));
        command.arg(binaries.program("postgres"));
        command.arg("-D").arg(&data).args(["-h", "127.0.0.1", "-k", "", "-F", "-p", &port.to_string()]);
        for (name, value) in SETTINGS {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        for (name, value) in &options.settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let server = command
            .process_group(0)
            .stdout(log)
            .stderr(log_too)
            .spawn()
            .map_err(Error::io("cannot run postgres"))?;
        let pid = server.id();
        let server = self.server.insert(server);
        let deadline = Instant::now() + options.patience;
        loop {
            if let Some(status) = server.try_wait().map_err(Error::io("cannot wait for postgres"))? {
                self.server = None;
                let log = std::fs::read_to_string(&log_path).unwrap_or_default();
                if log.contains("Address already in use") {
                    return Ok(false);
                }
                return Err(Error::Server { what: format!("ended ({status})"), log: self.log_tail() });
            }
            if postmaster::is_ready(&data, pid) {
                self.port = port;
                return Ok(true);
            }
            if Instant::now() > deadline {
                let what = format!("did not accept connections within {:?}", options.patience);
                return Err(Error::Server { what, log: self.log_tail() });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "a private server may be left behind");
        }
    }
}

/// For a server whose data nobody keeps. `wal_level=minimal` lets COPY into a new table write no log.
const SETTINGS: &[(&str, &str)] = &[
    ("max_connections", "200"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("max_wal_size", "4GB"),
    // ANALYZE is run once, after the load; nothing changes later.
    ("autovacuum", "off"),
    ("timezone", "UTC"),
    ("log_timezone", "UTC"),
];

/// What one process of the server may have, shared memory included.
const MEMORY_KB: u32 = 2 << 20;

/// A command that runs as the server's user, untouched by the caller's PG* variables, language and folder.
fn server_command(program: &Path, user: Option<Ids>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PG")) {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
    if let Some(Ids { uid, gid }) = user {
        command.uid(uid).gid(gid);
    }
    command
}

/// A random port that nobody listens on now.
fn free_port() -> Result<Option<u16>, Error> {
    let mut bytes = [0u8; 2];
    fill_random(&mut bytes)?;
    let port = PORTS.start + u16::from_le_bytes(bytes) % (PORTS.end - PORTS.start);
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok().then_some(port))
}
