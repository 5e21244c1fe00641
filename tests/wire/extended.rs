//! Parse, Bind, Describe, Execute, Close: one at a time, as PostgreSQL answers them.

use crate::batch::{bind, bind_all, close, describe, execute, flush, parse};
use crate::fake::Harness;
use crate::raw::{Client, message, query};
use crate::session::{INT4, TEXT};

/// DataRow bodies.
fn rows(reply: &crate::raw::Reply) -> Vec<Vec<u8>> {
    reply.0.iter().filter(|m| m.tag == 'D').map(|m| m.body.clone()).collect()
}

#[test]
fn a_batch_of_everything() {
    let (server, mut client) = Harness::session();
    let reply = client.batch(&[
        parse("", "select $1::int4, $2::text", &[]),
        describe('S', ""),
        bind_all("", "", &[0], &[Some(b"7"), Some(b"seven")], &[]),
        describe('P', ""),
        execute("", 0),
        close('P', ""),
        close('S', ""),
    ]);
    assert_eq!(reply.tags(), "1tT2TDC33Z");
    assert_eq!(reply.0[1].body, [&[0, 2][..], &INT4.to_be_bytes(), &TEXT.to_be_bytes()].concat());
    assert_eq!(crate::batch::columns(&reply.0[2].body), [(INT4, 0), (TEXT, 0)]);
    assert_eq!(rows(&reply), [b"\0\x02\0\0\0\x017\0\0\0\x05seven"]);
    assert_eq!(reply.completed(), ["SELECT 1"]);
    assert_eq!(server.seen.ran(), ["select $1::int4, $2::text"]);
    let prepared = server.seen.prepared();
    assert_eq!(prepared, ["describe select $1::int4, $2::text", "bind select $1::int4, $2::text"]);
}

#[test]
fn only_execute_runs_the_statement() {
    let (server, mut client) = Harness::session();
    let reply = client.batch(&[
        parse("s", "select 1", &[]),
        describe('S', "s"),
        bind("p", "s"),
        describe('P', "p"),
        close('P', "p"),
    ]);
    assert_eq!(reply.tags(), "1tT2T3Z");
    assert_eq!(server.seen.ran(), [""; 0]);
}

