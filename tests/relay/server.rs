//! A throwaway PostgreSQL for these tests: shared while a test holds it, gone when the last one lets go.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

pub struct Server {
    folder: tempfile::TempDir,
    pub port: u16,
    process: Mutex<Option<Child>>,
}

static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
static SERVERS: AtomicU32 = AtomicU32::new(0);
static DATABASES: AtomicU32 = AtomicU32::new(0);

fn bin(program: &str) -> PathBuf {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    for version in (13..=18).rev() {
        folders.push(format!("/usr/lib/postgresql/{version}/bin").into());
        folders.push(format!("/usr/pgsql-{version}/bin").into());
    }
    let found = folders.into_iter().map(|f| f.join(program)).find(|p| p.is_file());
    found.unwrap_or_else(|| panic!("{program} is not installed: apt-get install postgresql"))
}

fn id(args: &[&str]) -> u32 {
    let out = Command::new("id").args(args).output().unwrap();
    String::from_utf8(out.stdout).unwrap().trim().parse().unwrap()
}

/// PostgreSQL does not run as root.
fn unprivileged(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(bin(program));
    if id(&["-u"]) == 0 {
        command.uid(id(&["-u", "nobody"])).gid(id(&["-g", "nobody"]));
    }
    command.current_dir(folder).stdin(Stdio::null());
    command
}

impl Server {
    /// The server that running tests share.
    pub fn shared() -> Arc<Server> {
        let mut shared = SHARED.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(server) = shared.upgrade() {
            return server;
        }
        let server = Arc::new(Server::new());
        *shared = Arc::downgrade(&server);
        server
    }

    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("noisegate-relay-").tempdir().unwrap();
        if id(&["-u"]) == 0 {
            let (user, group) = (id(&["-u", "nobody"]), id(&["-g", "nobody"]));
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        let data = folder.path().join("data");
        let made = unprivileged("initdb", folder.path())
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let hba = "host all ng_scram 127.0.0.1/32 scram-sha-256\n\
                   host all ng_md5 127.0.0.1/32 md5\n\
                   host all ng_clear 127.0.0.1/32 password\n\
                   host all all 127.0.0.1/32 trust\n\
                   local all all trust\n";
        std::fs::write(data.join("pg_hba.conf"), hba).unwrap();
        // Apart from each other, because a port is taken only when its server listens.
        let first = std::process::id().wrapping_mul(7) + 500 * SERVERS.fetch_add(1, Ordering::Relaxed);
        let port = (first..first + 500)
            .map(|n| 20_000 + (n % 12_000) as u16)
            .find(|p| std::net::TcpListener::bind(("127.0.0.1", *p)).is_ok())
            .unwrap();
        let server = Self { folder, port, process: Mutex::new(None) };
        server.start();
        server
    }

    pub fn start(&self) {
        let data = self.folder.path().join("data");
        let log =
            std::fs::File::options().append(true).create(true).open(self.folder.path().join("log")).unwrap();
        let child = unprivileged("postgres", self.folder.path())
            .arg("-D")
            .arg(&data)
            .args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .args(["-c", "max_connections=60", "-c", "shared_buffers=16MB", "-k"])
            .arg(self.folder.path())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        *self.process.lock().unwrap() = Some(child);
        let until = Instant::now() + Duration::from_secs(30);
        let ready = || {
            unprivileged("pg_isready", self.folder.path())
                .args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-q"])
                .status()
                .unwrap()
        };
        while !ready().success() {
            if Instant::now() > until {
                let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
                panic!("PostgreSQL did not start: {log}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops it at once, as a crash would.
    pub fn stop(&self) {
        let Some(mut child) = self.process.lock().unwrap_or_else(|e| e.into_inner()).take() else { return };
        let data = self.folder.path().join("data");
        let _ = unprivileged("pg_ctl", self.folder.path())
            .args(["stop", "-m", "immediate", "-w", "-D"])
            .arg(data)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let _ = child.kill();
        let _ = child.wait();
    }

    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// A superuser's connection.
    pub async fn admin(&self, database: &str) -> tokio_postgres::Client {
        let url = self.url("postgres", database);
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// A database of its own for a test, with a private and a public table and its two logins.
    pub async fn database(&self) -> Database {
        let n = DATABASES.fetch_add(1, Ordering::Relaxed);
        let name = format!("d{n}");
        let (fetch, finish) = (format!("fetch{n}"), format!("finish{n}"));
        let admin = self.admin("postgres").await;
        admin.batch_execute(&format!("CREATE ROLE {fetch} LOGIN; CREATE ROLE {finish} LOGIN")).await.unwrap();
        admin.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE template0")).await.unwrap();
        let admin = self.admin(&name).await;
        let setup = format!(
            "CREATE TABLE riders (rider_id int PRIMARY KEY, name text NOT NULL);
             CREATE TABLE stations (id int PRIMARY KEY, name text NOT NULL);
             INSERT INTO riders SELECT g, 'r' || g FROM generate_series(1, 100) g;
             INSERT INTO stations VALUES (1, 'north'), (2, 'south');
             GRANT SELECT ON riders, stations TO {fetch};
             GRANT SELECT ON stations TO {finish};"
        );
        admin.batch_execute(&setup).await.unwrap();
        Database { fetch, finish, admin, name }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

pub struct Database {
    pub name: String,
    pub fetch: String,
    pub finish: String,
    pub admin: tokio_postgres::Client,
}
