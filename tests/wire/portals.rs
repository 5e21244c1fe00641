//! Row limits: suspended portals, their memory, and that they run once.

use crate::batch::{bind, bind_all, close, execute, parse};
use crate::fake::Harness;
use crate::raw::Client;
use noisegate::policy::Limits;
use std::sync::atomic::Ordering;

fn session(limits: Limits) -> (Harness, Client) {
    let server = Harness::with(limits, None);
    let client = Client::login(server.address, "ana");
    (server, client)
}

#[test]
fn a_row_limit_suspends_and_later_executes_go_on() {
    let (server, mut client) = session(Limits::default());
    client.query("begin");
    client.batch(&[parse("s", "rows 5", &[]), bind("p", "s")]);
    let first = client.batch(&[execute("p", 2)]);
    assert_eq!(first.tags(), "DDsZ");
    assert_eq!(server.seen.rows.load(Ordering::SeqCst), 5, "the rest was read right then");
    assert_eq!(client.query("select meanwhile").rows(), ["meanwhile"]);
    let second = client.batch(&[execute("p", 2)]);
    assert_eq!(second.tags(), "DDsZ");
    assert!(second.rows()[0].ends_with("02") && second.rows()[1].ends_with("03"));
    let last = client.batch(&[execute("p", 2)]);
    assert_eq!((last.tags().as_str(), last.completed()), ("DCZ", vec!["SELECT 1".to_owned()]));
    let over = client.batch(&[execute("p", 2), execute("p", 0)]);
    assert_eq!((over.tags().as_str(), over.completed()), ("CCZ", vec!["SELECT 0".to_owned(); 2]));
    assert_eq!(server.seen.ran(), ["rows 5", "select meanwhile"], "it ran once");
}

#[test]
fn as_many_rows_as_the_limit_still_suspend() {
    let (_server, mut client) = session(Limits::default());
    client.batch(&[parse("s", "rows 2", &[])]);
    let reply = client.batch(&[bind("", "s"), execute("", 2), execute("", 2)]);
    assert_eq!((reply.tags().as_str(), reply.completed()), ("2DDsCZ", vec!["SELECT 0".to_owned()]));
    let reply = client.batch(&[bind("", "s"), execute("", 3), execute("", 3)]);
    assert_eq!(reply.completed(), ["SELECT 2", "SELECT 0"]);
    let reply = client.batch(&[bind("", "s"), execute("", 1), execute("", 0)]);
    assert_eq!((reply.tags().as_str(), reply.completed()), ("2DsDCZ", vec!["SELECT 1".to_owned()]));
    client.batch(&[parse("e", "explain x", &[])]);
    let reply = client.batch(&[bind("", "e"), execute("", 0), execute("", 0)]);
    assert_eq!(reply.completed(), ["EXPLAIN", "EXPLAIN"]);
}

#[test]
fn limits_of_zero_and_below_mean_all() {
    let (_server, mut client) = session(Limits::default());
    for limit in [0, -1, i32::MIN, i32::MAX] {
        let reply = client.batch(&[parse("", "rows 3", &[]), bind("", ""), execute("", limit)]);
        assert_eq!(reply.completed(), ["SELECT 3"], "{limit}");
    }
}

#[test]
fn what_gives_no_rows_runs_once() {
    let (server, mut client) = session(Limits::default());
    for sql in ["set x", "begin"] {
        let reply = client.batch(&[parse("", sql, &[]), bind("", ""), execute("", 1), execute("", 1)]);
        assert_eq!(reply.code(), "55000", "{sql}: {reply:?}");
        assert_eq!(reply.error_field('M').unwrap(), "portal \"\" cannot be run");
    }
    assert_eq!(server.seen.ran(), ["set x"]);
}

#[test]
fn a_portal_that_failed_does_not_run_again() {
    let (server, mut client) = session(Limits::default());
    client.query("begin");
    client.query("savepoint a");
    client.batch(&[parse("s", "notice and fail", &[])]);
    assert_eq!(client.batch(&[bind("p", "s"), execute("p", 0), execute("p", 0)]).code(), "53400");
    assert_eq!(client.batch(&[execute("p", 0)]).code(), "25P02");
    client.query("rollback to a");
    assert_eq!(client.batch(&[execute("p", 0)]).code(), "34000");
    assert_eq!(server.seen.ran(), ["notice and fail"]);
}

