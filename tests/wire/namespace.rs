//! Names of statements and portals: who takes them, who gives them up, and the statements of SQL about them.

use crate::batch::{bind, close, describe, execute, parse};
use crate::fake::Harness;
use crate::raw::Client;
use noisegate::policy::Limits;

#[test]
fn names_that_are_taken_and_names_that_are_not() {
    let (server, mut client) = Harness::session();
    client.batch(&[parse("s", "select 1", &[]), parse("", "select 0", &[])]);
    let taken = client.batch(&[parse("s", "select 2", &[])]);
    assert_eq!(taken.code(), "42P05");
    assert_eq!(taken.error_field('M').unwrap(), "prepared statement \"s\" already exists");
    assert_eq!(server.seen.prepared().len(), 2, "it was not worth a question to the database");
    let taken = client.batch(&[bind("p", "s"), bind("p", "s")]);
    assert_eq!((taken.tags().as_str(), taken.code().as_str()), ("2EZ", "42P03"));
    assert_eq!(taken.error_field('M').unwrap(), "cursor \"p\" already exists");
    let unnamed = client.batch(&[bind("", "s"), bind("", ""), execute("", 0)]);
    assert_eq!((unnamed.tags().as_str(), unnamed.rows()), ("22DCZ", vec!["0".to_owned()]));
    for (messages, code, message) in [
        (vec![bind("", "x")], "26000", "prepared statement \"x\" does not exist"),
        (vec![describe('S', "x")], "26000", "prepared statement \"x\" does not exist"),
        (vec![close('S', ""), bind("", "")], "26000", "unnamed prepared statement does not exist"),
        (vec![describe('P', "x")], "34000", "portal \"x\" does not exist"),
        (vec![execute("x", 0)], "34000", "portal \"x\" does not exist"),
        (vec![execute("", 0)], "34000", "portal \"\" does not exist"),
    ] {
        let reply = client.batch(&messages);
        assert_eq!((reply.code().as_str(), reply.error_field('M').unwrap().as_str()), (code, message));
    }
    assert_eq!(client.batch(&[close('S', "x"), close('P', "x"), close('P', "")]).tags(), "333Z");
    assert_eq!(client.batch(&[bind("", "s"), execute("", 0)]).rows(), ["1"]);
}

#[test]
fn a_failed_parse_leaves_no_unnamed_statement() {
    let (_server, mut client) = Harness::session();
    client.batch(&[parse("", "select 1", &[])]);
    assert_eq!(client.batch(&[parse("", "syntax error", &[])]).code(), "42601");
    assert_eq!(client.batch(&[bind("", "")]).code(), "26000");
}

#[test]
fn a_simple_query_ends_the_unnamed_ones() {
    let (_server, mut client) = Harness::session();
    client.query("begin");
    client.batch(&[parse("", "select 1", &[]), parse("s", "select 2", &[]), bind("", "s"), bind("p", "s")]);
    client.query("select 3");
    assert_eq!(client.batch(&[execute("p", 0)]).rows(), ["2"]);
    assert_eq!(client.batch(&[describe('P', "")]).code(), "34000");
    client.query("rollback");
    assert_eq!(client.batch(&[bind("", "")]).code(), "26000");
    assert_eq!(client.batch(&[bind("", "s"), execute("", 0)]).rows(), ["2"]);
}

#[test]
fn closing_a_statement_leaves_its_portals() {
    let (_server, mut client) = Harness::session();
    let reply = client.batch(&[
        parse("s", "select 1", &[]),
        bind("p", "s"),
        close('S', "s"),
        describe('P', "p"),
        execute("p", 0),
    ]);
    assert_eq!((reply.tags().as_str(), reply.rows()), ("123TDCZ", vec!["1".to_owned()]));
    assert_eq!(client.batch(&[bind("", "s")]).code(), "26000");
}