#[test]
fn formats_are_none_one_or_one_for_each() {
    let (_server, mut client) = Harness::session();
    client.batch(&[parse("s", "select $1::int4, $2::int4", &[])]);
    let seven = Some(&b"\0\0\0\x07"[..]);
    for (formats, values, results, columns, row) in [
        (&[][..], [Some(&b"7"[..]), None], &[][..], [0, 0], &b"\0\x02\0\0\0\x017\xff\xff\xff\xff"[..]),
        (&[0], [Some(b"7"), None], &[1], [1, 1], b"\0\x02\0\0\0\x04\0\0\0\x07\xff\xff\xff\xff"),
        (&[1], [seven, None], &[0, 1], [0, 1], b"\0\x02\0\0\0\x017\xff\xff\xff\xff"),
        (&[1, 0], [seven, Some(b"7")], &[1, 0], [1, 0], b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x017"),
    ] {
        let reply = client.batch(&[
            bind_all("", "s", formats, &values, results),
            describe('P', ""),
            execute("", 0),
            describe('S', "s"),
        ]);
        assert_eq!(reply.tags(), "2TDCtTZ");
        let described = crate::batch::columns(&reply.0[1].body);
        assert_eq!(described, columns.map(|format| (INT4, format)));
        assert_eq!(rows(&reply), [row], "{formats:?} {values:?} {results:?}");
        assert_eq!(crate::batch::columns(&reply.0[5].body), [(INT4, 0), (INT4, 0)]);
    }
}

#[test]
fn counts_and_formats_that_do_not_fit_are_refused() {
    let (server, mut client) = Harness::session();
    client.batch(&[parse("s", "select $1::int4, $2::text", &[]), parse("c", "set x", &[])]);
    let one = Some(&b"1"[..]);
    for (bind, code, message) in [
        (
            bind_all("", "s", &[0, 0, 0], &[one, one], &[]),
            "08P01",
            "bind message has 3 parameter formats but 2 parameters",
        ),
        (
            bind_all("", "s", &[], &[one], &[]),
            "08P01",
            "bind message supplies 1 parameters, but prepared statement \"s\" requires 2",
        ),
        (
            bind_all("", "s", &[], &[one; 3], &[]),
            "08P01",
            "bind message supplies 3 parameters, but prepared statement \"s\" requires 2",
        ),
        (
            bind_all("", "s", &[], &[one, one], &[0, 0, 0]),
            "08P01",
            "bind message has 3 result formats but query has 2 columns",
        ),
        (bind_all("", "s", &[2], &[one, one], &[]), "22023", "unsupported format code: 2"),
        (bind_all("", "s", &[0, -1], &[one, one], &[]), "22023", "unsupported format code: -1"),
        (bind_all("", "s", &[], &[one, one], &[7]), "22023", "unsupported format code: 7"),
        (bind_all("", "s", &[], &[Some(b"x"), one], &[]), "22P02", "invalid input syntax for type integer"),
    ] {
        let reply = client.batch(&[bind, execute("", 0)]);
        assert_eq!((reply.tags().as_str(), reply.code().as_str()), ("EZ", code), "{message}");
        assert_eq!(reply.error_field('M').unwrap(), message);
        assert_eq!(client.batch(&[execute("", 0)]).code(), "34000");
    }
    // What gives no rows does not care for the formats of rows.
    let reply = client.batch(&[bind_all("", "c", &[], &[], &[1, 1, 1]), execute("", 0)]);
    assert_eq!(reply.tags(), "2CSZ");
    assert_eq!(server.seen.ran(), ["set x"]);
}

#[test]
fn short_and_odd_messages_are_errors_up_to_sync() {
    let (server, mut client) = Harness::session();
    client.batch(&[parse("s", "select $1::int4", &[])]);
    for (tag, body) in [
        ('B', &b""[..]),
        ('B', b"\0"),
        ('B', b"\0s\0"),
        ('B', b"\0s\0\0\x01"),
        ('B', b"\0s\0\0\0\xff\xff"),
        ('B', b"\0s\0\0\0\0\x01\0\0\0\x09ab"),
        ('B', b"\0s\0\0\0\0\x01\x7f\xff\xff\xff"),
        ('B', b"\0s\0\0\0\0\x01\xff\xff\xff\xfe\0\0"),
        ('B', b"\0s\0\0\0\0\x01\0\0\0\x011\0\0more"),
        ('P', b""),
        ('P', b"name"),
        ('P', b"\0select 1\0"),
        ('P', b"\0select 1\0\xff\xff\0\0\0\x17"),
        ('D', b"Xname\0"),
        ('D', b"S"),
        ('C', b""),
        ('E', b"\0\0\0"),
        ('E', b"\0\0\0\0\0\0"),
    ] {
        let reply = client.batch(&[message(tag, body), query("select skipped"), execute("", 0)]);
        assert_eq!((reply.tags().as_str(), reply.code().as_str()), ("EZ", "08P01"), "{tag} {body:?}");
    }
    for text in [&b"\0select \xff\0\0\0"[..], b"\xff\0select 1\0\0\0"] {
        assert_eq!(client.batch(&[message('P', text)]).code(), "22021");
    }
    assert_eq!(server.seen.ran(), [""; 0]);
}

#[test]
fn nulls_empty_values_and_65535_parameters() {
    let (_server, mut client) = Harness::session();
    let reply = client.batch(&[
        parse("", "select $1::text, $2::text", &[]),
        bind_all("", "", &[], &[None, Some(b"")], &[]),
        execute("", 0),
    ]);
    assert_eq!(rows(&reply), [b"\0\x02\xff\xff\xff\xff\0\0\0\0"]);
    let mut values = vec![Some(&b"v"[..]); 65_535];
    values[7] = None;
    values[65_534] = Some(b"end");
    let formats = vec![0; 65_535];
    let reply = client.batch(&[
        parse("", "parameters 65535", &vec![0; 65_535]),
        describe('S', ""),
        bind_all("", "", &formats, &values, &[]),
        execute("", 0),
    ]);
    assert_eq!(reply.tags(), "1tT2DCZ");
    assert_eq!(reply.0[1].body.len(), 2 + 4 * 65_535);
    assert_eq!(reply.rows(), ["65535 values, 1 null, last end"]);
    let reply = client.batch(&[parse("", "parameters 65536", &[])]);
    assert_eq!(reply.code(), "54000");
}

#[test]
fn types_of_parameters_are_handed_on() {
    let (_server, mut client) = Harness::session();
    let parameters = |client: &mut Client, sql: &str, types: &[u32]| {
        let reply = client.batch(&[parse("", sql, types), describe('S', "")]);
        reply.0.into_iter().find(|m| m.tag == 't').map(|m| m.body[2..].to_vec())
    };
    let text = TEXT.to_be_bytes();
    assert_eq!(parameters(&mut client, "select $1::text", &[0]), Some(text.to_vec()));
    assert_eq!(parameters(&mut client, "select $1::text", &[TEXT, TEXT]), Some([text, text].concat()));
    assert_eq!(parameters(&mut client, "begin", &[TEXT]), Some(text.to_vec()), "what is declared counts");
    assert_eq!(parameters(&mut client, "", &[0]), Some(vec![0; 4]));
    for sql in ["select $1::text", "begin"] {
        assert_eq!(client.batch(&[parse("", sql, &[TEXT, 0])]).code(), "42P18", "{sql}");
    }
}

#[test]
fn empty_queries_have_no_data_and_run_as_often_as_one_likes() {
    let (_server, mut client) = Harness::session();
    for empty in ["", " ; "] {
        let reply = client.batch(&[
            parse("", empty, &[]),
            describe('S', ""),
            bind_all("", "", &[], &[], &[1]),
            describe('P', ""),
            execute("", 0),
            execute("", 1),
        ]);
        assert_eq!(reply.tags(), "1tn2nIIZ");
    }
}

#[test]
fn several_statements_cannot_be_prepared() {
    let (server, mut client) = Harness::session();
    let reply = client.batch(&[parse("", "select 1; select 2", &[])]);
    assert_eq!((reply.tags().as_str(), reply.code().as_str()), ("EZ", "42601"));
    let message = reply.error_field('M').unwrap();
    assert_eq!(message, "cannot insert multiple commands into a prepared statement");
    assert_eq!(server.seen.prepared(), [""; 0]);
}

#[test]
fn notices_come_before_rows_and_errors_and_settings_before_ready() {
    let (_server, mut client) = Harness::session();
    let batch = |sql: &str| [parse("", sql, &[]), bind("", ""), execute("", 0)];
    assert_eq!(client.batch(&batch("notice")).tags(), "12NNDCZ");
    let reply = client.batch(&batch("notice and fail"));
    assert_eq!((reply.tags().as_str(), reply.code().as_str()), ("12NNEZ", "53400"));
    let reply = client.batch(&batch("set report"));
    assert_eq!(reply.tags(), "12CSZ");
    assert_eq!(reply.0[3].body, b"application_name\0report\0");
}

#[test]
fn an_outcome_that_was_not_described_is_an_incident() {
    let (_server, mut client) = Harness::session();
    for (sql, results, tags) in [
        ("lie number", 0, "12TEZ"),
        ("lie type", 0, "12TEZ"),
        ("lie format", 1, "12TEZ"),
        ("lie none", 0, "12TEZ"),
        ("lie rows", 0, "12nEZ"),
        ("misshapen", 0, "12TEZ"),
    ] {
        let bind = bind_all("", "", &[], &[], &[results]);
        let reply = client.batch(&[parse("", sql, &[]), bind, describe('P', ""), execute("", 0)]);
        assert_eq!((reply.tags().as_str(), reply.code().as_str()), (tags, "XX000"), "{sql}");
        assert!(reply.error_field('D').unwrap().starts_with("Incident "));
        assert_eq!(reply.error_field('M').unwrap(), "internal error");
    }
    assert_eq!(client.query("select 1").rows(), ["1"]);
}

#[test]
fn errors_may_come_after_rows() {
    let (_server, mut client) = Harness::session();
    let reply = client.batch(&[parse("", "half", &[]), bind("", ""), execute("", 0), execute("", 0)]);
    assert_eq!((reply.tags().as_str(), reply.status()), ("12DEZ", Some('I')));
    let reply = client.batch(&[parse("", "explain x", &[]), bind("", ""), execute("", 0)]);
    assert_eq!(reply.completed(), ["EXPLAIN"]);
}

#[test]
fn flush_sends_what_is_there_without_ready() {
    let (_server, mut client) = Harness::session();
    client.send(&[parse("", "select 1", &[]), describe('S', ""), flush()].concat());
    assert_eq!(client.until('T').tags(), "1tT");
    client.send(&[bind("", ""), execute("", 0), flush()].concat());
    assert_eq!(client.until('C').tags(), "2DC");
    assert_eq!(client.batch(&[]).tags(), "Z");
}
