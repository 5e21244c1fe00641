//! CancelRequest.

use crate::fake::{Harness, eventually};
use crate::raw::{Client, cancel_request, query, startup_version};
use std::sync::atomic::Ordering;
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

#[test]
fn a_cancel_between_statements_hits_none() {
    let server = Harness::new();
    let (mut client, pid, secret) = session(&server, 196_608);
    let mut canceller = Client::connect(server.address);
    canceller.send(&cancel_request(&pid, &secret));
    assert!(canceller.rest().is_empty());
    assert_eq!(client.query("sleep 50").completed(), ["SLEEP"]);
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