#[test]
fn deallocate_and_the_protocol_share_one_namespace() {
    let (_server, mut client) = Harness::session();
    let prepare = [parse("a", "select 1", &[]), parse("b", "select 2", &[]), parse("", "select 3", &[])];
    client.batch(&prepare);
    let batch = [parse("d", "deallocate a", &[]), describe('S', "d"), bind("", "d"), execute("", 0)];
    let reply = client.batch(&batch);
    assert_eq!((reply.tags().as_str(), reply.completed()), ("1tn2CZ", vec!["DEALLOCATE".to_owned()]));
    assert_eq!(client.batch(&[bind("", "a")]).code(), "26000");
    let again = client.batch(&[bind("", "d"), execute("", 0)]);
    assert_eq!((again.tags().as_str(), again.code().as_str()), ("2EZ", "26000"));
    assert_eq!(client.query("deallocate a").code(), "26000");
    let batch = [parse("", "deallocate all", &[]), bind("", ""), execute("", 0)];
    assert_eq!(client.batch(&batch).completed(), ["DEALLOCATE ALL"]);
    assert_eq!(client.batch(&[bind("", "b")]).code(), "26000");
    assert_eq!(client.batch(&[bind("", "")]).tags(), "2Z", "SQL does not know the unnamed statement");
}

#[test]
fn close_ends_portals() {
    let (_server, mut client) = Harness::session();
    assert_eq!(client.query("close p").code(), "34000");
    client.query("begin");
    client.batch(&[parse("s", "select 1", &[]), bind("p", "s"), bind("q", "s"), bind("r", "s")]);
    assert_eq!(client.query("close p").completed(), ["CLOSE CURSOR"]);
    assert_eq!(client.batch(&[describe('P', "q"), describe('P', "r")]).tags(), "TTZ");
    assert_eq!(client.query("close all").completed(), ["CLOSE CURSOR ALL"]);
    assert_eq!(client.batch(&[describe('P', "q")]).code(), "34000");
    assert_eq!(client.query("close q").code(), "25P02");
    client.query("rollback");
    client.batch(&[parse("one", "close p", &[]), parse("all", "close all", &[])]);
    let reply = client.batch(&[bind("p", "s"), bind("", "one"), execute("", 0), execute("p", 0)]);
    assert_eq!((reply.completed(), reply.code()), (vec!["CLOSE CURSOR".to_owned()], "34000".to_owned()));
    let reply = client.batch(&[bind("p", "one"), execute("p", 0)]);
    assert_eq!(reply.error_field('M').unwrap(), "cannot drop active portal \"p\"");
    let reply = client.batch(&[bind("p", "s"), bind("q", "all"), execute("q", 0), execute("p", 0)]);
    assert_eq!((reply.completed(), reply.code()), (vec!["CLOSE CURSOR ALL".to_owned()], "34000".to_owned()));
}

#[test]
fn discard_all_ends_everything_but_no_transaction() {
    let (_server, mut client) = Harness::session();
    client.batch(&[parse("s", "select 1", &[])]);
    client.query("begin");
    let refused = client.query("discard all");
    assert_eq!((refused.code().as_str(), refused.status()), ("25001", Some('E')));
    client.query("rollback");
    assert_eq!(client.batch(&[bind("", "s")]).tags(), "2Z");
    assert_eq!(client.query("discard all").completed(), ["DISCARD ALL"]);
    assert_eq!(client.batch(&[bind("", "s")]).code(), "26000");
    let steps = client.query("steps").rows().remove(0);
    assert!(steps.ends_with("DiscardAll]"), "the session hears of it: {steps}");
}

#[test]
fn statements_outlive_transactions_and_portals_do_not() {
    let (_server, mut client) = Harness::session();
    client.query("begin");
    client.batch(&[parse("s", "select 1", &[]), bind("p", "s")]);
    assert_eq!(client.batch(&[execute("p", 0)]).rows(), ["1"], "Sync does not end a transaction block");
    client.query("rollback");
    assert_eq!(client.batch(&[execute("p", 0)]).code(), "34000");
    assert_eq!(client.batch(&[bind("p", "s"), execute("p", 0)]).rows(), ["1"]);
    assert_eq!(client.batch(&[execute("p", 0)]).code(), "34000", "outside of a block Sync does");
    client.batch(&[parse("c", "commit", &[]), parse("b", "begin", &[])]);
    let reply = client.batch(&[
        bind("early", "s"),
        bind("", "b"),
        execute("", 0),
        execute("early", 0),
        bind("q", "s"),
        bind("", "c"),
        execute("", 0),
        describe('P', "q"),
    ]);
    assert_eq!(reply.tags(), "22CDC22CEZ", "COMMIT ends portals at once");
    assert_eq!(reply.code(), "34000");
}

