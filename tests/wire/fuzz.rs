//! Random and damaged bytes: the server must stay up, answer in whole messages, and run nothing without a login.

use crate::fake::Harness;
use crate::oracle::{Op, ops};
use crate::raw::{Client, message, query, ssl_request, startup};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::time::Duration;

fn runner() -> TestRunner {
    TestRunner::new(Config { cases: 128, failure_persistence: None, ..Config::default() })
}

/// Sends, and requires that the server ends the connection, that its answer consists of whole messages, and that
/// none of them tells of a panic.
fn talk(mut client: Client, bytes: &[u8]) -> String {
    client.send(bytes);
    // Damaged bytes can leave the server waiting for more, so that silence is an answer, too.
    let mut answer = client.read_for(Duration::from_millis(25));
    client.finish_sending();
    answer.extend(client.rest());
    let mut rest = answer.into_iter();
    let mut tags = String::new();
    while let Some(tag) = rest.next() {
        let length: Vec<u8> = rest.by_ref().take(4).collect();
        let Ok(length) = <[u8; 4]>::try_from(length) else { panic!("half a message after {tags}") };
        let body: Vec<u8> = rest.by_ref().take(u32::from_be_bytes(length) as usize - 4).collect();
        assert_eq!(body.len() + 4, u32::from_be_bytes(length) as usize, "half a message after {tags}");
        assert!(!body.windows(6).any(|w| w == b"CXX000"), "a panic after {tags}");
        tags.push(char::from(tag));
    }
    tags
}

#[test]
fn random_bytes_instead_of_a_startup_packet() {
    let server = Harness::new();
    runner()
        .run(&prop::collection::vec(any::<u8>(), 0..300), |bytes| {
            let tags = talk(Client::connect(server.address), &bytes);
            prop_assert!(tags.is_empty() || tags == "E", "{}", tags);
            Ok(())
        })
        .unwrap();
    assert_eq!(server.seen.ran(), [""; 0]);
    server.assert_alive();
}

#[test]
fn damaged_startups_with_a_query_behind_them() {
    let server = Harness::new();
    let good = [startup(&[("user", "sam"), ("database", "x")]), query("select 1")].concat();
    let damage = prop::collection::vec((0..good.len(), any::<u8>()), 1..6);
    runner()
        .run(&damage, |damage| {
            let mut bytes = good.clone();
            for (at, value) in damage {
                bytes[at] = value;
            }
            let tags = talk(Client::connect(server.address), &bytes);
            prop_assert!(!tags.contains('Z'), "{}", tags);
            Ok(())
        })
        .unwrap();
    assert_eq!(server.seen.ran(), [""; 0], "sam did not give a password");
    server.assert_alive();
}

#[test]
fn damaged_messages_after_the_login() {
    let server = Harness::new();
    let good = [
        query("select 1"),
        message('P', b"s\0select $1\0\0\x01\0\0\0\x17"),
        message('B', b"p\0s\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x07\0\x01\0\x01"),
        message('D', b"Pp\0"),
        message('E', b"p\0\0\0\0\x0a"),
        message('C', b"Pp\0"),
        message('H', b""),
        message('S', b""),
        message('F', b"\0\0\0\x01"),
        message('d', b"data"),
        query("begin; nonsense"),
        query("rollback"),
    ]
    .concat();
    let damage = prop::collection::vec((0..good.len(), any::<u8>()), 0..8);
    runner()
        .run(&(damage, 0..good.len()), |(damage, cut)| {
            let mut bytes = good.clone();
            for (at, value) in damage {
                bytes[at] = value;
            }
            bytes.truncate(bytes.len() - cut / 4);
            talk(Client::login(server.address, "ana"), &bytes);
            Ok(())
        })
        .unwrap();
    server.assert_alive();
}

#[test]
fn random_messages_after_the_login() {
    let server = Harness::new();
    let frame =
        (prop::sample::select(b"QPBDECHSXFdcfpyz".to_vec()), prop::collection::vec(any::<u8>(), 0..60));
    runner()
        .run(&prop::collection::vec(frame, 1..8), |frames| {
            let bytes: Vec<u8> =
                frames.iter().flat_map(|(tag, body)| message(char::from(*tag), body)).collect();
            talk(Client::login(server.address, "ana"), &bytes);
            Ok(())
        })
        .unwrap();
    server.assert_alive();
}

#[test]
fn extended_messages_in_random_order() {
    let server = Harness::new();
    runner()
        .run(&ops(), |ops| {
            let bytes: Vec<u8> = ops.iter().flat_map(Op::bytes).collect();
            let syncs = ops.iter().filter(|op| matches!(op, Op::Sync)).count();
            let tags = talk(Client::login(server.address, "ana"), &[bytes, message('S', b"")].concat());
            prop_assert!(tags.ends_with('Z') && tags.matches('Z').count() > syncs, "{}", tags);
            Ok(())
        })
        .unwrap();
    server.assert_alive();
}

#[test]
fn extended_messages_in_random_order_with_damage() {
    let server = Harness::new();
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10);
    runner()
        .run(&(ops(), damage), |(ops, damage)| {
            let mut bytes: Vec<u8> = ops.iter().flat_map(Op::bytes).collect();
            for (at, value) in damage {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            talk(Client::login(server.address, "ana"), &bytes);
            Ok(())
        })
        .unwrap();
    server.assert_alive();
}

#[test]
fn extended_messages_with_random_bodies() {
    let server = Harness::new();
    // Bodies of names, numbers and small lists, so that some of them fit.
    let piece = prop_oneof![
        prop::sample::select(vec![&b"\0"[..], b"a\0", b"Sa\0", b"P\0", b"select $1\0", b"rollback\0"])
            .prop_map(<[u8]>::to_vec),
        prop::sample::select(vec![0u16, 0, 0, 1, 2, 65_535]).prop_map(|n| n.to_be_bytes().to_vec()),
        prop::sample::select(vec![0i32, 1, -1, i32::MAX, i32::MIN]).prop_map(|n| n.to_be_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..5),
    ];
    let body = prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat());
    let frame = (prop::sample::select(b"PPBBDECH".to_vec()), body);
    runner()
        .run(&prop::collection::vec(frame, 1..20), |frames| {
            // Each is followed by Sync, lest the first error void the rest.
            let bytes: Vec<u8> = frames
                .iter()
                .flat_map(|(tag, body)| [message(char::from(*tag), body), message('S', b"")].concat())
                .collect();
            let tags = talk(Client::login(server.address, "ana"), &bytes);
            let syncs = tags.matches('Z').count();
            prop_assert!(syncs == frames.len() || tags.ends_with('E'), "{}", tags);
            Ok(())
        })
        .unwrap();
    server.assert_alive();
}

#[test]
fn encryption_requests_with_anything_behind_them() {
    let server = Harness::new();
    runner()
        .run(&prop::collection::vec(any::<u8>(), 0..100), |tail| {
            let mut client = Client::connect(server.address);
            client.send(&[ssl_request(), tail].concat());
            client.finish_sending();
            prop_assert!(client.rest().starts_with(b"N"));
            Ok(())
        })
        .unwrap();
    assert_eq!(server.seen.ran(), [""; 0]);
}
