//! Batches: what an error does to them, cancel requests, leaving, shutdown, and clients that read late.

use crate::batch::{all_of, bind, describe, execute, flush, parse, sync};
use crate::fake::{Harness, eventually};
use crate::raw::{Client, cancel_request, query, startup};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A session with its process id and secret.
fn cancellable(server: &Harness) -> (Client, Vec<u8>) {
    let mut client = Client::connect(server.address);
    client.send(&startup(&[("user", "ana")]));
    let reply = client.reply();
    let key = reply.0.iter().find(|m| m.tag == 'K').unwrap().body.clone();
    (client, cancel_request(&key[..4], &key[4..]))
}

fn cancel(server: &Harness, request: &[u8]) {
    let mut canceller = Client::connect(server.address);
    canceller.send(request);
    assert!(canceller.rest().is_empty());
}

#[test]
fn an_error_voids_everything_up_to_sync() {
    let (server, mut client) = Harness::session();
    let batch = [
        all_of("select 1"),
        parse("kept", "select 2", &[]),
        all_of("nonsense"),
        all_of("select skipped"),
        parse("skipped", "select 2", &[]),
        query("select skipped"),
        flush(),
        b"P\0\0\0\x06ab".to_vec(),
        sync(),
        all_of("select 3"),
    ];
    let first = {
        client.send(&[batch.concat(), sync()].concat());
        client.reply()
    };
    assert_eq!((first.tags().as_str(), first.code().as_str()), ("12TDC112nEZ", "42703"));
    assert_eq!(client.reply().rows(), ["3"]);
    assert_eq!(client.batch(&[bind("", "kept"), bind("", "skipped")]).tags(), "2EZ");
    assert_eq!(server.seen.ran(), ["select 1", "nonsense", "select 3"]);
}

#[test]
fn an_error_is_told_before_sync_comes() {
    let (_server, mut client) = Harness::session();
    client.send(&[parse("", "select 1", &[]), execute("nothing", 0)].concat());
    assert_eq!(client.until('E').tags(), "1E");
    assert_eq!(client.batch(&[]).tags(), "Z");
}

#[test]
fn an_error_in_a_transaction_fails_it() {
    let (_server, mut client) = Harness::session();
    let reply = client.batch(&[all_of("begin"), all_of("nonsense"), all_of("commit")]);
    assert_eq!((reply.completed(), reply.status()), (vec!["BEGIN".to_owned()], Some('E')));
    let reply = client.batch(&[all_of("rollback"), all_of("select 1")]);
    assert_eq!(reply.completed(), ["ROLLBACK", "SELECT 1"]);
}

#[test]
fn transaction_control_goes_through_the_extended_protocol() {
    let (_server, mut client) = Harness::session();
    for (sql, tag, status) in [
        ("start transaction", "START TRANSACTION", 'T'),
        ("savepoint a", "SAVEPOINT", 'T'),
        ("rollback to a", "ROLLBACK", 'T'),
        ("release a", "RELEASE", 'T'),
        ("commit and chain", "COMMIT", 'T'),
        ("commit", "COMMIT", 'I'),
    ] {
        let reply = client.batch(&[parse("", sql, &[]), describe('S', ""), bind("", ""), execute("", 0)]);
        assert_eq!(reply.tags(), "1tn2CZ", "{sql}");
        assert_eq!((reply.completed(), reply.status()), (vec![tag.to_owned()], Some(status)));
    }
    let reply = client.batch(&[all_of("commit")]);
    assert_eq!((reply.tags().as_str(), reply.notices()[0].field('C').unwrap().as_str()), ("12nNCZ", "25P01"));
    let steps = client.query("steps").rows().remove(0);
    assert!(steps.starts_with("[Start("), "{steps}");
    assert!(steps.contains("), Savepoint(\"a\"), RollbackTo(\"a\")"), "{steps}");
}

#[test]
fn a_long_pipeline_is_answered_in_order() {
    let (_server, mut client) = Harness::session();
    let mut sender = Client(client.0.try_clone().unwrap());
    let sending = std::thread::spawn(move || {
        for i in 0..20_000 {
            sender.send(&all_of(&format!("select {i}")));
        }
        sender.send(&sync());
    });
    let reply = client.reply();
    sending.join().unwrap();
    let expected: Vec<String> = (0..20_000).map(|i| i.to_string()).collect();
    assert_eq!(reply.rows(), expected);
}

#[test]
fn a_client_that_sends_first_and_reads_later_gets_its_answers() {
    let (server, mut client) = Harness::session();
    // What waits for the client fits into the socket's buffers together with what waits for the server.
    let batch: Vec<u8> = (0..1_000).flat_map(|i| [all_of(&format!("select {i}")), sync()].concat()).collect();
    client.send(&batch);
    eventually("all have run", || server.seen.ran().len() == 1_000);
    for i in 0..1_000 {
        assert_eq!(client.reply().rows(), [i.to_string()]);
    }
}

#[test]
fn answers_leave_when_the_buffer_is_full() {
    let (_server, mut client) = Harness::session();
    // Neither Flush nor Sync: as with PostgreSQL only what exceeds the buffer goes out.
    client.send(
        &(0..4_000)
            .flat_map(|_| [parse("", "select 1", &[]), describe('S', "")].concat())
            .collect::<Vec<_>>(),
    );
    let mut seen = 0;
    while client.message().is_some_and(|m| "1tT".contains(m.tag)) {
        seen += 1;
        if seen > 2_000 {
            break;
        }
    }
    assert!(seen > 2_000);
}

