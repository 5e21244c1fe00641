//! CancelRequest.

use crate::batch::{bind, execute, flush, parse, sync};
use crate::city::{PASSWORD, World, bikes, policy, room_for};
use crate::fake::{Harness, eventually};
use crate::raw::{Client, cancel_request, query, startup_version};
use crate::scram;
use crate::support::{LOGIN_PASSWORD, Workdir, cluster, database};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_postgres::{Config, NoTls};

/// A session with its process id and secret.
fn session(server: &Harness, version: u32) -> (Client, Vec<u8>, Vec<u8>) {
    let mut client = Client::connect(server.address);
    client.send(&startup_version(version, &[("user", "ana")]));
    let reply = client.reply();
    let key = reply.0.iter().find(|m| m.tag == 'K').unwrap().body.clone();
    (client, key[..4].to_vec(), key[4..].to_vec())
}

#[test]
fn the_right_key_cancels_and_the_session_goes_on() {
    let server = Harness::new();
    for (version, bytes) in [(196_608, 4), (196_610, 32)] {
        let (mut client, pid, secret) = session(&server, version);
        assert_eq!(secret.len(), bytes);
        for sql in ["sleep forever", "rows 1000000"] {
            let dropped = server.seen.dropped.load(Ordering::SeqCst);
            let ran = server.seen.ran().len();
            client.send(&query(sql));
            eventually("the statement runs", || server.seen.ran().len() > ran);
            let mut canceller = Client::connect(server.address);
            canceller.send(&cancel_request(&pid, &secret));
            assert!(canceller.rest().is_empty());
            let reply = client.reply();
            assert_eq!(reply.error(), Some(("ERROR".into(), "57014".into())), "{sql}: {:?}", reply.tags());
            let message = reply.error_field('M').unwrap();
            assert_eq!(message, "canceling statement due to user request");
            if sql.starts_with("sleep") {
                assert_eq!(server.seen.dropped.load(Ordering::SeqCst), dropped + 1);
            }
        }
        assert_eq!(client.query("select 1").rows(), ["1"]);
    }
}

#[test]
fn a_wrong_key_is_ignored_without_a_word() {
    let server = Harness::new();
    let (mut client, pid, secret) = session(&server, 196_610);
    client.send(&query("sleep 700"));
    eventually("the statement runs", || !server.seen.ran().is_empty());
    let mut wrong = secret.clone();
    wrong[31] ^= 1;
    for (pid, secret) in [(&pid[..], &wrong[..]), (&pid, &secret[..4]), (&[0, 0, 255, 255], &secret)] {
        let mut canceller = Client::connect(server.address);
        canceller.send(&cancel_request(pid, secret));
        assert!(canceller.rest().is_empty());
    }
    assert_eq!(client.reply().completed(), ["SLEEP"]);
}

/// Runs until it is cancelled.
const LONG: &str =
    "SELECT count(*) FROM generate_series(1, 9000) a, generate_series(1, 9000) b, generate_series(1, 9000) c";

/// Asks to cancel, as client libraries do: when this returns, the server has closed the connection.
fn cancel(address: SocketAddr, key: &[u8]) {
    let mut canceller = Client::connect(address);
    canceller.send(&cancel_request(&key[..4], &key[4..]));
    assert!(canceller.rest().is_empty());
}

/// Cancels in every moment of a session, and how many statements ended in 57014 that were sent after the server had closed the
/// connection of the last cancel request. `long` runs until it is cancelled, `short` for milliseconds at most.
fn cancels_that_hit_what_came_later(
    address: SocketAddr,
    (mut client, key): (Client, Vec<u8>),
    (long, short): (&str, &str),
) -> usize {
    let is_hit = |error: Option<(String, String)>| {
        assert!(error.as_ref().is_none_or(|(_, code)| code == "57014"), "{error:?}");
        usize::from(error.is_some())
    };
    let mut hit = 0;
    for round in 0..100u64 {
        // No statement is there.
        cancel(address, &key);
        hit += is_hit(client.query("select 'x'").error());
        // One is about to end, or has ended.
        client.send(&query(short));
        std::thread::sleep(Duration::from_micros(round * 37 % 3_000));
        cancel(address, &key);
        client.reply();
        hit += is_hit(client.query("select 'x'").error());
        // A batch waits for its next message, which is sent when the cancel request is over.
        client.send(&[parse("", "select 'x'", &[]), flush()].concat());
        assert_eq!(client.message().unwrap().tag, '1');
        cancel(address, &key);
        client.send(&[bind("", ""), execute("", 0), sync()].concat());
        hit += is_hit(client.reply().error());
        // One is there, and is hit.
        if round % 10 == 0 {
            client.send(&query(long));
            std::thread::sleep(Duration::from_millis(300));
            cancel(address, &key);
            assert_eq!(client.reply().error(), Some(("ERROR".into(), "57014".into())));
            hit += is_hit(client.query("select 'x'").error());
        }
    }
    hit
}

