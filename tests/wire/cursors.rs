//! Cursors: DECLARE, FETCH, MOVE and CLOSE, which run a statement once and keep its rows.

use crate::batch::{all_of, bind, bind_all, columns, describe, execute, parse};
use crate::fake::Harness;
use crate::raw::Client;
use crate::session::TEXT;
use noisegate::policy::Limits;

fn session(limits: Limits) -> (Harness, Client) {
    let server = Harness::with(limits, None);
    let client = Client::login(server.address, "ana");
    (server, client)
}

const ABC: &str = "values ('a'),('b'),('c')";

#[test]
fn a_cursor_runs_once_and_gives_its_rows_in_any_direction() {
    let (server, mut client) = session(Limits::default());
    client.query("begin");
    let declared = client.query(&format!("declare c scroll cursor for {ABC}"));
    assert_eq!((declared.tags().as_str(), declared.completed()), ("CZ", vec!["DECLARE CURSOR".to_owned()]));
    for (fetch, rows, tag) in [
        ("fetch c", "a", "FETCH 1"),
        ("fetch all from c", "bc", "FETCH 2"),
        ("fetch backward 2 from c", "cb", "FETCH 2"),
        ("fetch absolute -1 from c", "c", "FETCH 1"),
        ("fetch first from c", "a", "FETCH 1"),
        ("fetch prior from c", "", "FETCH 0"),
        ("move 2 in c", "", "MOVE 2"),
        ("fetch relative 0 c", "b", "FETCH 1"),
        ("move backward all in c", "", "MOVE 1"),
    ] {
        let reply = client.query(fetch);
        assert_eq!(
            (reply.rows().concat().as_str(), reply.completed()),
            (rows, vec![tag.to_owned()]),
            "{fetch}"
        );
        assert_eq!(reply.tags().starts_with('T'), fetch.starts_with("fetch"), "{fetch}");
    }
    assert_eq!(server.seen.ran(), [ABC]);
    assert_eq!(client.query("close c").completed(), ["CLOSE CURSOR"]);
    assert_eq!(client.query("fetch c").code(), "34000");
}

#[test]
fn cursors_need_a_transaction_unless_they_are_held() {
    let (server, mut client) = session(Limits::default());
    let refused = client.query("declare c cursor for select 'x'");
    assert_eq!(refused.code(), "25P01");
    assert_eq!(refused.error_field('M').unwrap(), "DECLARE CURSOR can only be used in transaction blocks");
    assert_eq!(server.seen.ran(), [""; 0], "it was not even run");
    assert_eq!(client.batch(&[all_of("declare c cursor for select 'x'")]).code(), "25P01");
    // A message of several statements is a block of its own.
    let reply = client.query("declare c cursor for select 'x'; fetch c");
    assert_eq!((reply.rows(), reply.completed()[1].as_str()), (vec!["x".to_owned()], "FETCH 1"));
    assert_eq!(client.query("fetch c").code(), "34000", "which ended");

    client.query("declare h cursor with hold for select 'y'");
    client.query("begin");
    client.query("nonsense");
    client.query("rollback");
    assert_eq!(client.query("fetch h").rows(), ["y"]);
    client.query("begin");
    client.query("declare i cursor with hold for select 'z'");
    client.query("rollback");
    assert_eq!(client.query("fetch i").code(), "34000", "its transaction did not commit");
    assert_eq!(client.query("declare h cursor with hold for select 'y'").code(), "42P03");
    assert_eq!(client.query("discard all").completed(), ["DISCARD ALL"]);
    assert_eq!(client.query("fetch h").code(), "34000");
}

#[test]
fn no_scroll_goes_forward_only() {
    let (_server, mut client) = session(Limits::default());
    client.query(&format!("declare c no scroll cursor with hold for {ABC}"));
    client.query("fetch 2 from c");
    let refused = client.query("fetch prior from c");
    assert_eq!(refused.code(), "55000");
    assert_eq!(refused.error_field('M').unwrap(), "cursor can only scan forward");
    assert_eq!(client.query("fetch c").code(), "55000", "as PostgreSQL: it cannot be run any more");
}