#[test]
fn rows_wait_for_a_slow_client_and_nobody_else_does() {
    let (server, mut slow) = Harness::session();
    slow.send(&[parse("", "rows 100000", &[]), bind("", ""), execute("", 0), sync()].concat());
    server.assert_waits_for(&mut slow);
}

#[test]
fn a_cancel_request_ends_every_kind_of_work() {
    let server = Harness::new();
    let (mut client, request) = cancellable(&server);
    for (sql, limit, tags) in [
        ("stall describe", 0, "EZ"),
        ("stall bind", 0, "1EZ"),
        ("stall execute", 0, "12EZ"),
        ("sleep forever", 0, "12EZ"),
    ] {
        let dropped = server.seen.dropped.load(Ordering::SeqCst);
        let known = server.seen.prepared().len() + server.seen.ran().len();
        client.send(&[parse("", sql, &[]), bind("", ""), execute("", limit), sync()].concat());
        let wanted = known + if sql == "stall describe" { 1 } else { 2 };
        eventually("it works", || server.seen.prepared().len() + server.seen.ran().len() >= wanted);
        cancel(&server, &request);
        let reply = client.reply();
        assert_eq!((reply.tags().as_str(), reply.code().as_str()), (tags, "57014"), "{sql}");
        assert_eq!(server.seen.dropped.load(Ordering::SeqCst), dropped + 1, "{sql}");
        assert_eq!(client.query("select 1").rows(), ["1"]);
    }
    assert_eq!(client.batch(&[bind("", "")]).code(), "26000");
}

#[test]
fn a_cancel_request_ends_rows_that_stream_and_rows_that_are_kept() {
    let limits = noisegate::policy::Limits { max_portal_bytes: usize::MAX, ..Default::default() };
    let server = Harness::with(limits, None);
    let (mut client, request) = cancellable(&server);
    client.query("begin");
    client.batch(&[parse("s", "endless", &[])]);
    for (i, limit) in [0, 1].into_iter().enumerate() {
        client.query("savepoint a");
        let before = server.seen.rows.load(Ordering::SeqCst);
        client.send(&[bind("p", "s"), execute("p", limit), sync()].concat());
        eventually("rows flow", || server.seen.rows.load(Ordering::SeqCst) > before + 100);
        cancel(&server, &request);
        let reply = client.reply();
        assert_eq!((reply.code().as_str(), reply.status()), ("57014", Some('E')));
        assert_eq!(server.seen.dropped.load(Ordering::SeqCst), i + 1);
        assert_eq!(client.query("rollback to a").status(), Some('T'));
        assert_eq!(client.batch(&[parse("", "select 1", &[]), bind("", ""), execute("", 0)]).rows(), ["1"]);
    }
}

#[test]
fn a_cancel_request_between_batches_hits_none() {
    let server = Harness::new();
    let (mut client, request) = cancellable(&server);
    client.batch(&[all_of("select 1")]);
    cancel(&server, &request);
    assert_eq!(client.batch(&[all_of("sleep 50")]).completed(), ["SLEEP"]);
}

#[test]
fn a_cancel_request_hits_the_messages_of_a_batch_that_came_together_and_none_that_come_later() {
    let server = Harness::new();
    let (mut client, request) = cancellable(&server);
    client.send(&[parse("", "sleep 1", &[]), bind("", ""), flush()].concat());
    client.until('2');
    cancel(&server, &request);
    assert_eq!(client.batch(&[execute("", 0)]).completed(), ["SLEEP"]);
    let both = [all_of("sleep forever"), all_of("sleep 1")].concat();
    client.send(&[both, sync()].concat());
    eventually("the statement runs", || server.seen.ran().len() == 2);
    cancel(&server, &request);
    let reply = client.reply();
    assert_eq!((reply.code().as_str(), reply.completed()), ("57014", Vec::new()));
}

#[test]
fn a_client_that_leaves_takes_its_work_with_it() {
    let server = Harness::new();
    for (n, sql) in ["stall describe", "stall bind", "stall execute", "sleep forever"].into_iter().enumerate()
    {
        let mut client = Client::login(server.address, "ana");
        client.send(&[parse("", sql, &[]), bind("", ""), execute("", 0), sync()].concat());
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(server.seen.dropped.load(Ordering::SeqCst), n);
        drop(client);
        eventually("the work is dropped", || server.seen.dropped.load(Ordering::SeqCst) == n + 1);
    }
    server.assert_alive();
}

#[test]
fn a_shutdown_lets_a_batch_finish_within_its_time() {
    let server = Harness::new();
    let mut running = Client::login(server.address, "ana");
    running.send(&all_of("sleep 300"));
    let mut stuck = Client::login(server.address, "ana");
    stuck.send(&all_of("sleep forever"));
    eventually("both run", || server.seen.ran().len() == 2);
    server.shutdown.shutdown(Duration::from_millis(1_500));
    running.send(&[all_of("select 1"), sync()].concat());
    assert_eq!(running.reply().completed(), ["SLEEP", "SELECT 1"]);
    assert!(running.reply().is_fatal("57P01"));
    assert!(stuck.reply().is_fatal("57P01"));
    drop((running, stuck));
    server.runtime.block_on(server.done).unwrap();
}

#[test]
fn a_panic_in_an_extended_statement_ends_its_session_only() {
    let (server, mut victim) = Harness::session();
    let reply = victim.batch(&[all_of("panic now")]);
    assert!(reply.is_fatal("XX000"), "{reply:?}");
    server.assert_alive();
}
