//! A private PostgreSQL server in a folder of its own, on loopback, for as long as the [`Cluster`] lives.

use super::watchdog::{MARKER, Watchdog};
use super::{Binaries, Error, postmaster};
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown};
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

/// How to start a [`Cluster`].
#[derive(Clone, Debug)]
pub struct Options {
    /// The `noisegate` program, to be run as `noisegate watchdog`.
    pub watchdog: PathBuf,
    /// Server settings beside the launcher's own.
    pub settings: Vec<(String, String)>,
    /// How long the server may take until it accepts connections.
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
    dir: PathBuf,
    port: u16,
    password: String,
    server: Option<Child>,
    watchdog: Watchdog,
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
        let (dir, user) = make_folder()?;
        // From here on the watchdog owns the folder: whatever happens, it is removed.
        let watchdog = Watchdog::start(&options.watchdog, &dir).inspect_err(|_| {
            let _ = std::fs::remove_dir_all(&dir);
        })?;
        let mut cluster = Self { dir, port: 0, password: random_hex(16)?, server: None, watchdog };
        cluster.initdb(binaries, user)?;
        for _ in 0..TRIES {
            if cluster.try_port(binaries, options, user)? {
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
        &self.dir
    }

    /// A folder below [`dir`](Self::dir) that only the user of this process can read.
    pub fn private_dir(&self) -> PathBuf {
        self.dir.join("private")
    }

    /// Where the superuser connects to this database.
    pub fn superuser_url(&self, database: &str) -> String {
        self.url(SUPERUSER, &self.password, database)
    }

    /// Where this login connects. The password must need no escaping in a URL.
    pub fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// The last lines of the server's log.
    pub fn log_tail(&self) -> String {
        let text = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
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
        let done = self.watchdog.finish();
        if let Some(mut server) = self.server.take() {
            let _ = if done.is_ok() { server.wait().map(drop) } else { server.kill() };
        }
        done
    }

    fn initdb(&self, binaries: &Binaries, user: Option<Ids>) -> Result<(), Error> {
        let password_file = self.dir.join("password");
        write_private(&password_file, &self.password, user)?;
        let mut command = server_command(&binaries.program("initdb"), user);
        command
            .arg("-D")
            .arg(self.dir.join("data"))
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
    fn try_port(&mut self, binaries: &Binaries, options: &Options, user: Option<Ids>) -> Result<bool, Error> {
        let Some(port) = free_port()? else { return Ok(false) };
        let data = self.dir.join("data");
        let log_path = self.dir.join("log");
        let log = File::create(&log_path).map_err(Error::io("cannot create the server's log"))?;
        let log_too = log.try_clone().map_err(Error::io("cannot open the server's log twice"))?;
        let mut command = server_command(&binaries.program("postgres"), user);
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
        if self.watchdog.watches()
            && let Err(error) = self.end()
        {
            tracing::warn!(%error, "the private server's folder may be left behind");
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

/// User and group that the server runs as when this process is root.
#[derive(Clone, Copy, Debug)]
struct Ids {
    uid: u32,
    gid: u32,
}

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

/// A new folder, marked as ours, and who the server in it is to run as (`None`: as ourselves).
fn make_folder() -> Result<(PathBuf, Option<Ids>), Error> {
    let places = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    let mut refused = std::io::Error::from(std::io::ErrorKind::NotFound);
    for place in places {
        let Ok(place) = place.canonicalize() else { continue };
        let dir = place.join(format!("noisegate-{}", random_hex(6)?));
        // `create` fails where anything of this name exists: nobody else can have prepared it.
        match DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) => refused = error,
            Ok(()) => match furnish(&dir) {
                Ok(Some(user)) => return Ok((dir, user)),
                Ok(None) => {
                    let _ = std::fs::remove_dir_all(&dir);
                }
                Err(error) => {
                    let _ = std::fs::remove_dir_all(&dir);
                    return Err(error);
                }
            },
        }
    }
    Err(Error::io("cannot make a folder for the private server (set TMPDIR)")(refused))
}

/// Fills a new folder. `None` if the user that the server would run as cannot get there.
fn furnish(dir: &Path) -> Result<Option<Option<Ids>>, Error> {
    let failed = || Error::io(format!("cannot prepare {}", dir.display()));
    File::create(dir.join(MARKER)).map_err(failed())?;
    for name in ["private", "data"] {
        DirBuilder::new().mode(0o700).create(dir.join(name)).map_err(failed())?;
    }
    // Who owns what we just made is who we are: no call of getuid is needed.
    if dir.metadata().map_err(failed())?.uid() != 0 {
        return Ok(Some(None));
    }
    let user = server_user()?;
    std::fs::set_permissions(dir, Permissions::from_mode(0o711)).map_err(failed())?;
    chown(dir.join("data"), Some(user.uid), Some(user.gid)).map_err(failed())?;
    let open = |d: &Path| d.metadata().is_ok_and(|m| m.mode() & 0o001 != 0 || m.uid() == user.uid);
    Ok(dir.ancestors().all(open).then_some(Some(user)))
}

/// `postgres`, else `nobody`: initdb wants a user that has a name.
fn server_user() -> Result<Ids, Error> {
    let passwd = std::fs::read_to_string("/etc/passwd").map_err(Error::io("cannot read /etc/passwd"))?;
    ["postgres", "nobody"].iter().find_map(|name| ids_of(&passwd, name)).ok_or(Error::NoServerUser)
}

fn ids_of(passwd: &str, name: &str) -> Option<Ids> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        // macOS writes nobody's ids as -2.
        let mut id = |skip| u32::try_from(fields.nth(skip)?.parse::<i64>().ok()? & 0xffff_ffff).ok();
        let (uid, gid) = (id(1)?, id(0)?);
        (uid != 0).then_some(Ids { uid, gid })
    })
}

fn write_private(path: &Path, text: &str, owner: Option<Ids>) -> Result<(), Error> {
    let failed = || Error::io(format!("cannot write {}", path.display()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed())?;
    file.write_all(text.as_bytes()).map_err(failed())?;
    if let Some(Ids { uid, gid }) = owner {
        chown(path, Some(uid), Some(gid)).map_err(failed())?;
    }
    Ok(())
}

/// A random port that nobody listens on now.
fn free_port() -> Result<Option<u16>, Error> {
    let mut bytes = [0u8; 2];
    fill_random(&mut bytes)?;
    let port = PORTS.start + u16::from_le_bytes(bytes) % (PORTS.end - PORTS.start);
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok().then_some(port))
}

/// Random hexadecimal digits, two for each byte: a password or a name that nobody guesses.
pub(super) fn random_hex(bytes: usize) -> Result<String, Error> {
    let mut buffer = vec![0u8; bytes];
    fill_random(&mut buffer)?;
    Ok(buffer.iter().map(|b| format!("{b:02x}")).collect())
}

fn fill_random(buffer: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(buffer)
        .map_err(|e| Error::io("the operating system gives no random numbers")(std::io::Error::other(e)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ids_are_read_from_passwd() {
        let passwd =
            "root:x:0:0::/:/bin/sh\nnobody:*:-2:-2::/:/bin/false\npostgres:x:101:104:,,,:/:/bin/sh\n";
        let postgres = ids_of(passwd, "postgres").unwrap();
        assert_eq!((postgres.uid, postgres.gid), (101, 104));
        assert_eq!(ids_of(passwd, "nobody").unwrap().uid, u32::MAX - 1);
        assert!(ids_of(passwd, "root").is_none());
        assert!(ids_of(passwd, "ghost").is_none());
    }
}
