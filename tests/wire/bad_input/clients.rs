//! Clients that lie, talk nonsense, or leave.

use super::World;
use crate::city::{PASSWORD, eventually, fetch_waits, hold_trips, room_for};
use crate::raw::{self, message, query, startup};
use crate::support::psql;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_and_unknown_users_get_the_same_words() {
    let world = World::new(&room_for(1)).await;
    let mut said = Vec::new();
    for (user, password) in [("ada", "wrong"), ("eve", "wrong"), ("eve", PASSWORD), ("", "wrong")] {
        let out = psql(&world.url(user, password).replace("//:", "//%20:"), "SELECT 1").await;
        assert_eq!(out.status.code(), Some(2), "{out:?}");
        let user = if user.is_empty() { " " } else { user };
        let text = out.stderr.split_once("FATAL:").unwrap().1.replace(&format!("\"{user}\""), "\"…\"");
        said.push(text);
    }
    assert_eq!(said[0].trim(), "password authentication failed for user \"…\"");
    assert!(said.iter().all(|s| *s == said[0]), "{said:?}");
    for user in ["ada", "eve"] {
        let refused = tokio_postgres::connect(&world.url(user, "wrong"), tokio_postgres::NoTls).await;
        assert_eq!(refused.err().unwrap().code().map(|c| c.code()), Some("28P01"));
    }
    let out = psql(&world.url("ada", PASSWORD), "SELECT 1").await;
    assert!(out.status.success() && out.stdout.contains("(1 row)"), "{out:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_ends_its_own_connection_only() {
    let world = World::new(&room_for(1)).await;
    let bystander = world.ada().await;
    let address = world.gate.address.parse().unwrap();
    let version = |v: u32| raw::startup_version(v, &[("user", "ada")]);
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        vec![0; 64],
        vec![0xff; 64],
        (0..=255).cycle().take(5000).collect(),
        version(2 << 16),
        version(4 << 16),
        [startup(&[("user", "ada")]), query("SELECT 1")].concat(),
        [startup(&[("user", "ada")]), message('p', b"password\0")].concat(),
    ] {
        let mut client = raw::Client::connect(address);
        client.send(&bytes);
        client.finish_sending();
        let rest = client.rest();
        assert!(!rest.contains(&b'Z'), "{bytes:?} was let in: {rest:?}");
    }
    for bytes in [
        b"\0\0\0\0\0".to_vec(),
        message('!', b""),
        b"Q\0\0\0\x03".to_vec(),
        b"Q\xff\xff\xff\xff".to_vec(),
        message('Q', b"SELECT 1"),
        message('Q', b"SELECT 1\0SELECT 2\0"),
    ] {
        let mut client = world.raw();
        client.send(&bytes);
        let reply = client.reply();
        assert!(reply.is_fatal("08P01"), "{bytes:?}: {reply:?}");
    }
    assert_eq!(crate::city::rows(&bystander, "SELECT 1").await.unwrap(), [[Some("1".to_owned())]]);
    world.assert_alive().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_goes_on_without_its_client_and_the_debit_stands() {
    let world = World::new(&room_for(2)).await;
    let holder = hold_trips(&world.db).await;
    let mut client = world.raw();
    client.send(&query("SELECT count(*) FROM trips"));
    eventually("the fetch", async || fetch_waits(&world.db).await).await;
    drop(client);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(fetch_waits(&world.db).await, "it goes on");
    drop(holder);
    eventually("the end of the fetch", async || !fetch_waits(&world.db).await).await;
    let shown = world.dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(shown.contains("ε = 0.1 of 0.2 spent"), "{shown}");
    let ada = world.ada().await;
    assert_eq!(crate::city::rows(&ada, "SELECT count(*) FROM trips").await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_message_is_waited_for_and_then_answered() {
    let world = World::new(&room_for(1)).await;
    let mut client = world.raw();
    let bytes = query("SELECT 1");
    client.send(&bytes[..7]);
    assert!(client.read_for(Duration::from_millis(300)).is_empty());
    world.assert_alive().await;
    client.send(&bytes[7..]);
    assert_eq!(client.reply().rows(), ["1"]);
}
