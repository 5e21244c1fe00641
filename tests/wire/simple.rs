//! The simple query protocol: results, errors, notices, several statements, transactions.

use crate::fake::{Harness, eventually};
use crate::raw::{Client, query};
use std::sync::atomic::Ordering;

#[test]
fn rows_tags_and_emptiness() {
    let (_server, mut client) = Harness::session();
    let reply = client.query("select 42");
    assert_eq!((reply.tags().as_str(), reply.rows()), ("TDCZ", vec!["42".to_owned()]));
    assert_eq!(reply.completed(), ["SELECT 1"]);
    assert_eq!(client.query("explain x").completed(), ["EXPLAIN"]);
    for empty in ["", "  ", ";;;"] {
        assert_eq!(client.query(empty).tags(), "IZ", "{empty:?}");
    }
    assert_eq!(client.query("rows 5000").completed(), ["SELECT 5000"]);
}

#[test]
fn errors_carry_every_field_and_leave_the_session_usable() {
    let (_server, mut client) = Harness::session();
    let reply = client.query("nonsense");
    assert_eq!(reply.tags(), "EZ");
    let fields = ['S', 'V', 'C', 'M', 'D', 'H', 'P'].map(|f| reply.error_field(f).unwrap());
    let expected = [
        "ERROR",
        "ERROR",
        "42703",
        "column \"nonsense\" does not exist",
        "It was never there.",
        "Ask for another.",
        "8",
    ];
    assert_eq!(fields, expected);
    assert_eq!(client.query("syntax error").error().unwrap().1, "42601");
    assert_eq!(client.query("half").tags(), "TDEZ");
    let misshapen = client.query("misshapen");
    assert_eq!((misshapen.tags().as_str(), misshapen.error().unwrap().1.as_str()), ("TEZ", "XX000"));
    let forged = client.query("forge");
    assert_eq!((forged.tags().as_str(), forged.error_field('H')), ("EZ", None));
    client.send(&crate::raw::message('Q', b"select \xff\0"));
    assert_eq!(client.reply().error().unwrap().1, "22021");
    assert_eq!(client.query("select 1").rows(), ["1"]);
}

#[test]
fn notices_come_before_the_rows_and_settings_before_ready() {
    let (_server, mut client) = Harness::session();
    let reply = client.query("notice");
    assert_eq!(reply.tags(), "NNTDCZ");
    let severities: Vec<_> = reply.notices().iter().map(|n| n.field('S').unwrap()).collect();
    assert_eq!(severities, ["NOTICE", "WARNING"]);
    assert_eq!(reply.notices()[0].field('H').unwrap(), "ask again");
    let reply = client.query("set report");
    assert_eq!(reply.tags(), "CSZ");
    assert_eq!(reply.0[1].body, b"application_name\0report\0");
}

#[test]
fn the_first_error_ends_a_message_of_several_statements() {
    let (server, mut client) = Harness::session();
    let reply = client.query("select 1; set x; select 2");
    assert_eq!((reply.tags().as_str(), reply.rows()), ("TDCCTDCSZ", vec!["1".to_owned(), "2".to_owned()]));
    let reply = client.query("select 3; nonsense; select 4");
    assert_eq!((reply.tags().as_str(), reply.rows()), ("TDCEZ", vec!["3".to_owned()]));
    assert_eq!(reply.status(), Some('I'));
    assert!(!server.seen.ran().contains(&"select 4".to_owned()));
}

#[test]
fn transactions_have_postgresql_s_states_tags_and_warnings() {
    let (_server, mut client) = Harness::session();
    let mut step = |sql: &str| {
        let reply = client.query(sql);
        let warning = reply.notices().first().map(|n| n.field('C').unwrap()).unwrap_or_default();
        let error = reply.error().map(|e| e.1).unwrap_or_default();
        (reply.completed().join(","), warning, error, reply.status().unwrap())
    };
    let row = |tag: &str, warning: &str, error: &str, status: char| {
        (tag.to_owned(), warning.to_owned(), error.to_owned(), status)
    };
    for (sql, expected) in [
        ("commit", row("COMMIT", "25P01", "", 'I')),
        ("rollback", row("ROLLBACK", "25P01", "", 'I')),
        ("savepoint a", row("", "", "25P01", 'I')),
        ("begin", row("BEGIN", "", "", 'T')),
        ("begin", row("BEGIN", "25001", "", 'T')),
        ("select 1", row("SELECT 1", "", "", 'T')),
        ("savepoint a", row("SAVEPOINT", "", "", 'T')),
        ("nonsense", row("", "", "42703", 'E')),
        ("select 1", row("", "", "25P02", 'E')),
        ("", row("", "", "", 'E')),
        ("syntax error", row("", "", "42601", 'E')),
        ("rollback to b", row("", "", "3B001", 'E')),
        ("rollback to a", row("ROLLBACK", "", "", 'T')),
        ("release a", row("RELEASE", "", "", 'T')),
        ("nonsense", row("", "", "42703", 'E')),
        ("commit", row("ROLLBACK", "", "", 'I')),
        ("start transaction; select 1; end", row("START TRANSACTION,SELECT 1,COMMIT", "", "", 'I')),
        ("begin; nonsense; select 1", row("BEGIN", "", "42703", 'E')),
        ("abort", row("ROLLBACK", "", "", 'I')),
        ("syntax error", row("", "", "42601", 'I')),
    ] {
        assert_eq!(step(sql), expected, "{sql}");
    }
    let steps = client.query("steps").rows().remove(0);
    assert!(
        steps.ends_with("Begin(Modes { isolation: None, read_only: None }), Rollback { chain: false }]"),
        "{steps}"
    );
}

#[test]
fn a_message_sent_ahead_waits_for_its_turn() {
    let (server, mut client) = Harness::session();
    client.send(&[query("sleep 200"), query("select 1"), query("select 2")].concat());
    assert_eq!(client.reply().completed(), ["SLEEP"]);
    assert_eq!(client.reply().rows(), ["1"]);
    assert_eq!(client.reply().rows(), ["2"]);
    assert_eq!(server.seen.ran(), ["sleep 200", "select 1", "select 2"]);
}

#[test]
fn a_client_that_leaves_takes_its_statement_with_it() {
    let (server, mut client) = Harness::session();
    client.send(&query("sleep forever"));
    eventually("the statement runs", || !server.seen.ran().is_empty());
    assert_eq!(server.seen.dropped.load(Ordering::SeqCst), 0);
    drop(client);
    eventually("the statement is dropped", || server.seen.dropped.load(Ordering::SeqCst) == 1);
}

#[test]
fn a_client_that_does_not_read_holds_back_its_rows_and_nobody_else() {
    let (server, mut slow) = Harness::session();
    slow.send(&query("rows 100000"));
    server.assert_waits_for(&mut slow);
}

#[test]
fn a_panic_ends_its_session_only() {
    let (server, mut client) = Harness::session();
    for sql in ["panic now", "panic in parse"] {
        let mut victim = Client::login(server.address, "ana");
        let reply = victim.query(sql);
        assert!(reply.is_fatal("XX000"), "{reply:?}");
        assert!(reply.error_field('D').unwrap().starts_with("Incident "));
        assert!(!format!("{reply:?}").contains("defect"), "the cause is for the operator only");
        assert!(victim.rest().is_empty());
    }
    assert_eq!(client.query("select 1").rows(), ["1"]);
}
