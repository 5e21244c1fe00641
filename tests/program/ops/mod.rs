//! What an operator does with the program: sockets, access rules, reloads, shutdowns, systemd, logs. All of it from
//! the outside, with the binary and psql.

mod access;
mod console;
mod databases;
mod doors;
mod journal;
#[cfg(target_os = "linux")]
mod manager;
mod metrics;
mod reload;
mod shutdown;
mod sockets;
mod strangers;
mod tls;
mod traces;

use crate::city::{PASSWORD, policy, room_for};
use crate::support::{Gate, TestDb, Workdir};
use std::process::Command;

/// A policy over the bikes, for these users and with these more sections.
fn text(db: &TestDb, users: &[&str], more: &str) -> String {
    policy(&db.backend_toml(), users, &format!("{}{more}", room_for(99)))
}

/// Puts other keys in place of `listen` in [server].
fn with_server(policy: &str, keys: &str) -> String {
    let listen = "listen = [\"127.0.0.1:0\"]";
    assert!(policy.contains(listen));
    policy.replacen(listen, keys, 1)
}

/// Where psql finds a socket in this folder.
fn socket_url(folder: &str, port: &str, user: &str) -> String {
    format!("host={folder} port={port} user={user} password='{PASSWORD}' dbname=bikes")
}

fn port(gate: &Gate) -> &str {
    gate.address.rsplit_once(':').unwrap().1
}

/// What the ledger's entries were charged under, in order.
fn versions(dir: &Workdir) -> Vec<String> {
    let ledger = rusqlite::Connection::open(dir.path().join("noisegate.db")).unwrap();
    let debits = "SELECT body -> 'what' -> 'debit' ->> 'policy' FROM entries WHERE body -> 'what' ->> 'debit' <> '' ORDER BY id";
    let mut all = ledger.prepare(debits).unwrap();
    all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// A self-signed certificate for `localhost` at `server.crt` and `server.key` of a folder.
fn certificate(dir: &Workdir) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-keyout", "server.key", "-out", "server.crt"])
        .current_dir(dir.path())
        .output()
        .expect("openssl is installed");
    assert!(made.status.success(), "{made:?}");
}