#[test]
fn savepoints_end_the_portals_made_since() {
    let (_server, mut client) = Harness::session();
    client.query("begin");
    client.batch(&[parse("s", "select 1", &[]), bind("outer", "s")]);
    client.query("savepoint a");
    client.batch(&[bind("inner", "s")]);
    client.query("nonsense");
    client.query("rollback to a");
    assert_eq!(client.batch(&[execute("outer", 0)]).rows(), ["1"]);
    assert_eq!(client.batch(&[execute("inner", 0)]).code(), "34000");
}

#[test]
fn statements_and_portals_are_limited_in_number() {
    let limits = Limits { max_prepared: 2, max_portals: 2, ..Limits::default() };
    let server = Harness::with(limits, None);
    let mut client = Client::login(server.address, "ana");
    let two = [parse("a", "select 1", &[]), parse("b", "select 1", &[]), parse("", "select 1", &[])];
    assert_eq!(client.batch(&two).tags(), "111Z");
    let refused = client.batch(&[parse("c", "select 1", &[])]);
    assert_eq!(refused.code(), "54000");
    let hint = refused.error_field('H').unwrap();
    assert!(hint.contains("DEALLOCATE") && hint.contains("limits.max_prepared"), "{hint}");
    client.query("deallocate a");
    let mut next = Client::login(server.address, "ana");
    assert_eq!(next.batch(&two).tags(), "111Z", "the limit is a session's own");
    assert_eq!(client.batch(&[parse("c", "select 1", &[])]).tags(), "1Z");

    client.query("begin");
    assert_eq!(client.batch(&[bind("p", "c"), bind("q", "c"), bind("", "c"), bind("", "c")]).tags(), "2222Z");
    let refused = client.batch(&[bind("r", "c")]);
    assert_eq!(refused.code(), "54000");
    let hint = refused.error_field('H').unwrap();
    assert!(hint.contains("Close message") && hint.contains("limits.max_portals"), "{hint}");
    client.query("rollback");
    client.query("begin");
    assert_eq!(
        client.batch(&[bind("r", "c"), close('P', "r"), bind("p", "c"), bind("q", "c")]).tags(),
        "2322Z"
    );
}

#[test]
fn sql_prepares_and_executes_what_the_protocol_can_bind_too() {
    let server = Harness::new();
    let mut client = Client::login(server.address, "ana");
    let prepared = client.query("prepare p as select 'x'");
    assert_eq!((prepared.tags().as_str(), prepared.completed()), ("CZ", vec!["PREPARE".to_owned()]));
    assert_eq!(client.query("prepare p as select 'y'").code(), "42P05");
    assert_eq!(server.seen.ran(), [""; 0]);
    let executed = client.query("execute p");
    assert_eq!((executed.tags().as_str(), executed.rows()), ("TDCZ", vec!["x".to_owned()]));
    let bound = client.batch(&[bind("", "p"), execute("", 0)]);
    assert_eq!(bound.rows(), ["x"]);
    let by_parse =
        client.batch(&[parse("", "execute p", &[]), bind("", ""), describe('P', ""), execute("", 0)]);
    assert_eq!((by_parse.tags().as_str(), by_parse.rows()), ("12TDCZ", vec!["x".to_owned()]));
    client.batch(&[parse("q", "select $1::text", &[])]);
    let few = client.query("execute q");
    assert_eq!(
        (few.code().as_str(), few.error_field('D').unwrap().as_str()),
        ("42601", "Expected 1 parameters but got 0.")
    );
    client.query("deallocate p");
    assert_eq!(client.query("execute p").code(), "26000");
    assert_eq!(client.batch(&[parse("", "prepare r as select 'x'", &[])]).code(), "0A000");
}