#[test]
fn a_cancel_request_that_is_over_hits_nothing_that_is_sent_later() {
    let server = Harness::new();
    let (client, pid, secret) = session(&server, 196_608);
    let ours = (client, [pid, secret].concat());
    let hit = cancels_that_hit_what_came_later(server.address, ours, ("sleep forever", "sleep 1"));
    assert_eq!(hit, 0, "before a made-up service");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_request_that_is_over_hits_nothing_that_is_sent_later_as_with_postgresql() {
    let city = World::new(&["ada"], &room_for(10)).await;
    let db = database("").await;
    let hits = tokio::task::spawn_blocking(move || {
        let original = SocketAddr::from(([127, 0, 0, 1], cluster().port()));
        let proxy = city.gate.address.parse().unwrap();
        let login = format!("{}_finish", db.name);
        let texts = (LONG, "SELECT count(*) FROM generate_series(1, 5000) g");
        let theirs = scram::login_with_key(original, &login, LOGIN_PASSWORD, &db.name);
        let ours = scram::login_with_key(proxy, "ada", PASSWORD, "bikes");
        [(original, theirs), (proxy, ours)]
            .map(|(address, session)| cancels_that_hit_what_came_later(address, session, texts))
    });
    assert_eq!(hits.await.unwrap(), [0, 0], "PostgreSQL's, and ours");
}

#[test]
fn a_cancelled_statement_fails_its_transaction() {
    let server = Harness::new();
    let (mut client, pid, secret) = session(&server, 196_608);
    client.query("begin");
    client.send(&query("sleep forever"));
    eventually("the statement runs", || !server.seen.ran().is_empty());
    Client::connect(server.address).send(&cancel_request(&pid, &secret));
    assert_eq!(client.reply().status(), Some('E'));
    assert_eq!(client.query("rollback").status(), Some('I'));
}

#[test]
fn tokio_postgres_can_cancel() {
    let server = Harness::new();
    let seen = std::sync::Arc::clone(&server.seen);
    server.runtime.block_on(async {
        let mut config = Config::new();
        config.host("127.0.0.1").port(server.address.port()).user("ana");
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        let token = client.cancel_token();
        let running = tokio::spawn(async move { client.simple_query("sleep forever").await });
        while seen.ran().is_empty() {
            tokio::task::yield_now().await;
        }
        token.cancel_query(NoTls).await.unwrap();
        let e = running.await.unwrap().unwrap_err();
        assert_eq!(e.as_db_error().unwrap().code().code(), "57014");
    });
}

/// A TCP proxy before PostgreSQL that is slow with cancel requests; and whether one has passed.
fn slow_with_cancels(server: u16) -> (u16, Arc<AtomicBool>) {
    let passed = Arc::new(AtomicBool::new(false));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = passed.clone();
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let seen = seen.clone();
            std::thread::spawn(move || {
                let mut head = [0; 8];
                client.read_exact(&mut head).ok()?;
                if head[4..] == 80_877_102u32.to_be_bytes() {
                    std::thread::sleep(Duration::from_millis(700));
                    seen.store(true, Ordering::SeqCst);
                }
                let mut server = TcpStream::connect(("127.0.0.1", server)).ok()?;
                server.write_all(&head).ok()?;
                let (mut from, mut to) = (server.try_clone().ok()?, client.try_clone().ok()?);
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    to.shutdown(Shutdown::Both)
                });
                let _ = std::io::copy(&mut client, &mut server);
                server.shutdown(Shutdown::Both).ok()
            });
        }
    });
    (port, passed)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_request_is_over_when_the_database_has_it() {
    let db = bikes().await;
    let server = cluster().port();
    let (port, passed) = slow_with_cancels(server);
    // Without TLS, so that a connection begins with what it is for.
    let by_way = db.finish_url.replace(&format!(":{server}/"), &format!(":{port}/")) + "?sslmode=disable";
    let backend = db.backend_toml().replace(&db.finish_url, &by_way);
    let dir = Workdir::new(&policy(&backend, &["ada"], &room_for(10)));
    let gate = dir.serve().await;
    let cancelled = tokio::task::spawn_blocking(move || {
        let proxy = gate.address.parse().unwrap();
        let (mut client, key) = scram::login_with_key(proxy, "ada", PASSWORD, "bikes");
        client.send(&query(LONG));
        std::thread::sleep(Duration::from_millis(500));
        cancel(proxy, &key);
        assert!(passed.load(Ordering::SeqCst), "the database has not heard of it yet");
        client.reply().error()
    });
    assert_eq!(cancelled.await.unwrap(), Some(("ERROR".into(), "57014".into())));
}
