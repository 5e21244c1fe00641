//! CancelRequest.

use crate::batch::{bind, execute, flush, parse, sync};
use crate::city::{PASSWORD, World, room_for};
use crate::fake::{Harness, eventually};
use crate::raw::{Client, cancel_request, query, startup_version};
use crate::scram;
use crate::support::{LOGIN_PASSWORD, cluster, database};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
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
        let texts = (
            "SELECT count(*) FROM generate_series(1, 9000) a, generate_series(1, 9000) b, generate_series(1, 9000) c",
            "SELECT count(*) FROM generate_series(1, 5000) g",
        );
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
