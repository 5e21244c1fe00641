//! Random and damaged bytes: the server must stay up, answer in whole messages, and run nothing without a login.

use crate::fake::Harness;
use crate::raw::{Client, message, query, ssl_request, startup};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::time::Duration;

fn runner() -> TestRunner {
    TestRunner::new(Config { cases: 128, failure_persistence: None, ..Config::default() })
}

/// Sends, and requires that the server ends the connection and that its answer consists of whole messages.
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
        let body = rest.by_ref().take(u32::from_be_bytes(length) as usize - 4).count();
        assert_eq!(body + 4, u32::from_be_bytes(length) as usize, "half a message after {tags}");
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
