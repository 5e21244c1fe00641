//! The operator's end.

use crate::fake::{Harness, eventually};
use crate::raw::{Client, query};
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn idle_sessions_end_at_once_and_running_ones_after_their_statement() {
    let server = Harness::new();
    let mut idle = Client::login(server.address, "ana");
    let mut running = Client::login(server.address, "ana");
    running.send(&query("sleep 600"));
    eventually("the statement runs", || !server.seen.ran().is_empty());
    let begun = Instant::now();
    server.shutdown.shutdown(Duration::from_secs(20));
    assert!(idle.reply().is_fatal("57P01"));
    assert!(begun.elapsed() < Duration::from_millis(500));
    assert_eq!(running.reply().completed(), ["SLEEP"]);
    assert!(running.reply().is_fatal("57P01"));
    drop((idle, running));
    server.runtime.block_on(server.done).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(TcpStream::connect(server.address).is_err());
}

#[test]
fn statements_beyond_the_time_limit_are_ended() {
    let server = Harness::new();
    let mut running = Client::login(server.address, "ana");
    running.send(&query("sleep forever"));
    let mut deaf = Client::login(server.address, "ana");
    deaf.send(&query("rows 1000000"));
    eventually("the statements run", || server.seen.ran().len() == 2);
    server.shutdown.shutdown(Duration::from_millis(200));
    assert!(running.reply().is_fatal("57P01"));
    drop(running);
    let begun = Instant::now();
    server.runtime.block_on(server.done).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10), "a client that does not read cannot hold the server");
}
