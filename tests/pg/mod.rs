//! A throwaway PostgreSQL for one test process: loopback, a free port below 32768, run by `nobody`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio_postgres::{Client, NoTls};

/// The server; dropped, it stops and its folder goes.
pub struct Server {
    postgres: Child,
    pub port: u16,
    _folder: tempfile::TempDir,
}

/// Newest of the versioned folders of Debian, else the PATH.
fn bin() -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok()).max();
    newest.map_or(PathBuf::new(), |v| Path::new("/usr/lib/postgresql").join(v.to_string()).join("bin"))
}

/// As `nobody` where root runs the tests: the server refuses root.
fn unprivileged(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(bin().join(program));
    command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    if is_root() {
        command.uid(65534).gid(65534);
    }
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id");
    id.stdout.starts_with(b"0\n")
}

impl Server {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        if is_root() {
            std::os::unix::fs::chown(&data, Some(65534), Some(65534)).unwrap();
        }
        let initdb = unprivileged("initdb", folder.path())
            .args(["-U", "owner", "-A", "trust", "-E", "UTF8", "--locale", "C", "--no-sync", "-D"])
            .arg(&data)
            .status()
            .unwrap();
        assert!(initdb.success(), "initdb");
        // Ports above are handed out to outgoing connections by the kernel.
        let start = 20_000 + (std::process::id() % 12_000) as u16;
        let port = (start..32_768).find(|p| TcpListener::bind(("127.0.0.1", *p)).is_ok()).unwrap();
        let postgres = unprivileged("postgres", folder.path())
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off"])
            .args(["-c", "allow_system_table_mods=on", "-p", &port.to_string(), "-D"])
            .arg(&data)
            .spawn()
            .unwrap();
        Self { postgres, port, _folder: folder }
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://owner@127.0.0.1:{}/{database}", self.port)
    }

    /// Connects, waiting for the server to come up.
    pub async fn connect(&self, database: &str) -> Client {
        for _ in 0..200 {
            if let Ok((client, connection)) = tokio_postgres::connect(&self.url(database), NoTls).await {
                tokio::spawn(connection);
                return client;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("PostgreSQL did not come up");
    }

    /// A database of its own, holding tests/policy/schema.sql.
    pub async fn database(&self, name: &str) -> Client {
        let admin = self.connect("postgres").await;
        admin.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let client = self.connect(name).await;
        client.batch_execute(include_str!("../policy/schema.sql")).await.unwrap();
        client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGINT, a fast shutdown; the process is our own child.
        let _ = Command::new("kill").args(["-INT", &self.postgres.id().to_string()]).status();
        let _ = self.postgres.wait();
    }
}
