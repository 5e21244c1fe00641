//! Defects of pgwire 0.42.1 that must not come back with it: login errors that let the client in, a row limit
//! that aborts the process, plain text that passes for encrypted, short messages that panic, silent closes.

use crate::batch::{bind, bind_all, execute, parse};
use crate::fake::Harness;
use crate::raw::{Client, message, query, startup};

#[test]
fn s1_an_error_at_startup_never_lets_a_query_run() {
    let server = Harness::new();
    let sasl_garbage = message('p', b"SCRAM-SHA-256\0\0\0\0\x03abc");
    let cases: [(&str, Vec<u8>, &str); 5] = [
        ("broken", Vec::new(), "57P03"),
        ("nobody", query("select 2"), "08P01"),
        ("sam", sasl_garbage.clone(), "08P01"),
        ("nobody", sasl_garbage, "08P01"),
        ("exploding", Vec::new(), "XX000"),
    ];
    for (user, between, code) in cases {
        let mut client = Client::connect(server.address);
        client.send(&[startup(&[("user", user)]), between, query("select 1")].concat());
        let reply = client.reply();
        assert!(reply.is_fatal(code), "{user}: {reply:?}");
        assert!(client.rest().is_empty());
    }
    assert_eq!(server.seen.ran(), [""; 0]);
    server.assert_alive();
}

#[test]
fn s2_no_row_limit_of_execute_aborts_the_process() {
    let server = Harness::new();
    let mut client = Client::login(server.address, "ana");
    for limit in [i32::MAX, -1, i32::MIN, 0] {
        let reply = client.batch(&[parse("", "select 1", &[]), bind("", ""), execute("", limit)]);
        assert_eq!((reply.tags().as_str(), reply.completed()), ("12DCZ", vec!["SELECT 1".to_owned()]));
    }
}

#[test]
fn s4_malformed_binds_are_errors_and_no_panics() {
    let server = Harness::new();
    let mut client = Client::login(server.address, "ana");
    for body in [&b""[..], b"\0", b"\0\0", b"\0\0\0\x01", b"\0\0\0\0\xff\xff", b"\0\0\0\0\0\x01\0\0\0\x09ab"]
    {
        let reply = client.batch(&[message('B', body), query("select 1")]);
        assert_eq!((reply.tags().as_str(), reply.code().as_str()), ("EZ", "08P01"), "{body:?}");
    }
    // Fewer result formats than columns.
    client.batch(&[parse("s", "select $1::int4, $2::int4, $3::int4", &[])]);
    let reply = client.batch(&[bind_all("", "s", &[], &[None; 3], &[0, 0]), execute("", 0)]);
    assert_eq!((reply.tags().as_str(), reply.code().as_str()), ("EZ", "08P01"));
    assert_eq!(server.seen.ran(), [""; 0]);
}

#[test]
fn s5_broken_framing_is_told_before_the_close() {
    let server = Harness::new();
    let mut sync_of_length_0 = message('S', b"");
    sync_of_length_0[4] = 0;
    let mut negative = query("select 1");
    negative[1] = 0xff;
    for (bytes, code) in [
        (message('y', b""), "08P01"),
        (vec![0; 64], "08P01"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), "08P01"),
        (sync_of_length_0, "08P01"),
        (negative, "08P01"),
        (b"S\x7f\xff\xff\xff".to_vec(), "08P01"),
        (b"Q\x7f\xff\xff\xff".to_vec(), "54000"),
        (message('Q', b"select 1"), "08P01"),
        (message('p', b"password\0"), "08P01"),
    ] {
        let mut client = Client::login(server.address, "ana");
        client.send(&bytes);
        let reply = client.reply();
        assert!(reply.is_fatal(code), "{bytes:?}: {reply:?}");
        assert!(client.rest().is_empty());
    }
    assert_eq!(server.seen.ran(), [""; 0]);
    server.assert_alive();
}

#[test]
fn copy_data_outside_of_copy_is_ignored_and_function_calls_are_refused() {
    let server = Harness::new();
    let mut client = Client::login(server.address, "ana");
    client.send(&[message('d', b"1\t2\n"), message('c', b""), message('F', b"\0\0\0\x01")].concat());
    let reply = client.reply();
    assert_eq!((reply.tags().as_str(), reply.error().unwrap().1.as_str()), ("EZ", "0A000"));
    client.send(&message('X', b""));
    assert!(client.rest().is_empty());
}
