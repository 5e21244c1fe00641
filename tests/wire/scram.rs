//! A SCRAM login for the client that sends bytes as they are.

use crate::raw::{Client, message, startup};
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::net::SocketAddr;

/// Logs in, up to the first ReadyForQuery.
pub fn login(address: SocketAddr, user: &str, password: &str, database: &str) -> Client {
    login_with_key(address, user, password, database).0
}

/// The same, and what a cancel request must name.
pub fn login_with_key(address: SocketAddr, user: &str, password: &str, database: &str) -> (Client, Vec<u8>) {
    let mut client = Client::connect(address);
    client.send(&startup(&[("user", user), ("database", database)]));
    assert_eq!(client.message().unwrap().tag, 'R');
    let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
    let first = scram.message();
    let length = u32::try_from(first.len()).unwrap().to_be_bytes();
    let initial = [SCRAM_SHA_256.as_bytes(), b"\0", &length, first].concat();
    client.send(&message('p', &initial));
    // Authentication messages carry their kind in four bytes.
    scram.update(&client.message().unwrap().body[4..]).unwrap();
    client.send(&message('p', scram.message()));
    scram.finish(&client.message().unwrap().body[4..]).unwrap();
    let reply = client.reply();
    assert_eq!(reply.status(), Some('I'), "{reply:?}");
    let key = reply.0.iter().find(|m| m.tag == 'K').unwrap().body.clone();
    (client, key)
}