#[test]
fn the_rest_of_the_rows_is_limited_in_bytes() {
    // A row is 1006 bytes, and 4 more for keeping it. Of four rows the first portal's go to memory, the second's to disk.
    let limits = Limits { max_portal_bytes: 8_000, max_spool_bytes: 5_000, ..Limits::default() };
    let (server, mut client) = session(limits);
    client.query("begin");
    client.batch(&[parse("s", "rows 5", &[]), parse("endless", "endless", &[])]);
    let reply = client.batch(&[bind("p", "s"), execute("p", 1), bind("q", "s"), execute("q", 1)]);
    assert_eq!(reply.tags(), "2Ds2DsZ");
    let reply = client.batch(&[bind("r", "s"), execute("r", 1)]);
    assert_eq!((reply.tags().as_str(), reply.code().as_str()), ("2DEZ", "54000"));
    let hint = reply.error_field('H').unwrap();
    assert!(hint.contains("row limit") && hint.contains("limits.max_portal_bytes"), "{hint}");
    client.query("rollback");

    client.query("begin");
    client.batch(&[bind("p", "s"), execute("p", 1), bind("q", "s"), execute("q", 1)]);
    let reply = client.batch(&[close('P', "q"), bind("r", "s"), execute("r", 1)]);
    assert_eq!(reply.tags(), "32DsZ", "Close gives the room back");
    let reply = client.batch(&[execute("r", 4), bind("t", "s"), execute("t", 1)]);
    assert_eq!(reply.tags(), "DDDDs2DsZ", "and so do rows that went out");
    let before = server.seen.rows.load(Ordering::SeqCst);
    let reply = client.batch(&[close('P', "p"), bind("p", "endless"), execute("p", 1)]);
    assert_eq!(reply.code(), "54000");
    // As many rows as fill the block that is written.
    assert!(server.seen.rows.load(Ordering::SeqCst) - before < 10_000);
}

#[test]
fn values_of_named_portals_are_limited_too() {
    let (_server, mut client) = session(Limits { max_portal_bytes: 10_000, ..Limits::default() });
    client.query("begin");
    client.batch(&[parse("s", "select $1::text", &[])]);
    let value = vec![b'v'; 4_000];
    let bind = |name: &str| bind_all(name, "s", &[], &[Some(&value)], &[]);
    assert_eq!(client.batch(&[bind("p"), bind("q"), bind(""), bind("")]).tags(), "2222Z");
    let refused = client.batch(&[bind("r")]);
    assert_eq!(refused.code(), "54000");
    assert!(refused.error_field('H').unwrap().contains("limits.max_portal_bytes"));
}

#[test]
fn a_failed_transaction_runs_nothing_but_its_end() {
    let (server, mut client) = session(Limits::default());
    client.batch(&[
        parse("s", "select 1", &[]),
        parse("rows", "rows 3", &[]),
        parse("set", "set x", &[]),
        parse("rollback", "rollback", &[]),
        parse("commit", "commit", &[]),
        parse("empty", "", &[]),
    ]);
    client.query("begin");
    let reply = client.batch(&[bind("p", "s"), bind("q", "rows"), execute("q", 1), bind("e", "empty")]);
    assert_eq!(reply.tags(), "22Ds2Z");
    assert_eq!(client.query("nonsense").status(), Some('E'));
    let ran = server.seen.ran();
    use crate::batch::describe;
    for (message, code) in [
        (parse("", "select 1", &[]), "25P02"),
        (parse("", "begin", &[]), "25P02"),
        (parse("", "deallocate all", &[]), "25P02"),
        (parse("", "syntax error", &[]), "42601"),
        (bind("", "s"), "25P02"),
        (bind("", "empty"), "25P02"),
        (bind("", "x"), "26000"),
        (execute("p", 0), "25P02"),
        (execute("q", 0), "25P02"),
        (execute("x", 0), "34000"),
        (describe('S', "s"), "25P02"),
        (describe('P', "p"), "25P02"),
    ] {
        let reply = client.batch(&[message]);
        assert_eq!((reply.code().as_str(), reply.status()), (code, Some('E')), "{reply:?}");
    }
    for (messages, tags) in [
        (vec![parse("", "", &[]), parse("", "rollback", &[])], "11Z"),
        (vec![describe('S', "set"), describe('S', "rollback")], "tntnZ"),
        (vec![execute("e", 0), close('P', "p"), close('S', "s")], "I33Z"),
    ] {
        let reply = client.batch(&messages);
        assert_eq!((reply.tags().as_str(), reply.status()), (tags, Some('E')));
    }
    assert_eq!(server.seen.ran(), ran);
    let reply = client.batch(&[bind("", "commit"), execute("", 0)]);
    assert_eq!((reply.completed(), reply.status()), (vec!["ROLLBACK".to_owned()], Some('I')));
}