#[test]
fn the_extended_protocol_chooses_the_format_of_a_fetch() {
    let (server, mut client) = session(Limits::default());
    client.query("begin");
    let value: &[Option<&[u8]>] = &[Some(b"7"), Some(b"x")];
    let declare = "declare c cursor for select $1::int4, $2::text";
    let declared = client.batch(&[
        parse("", declare, &[]),
        bind_all("", "", &[], value, &[]),
        describe('P', ""),
        execute("", 0),
    ]);
    assert_eq!(
        (declared.tags().as_str(), declared.completed()),
        ("12nCZ", vec!["DECLARE CURSOR".to_owned()])
    );
    let fetch = |result: i16| {
        [
            parse("", "fetch absolute 1 from c", &[]),
            bind_all("", "", &[], &[], &[result]),
            describe('P', ""),
            execute("", 0),
        ]
    };
    for (format, cell) in [(0, &b"\0\0\0\x017"[..]), (1, b"\0\0\0\x04\0\0\0\x07")] {
        let reply = client.batch(&fetch(format));
        assert_eq!(reply.tags(), "12TDCZ");
        assert_eq!(columns(&reply.0[2].body)[1], (TEXT, format));
        assert!(reply.0[3].body[2..].starts_with(cell), "{reply:?}");
    }
    assert_eq!(server.seen.ran().len(), 1, "FETCH asks for nothing");
    client.query("declare b binary cursor for select 'x'");
    let reply = client.query("fetch b");
    assert_eq!(columns(&reply.0[0].body), [(TEXT, 1)], "BINARY is the simple protocol's way to ask");
}

#[test]
fn fetch_obeys_a_row_limit_and_portals_are_cursors() {
    let (server, mut client) = session(Limits::default());
    client.query("begin");
    client.query(&format!("declare c cursor for {ABC}"));
    let reply =
        client.batch(&[parse("", "fetch all from c", &[]), bind("p", ""), execute("p", 2), execute("p", 2)]);
    assert_eq!((reply.tags().as_str(), reply.completed()), ("12DDsDCZ", vec!["FETCH 1".to_owned()]));
    // A cursor of SQL is a portal of the protocol.
    client.query("move absolute 1 in c");
    let reply = client.batch(&[describe('P', "c"), execute("c", 1), execute("c", 0)]);
    assert_eq!((reply.tags().as_str(), reply.completed()), ("TDsDCZ", vec!["SELECT 1".to_owned()]));
    // And the other way round: it runs when its first row is fetched.
    client.batch(&[parse("s", "rows 3", &[]), bind("q", "s")]);
    assert_eq!(server.seen.ran().len(), 1);
    assert_eq!(client.query("fetch 2 from q").rows().len(), 2);
    let reply = client.batch(&[execute("q", 0)]);
    assert_eq!((reply.rows().len(), reply.completed()), (1, vec!["SELECT 1".to_owned()]));
    assert_eq!(server.seen.ran().len(), 2);
    assert_eq!(client.query("fetch prior from q").code(), "55000");
}

#[test]
fn savepoints_take_their_cursors_with_them() {
    let (_server, mut client) = session(Limits::default());
    client.query("begin");
    client.query("declare a cursor for select 'a'");
    client.query("savepoint s");
    client.query("declare b cursor for select 'b'");
    client.query("nonsense");
    assert_eq!(client.query("fetch a").code(), "25P02");
    client.query("rollback to s");
    assert_eq!(client.query("fetch a").rows(), ["a"]);
    assert_eq!(client.query("fetch b").code(), "34000");
}

#[test]
fn what_memory_does_not_hold_goes_to_disk() {
    // Of 200 rows of 1010 bytes, twice, 100 kB are in memory.
    let limits = Limits { max_portal_bytes: 100_000, max_spool_bytes: 1 << 20, ..Limits::default() };
    let (_server, mut client) = session(limits);
    client.query("begin");
    client.query("declare c scroll cursor for rows 200");
    assert_eq!(client.query("fetch all from c").rows().len(), 200);
    let back = client.query("fetch backward all from c").rows();
    assert!(back.len() == 200 && back[0].ends_with("199") && back[199].ends_with("000"));
    let refused = client.query("declare d cursor for rows 1000");
    assert_eq!(refused.code(), "54000");
    assert!(refused.error_field('H').unwrap().contains("limits.max_spool_bytes"));
    client.query("rollback");
    client.query("begin");
    assert_eq!(client.query("declare e cursor for endless").code(), "54000");
    client.query("rollback");
    assert_eq!(
        client.query("begin; declare c cursor for rows 200; fetch c").rows().len(),
        1,
        "all room is free again"
    );
}

#[test]
fn definitions_are_refused_as_postgresql_refuses_them() {
    let (server, mut client) = session(Limits::default());
    client.query("begin");
    for (sql, code, message) in [
        ("declare \"\" cursor for select 'x'", "34000", "invalid cursor name: must not be empty"),
        ("declare c cursor for select $1::text", "42P02", "there is no parameter $1"),
        ("fetch nothing", "34000", "cursor \"nothing\" does not exist"),
        ("move all in nothing", "34000", "cursor \"nothing\" does not exist"),
    ] {
        client.query("savepoint s");
        let refused = client.query(sql);
        assert_eq!((refused.code().as_str(), refused.error_field('M').unwrap().as_str()), (code, message));
        client.query("rollback to s");
    }
    assert_eq!(server.seen.ran(), [""; 0]);
}
