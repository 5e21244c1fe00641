//! COPY … TO STDOUT on the wire. What its formats look like is tested beside them.

use crate::batch::{all_of, bind, parse};
use crate::fake::Harness;
use crate::raw::Reply;

/// All that was copied.
fn copied(reply: &Reply) -> Vec<u8> {
    reply.0.iter().filter(|m| m.tag == 'd').flat_map(|m| m.body.clone()).collect()
}

#[test]
fn rows_go_out_in_the_format_asked_for() {
    let (_server, mut client) = Harness::session();
    let rows = "values ('a'),('b')";
    let reply = client.query(&format!("copy ({rows}) to stdout"));
    assert_eq!((reply.tags().as_str(), reply.completed()), ("HddcCZ", vec!["COPY 2".to_owned()]));
    assert_eq!(reply.0[0].body, b"\0\0\x01\0\0");
    assert_eq!(copied(&reply), b"a\nb\n");
    let reply = client.query(&format!("copy ({rows}) to stdout (format csv, header, force_quote *)"));
    assert_eq!((reply.tags().as_str(), copied(&reply)), ("HdddcCZ", b"answer\n\"a\"\n\"b\"\n".to_vec()));
    // By the extended protocol, which describes no columns.
    let reply = client.batch(&[all_of(&format!("copy ({rows}) to stdout with binary"))]);
    assert_eq!((reply.tags().as_str(), reply.completed()), ("12nHdddcCZ", vec!["COPY 2".to_owned()]));
    assert_eq!(reply.0[3].body, b"\x01\0\x01\0\x01");
    let row = |cell: &[u8]| [b"\0\x01\0\0\0\x01", cell].concat();
    let head = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
    assert_eq!(copied(&reply), [head, row(b"a"), row(b"b"), b"\xff\xff".to_vec()].concat());
}

#[test]
fn what_is_wrong_is_told_before_anything_runs() {
    let (server, mut client) = Harness::session();
    let reply = client.query("copy (select 'x') to stdout (format csv, force_quote (nothing))");
    assert_eq!((reply.tags().as_str(), reply.code().as_str()), ("EZ", "42703"));
    assert_eq!(client.query("copy (select $1::text) to stdout").code(), "42P02");
    let reply = client.batch(&[parse("", "copy (select $1::text) to stdout", &[]), bind("", "")]);
    assert_eq!(reply.code(), "42P02");
    assert_eq!(server.seen.ran(), [""; 0]);
}

#[test]
fn an_error_among_the_rows_ends_the_copy() {
    let (_server, mut client) = Harness::session();
    let reply = client.query("copy (half) to stdout");
    assert_eq!((reply.tags().as_str(), reply.code().as_str()), ("HdEZ", "XX000"));
    assert_eq!(client.query("select 'on'").rows(), ["on"]);
}
