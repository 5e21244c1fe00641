//! Every limit a client can run into.

use crate::fake::{Harness, eventually};
use crate::raw::{Client, message, query, startup};
use noisegate::frontend::Server;
use noisegate::policy::Limits;
use std::time::{Duration, Instant};

#[test]
fn a_statement_above_the_limit_is_refused_before_it_is_read() {
    let server = Harness::with(Limits { max_statement_bytes: 1000, ..Limits::default() }, None);
    let fits = format!("select {}", "x".repeat(993));
    let mut client = Client::login(server.address, "ana");
    assert_eq!(client.query(&fits).completed(), ["SELECT 1"]);
    // Only the head is sent: the refusal does not wait for the rest.
    client.send(&query(&format!("{fits}y"))[..5]);
    let reply = client.reply();
    assert!(reply.is_fatal("54000"), "{reply:?}");
    assert!(reply.error_field('D').unwrap().contains("limits.max_statement_bytes is 1000"));
    let mut client = Client::login(server.address, "ana");
    client.send(&message('P', &[b'x'; 4000]));
    assert!(client.reply().is_fatal("54000"));
}

#[test]
fn ten_megabytes_are_refused_and_the_client_can_read_why() {
    let server = Harness::new();
    let mut client = Client::login(server.address, "ana");
    client.send(&query(&"x".repeat(10_000_000)));
    let reply = client.reply();
    assert!(reply.is_fatal("54000"), "{reply:?}");
    assert_eq!(server.seen.ran(), [""; 0]);
}

#[test]
fn long_startup_packets_and_passwords_are_refused() {
    let server = Harness::new();
    let mut client = Client::connect(server.address);
    client.send(&startup(&[("user", "ana"), ("options", &"x".repeat(10_000))]));
    assert!(client.reply().is_fatal("08P01"));
    let mut client = Client::connect(server.address);
    client.send(&[startup(&[("user", "sam")]), message('p', &[b'x'; 20_000])].concat());
    assert!(client.reply().is_fatal("08P01"));
    let mut client = Client::connect(server.address);
    client.send(&[startup(&[("user", "sam")]), query(&"x".repeat(500_000))[..5].to_vec()].concat());
    assert!(client.reply().is_fatal("08P01"), "statements are not read before the login");
    for short in [&b"\0\0\0\x04"[..], b"\0\0\0\0", b"\xff\xff\xff\xff"] {
        let mut client = Client::connect(server.address);
        client.send(short);
        assert!(client.reply().is_fatal("08P01"), "{short:?}");
    }
}

#[test]
fn logins_that_hang_are_ended() {
    let limits = Limits { login_timeout: Duration::from_millis(300), ..Limits::default() };
    let server = Harness::with(limits, None);
    for (sent, code) in [
        (Vec::new(), None),
        (startup(&[("user", "ana")])[..12].to_vec(), None),
        (startup(&[("user", "sam")]), Some("57014")),
    ] {
        let begun = Instant::now();
        let mut client = Client::connect(server.address);
        client.send(&sent);
        let reply = client.reply();
        assert_eq!(reply.error().map(|e| e.1).as_deref(), code, "{reply:?}");
        assert!(client.rest().is_empty());
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(250) && took < Duration::from_secs(5), "{took:?}");
    }
    let mut client = Client::login(server.address, "ana");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(client.query("select 1").rows(), ["1"], "the limit is for logins only");
}

#[test]
fn connections_are_limited_in_all_and_per_user() {
    let limits = Limits { max_connections: 3, max_connections_per_user: 2, ..Limits::default() };
    let server = Harness::with(limits, None);
    let refusal = |user: &str| {
        let mut client = Client::connect(server.address);
        client.send(&startup(&[("user", user)]));
        let reply = client.reply();
        assert!(reply.is_fatal("53300"), "{reply:?}");
        reply.error_field('D').unwrap()
    };
    let _half_open: Vec<_> = (0..5).map(|_| Client::connect(server.address)).collect();
    let first = Client::login(server.address, "ana");
    let _second = Client::login(server.address, "ana");
    assert_eq!(refusal("ana"), "limits.max_connections_per_user is 2.");
    let third = Client::login(server.address, "bo");
    assert_eq!(refusal("bo"), "limits.max_connections is 3.");
    drop((first, third));
    eventually("the places are free again", || {
        let mut client = Client::connect(server.address);
        client.send(&startup(&[("user", "ana")]));
        client.reply().status() == Some('I')
    });
}

#[test]
fn clients_that_never_log_in_are_limited_too() {
    let limits = Limits { max_connections: 1, ..Limits::default() };
    let server = Harness::with(limits, None);
    let mut running = Client::connect(server.address);
    running.send(&startup(&[("user", "ana")]));
    let key = running.reply().0.into_iter().find(|m| m.tag == 'K').unwrap().body;
    running.send(&query("sleep forever"));
    eventually("the statement runs", || !server.seen.ran().is_empty());
    let mut half_open: Vec<_> = (0..33).map(|_| Client::connect(server.address)).collect();
    eventually("there is no room to log in", || {
        let mut late = Client::connect(server.address);
        late.send(&startup(&[("user", "ana")]));
        let reply = late.reply();
        assert!(reply.is_fatal("53300"), "{reply:?}");
        reply.error_field('D').unwrap().contains("not logged in yet")
    });
    let mut cancel = Client::connect(server.address);
    cancel.send(&[&16i32.to_be_bytes()[..], &80_877_102i32.to_be_bytes(), &key].concat());
    assert_eq!(running.reply().error().unwrap().1, "57014", "a cancel request always gets in");
    drop(running);
    // Their time is short: they cannot hold these places for long.
    half_open.extend((0..64).map(|_| Client::connect(server.address)));
    drop(half_open);
    eventually("logins work again", || {
        let mut client = Client::connect(server.address);
        client.send(&startup(&[("user", "ana")]));
        client.reply().status() == Some('I')
    });
}

/// 264 connections that say nothing kept everybody out for as long as they could stay.
#[test]
fn one_address_that_never_logs_in_keeps_no_other_out() {
    let limits = Limits { first_byte_timeout: Duration::from_secs(10), ..Limits::default() };
    let server = Harness::with(limits, None);
    let idle: Vec<_> = (0..264).map(|_| Client::connect(server.address)).collect();
    // Those who had a place to cancel from have lost it.
    std::thread::sleep(Duration::from_millis(2_500));
    let mut late = Client::connect(server.address);
    late.send(&startup(&[("user", "ana")]));
    let reply = late.reply();
    assert!(reply.is_fatal("53300"), "{reply:?}");
    assert!(reply.error_field('D').unwrap().contains("limits.max_logins_per_address is 50"), "{reply:?}");
    // All of 127.0.0.0/8 is this machine.
    let elsewhere = std::net::SocketAddr::from(([127, 0, 0, 2], 0));
    let mut other = Client::connect_from(elsewhere, server.address);
    other.send(&startup(&[("user", "ana")]));
    assert_eq!(other.reply().status(), Some('I'));
    drop(idle);
}

/// Places are not held by who says nothing at all.
#[test]
fn who_says_nothing_is_gone_soon() {
    let limits = Limits {
        first_byte_timeout: Duration::from_millis(300),
        login_timeout: Duration::from_secs(60),
        max_logins_per_address: 2,
        ..Limits::default()
    };
    let server = Harness::with(limits, None);
    let begun = Instant::now();
    let mut silent: Vec<_> = (0..2).map(|_| Client::connect(server.address)).collect();
    // One who has begun to speak has the time of a login.
    let mut slow = Client::connect_from(std::net::SocketAddr::from(([127, 0, 0, 2], 0)), server.address);
    slow.send(&startup(&[("user", "ana")])[..12]);
    for client in &mut silent {
        assert!(client.rest().is_empty());
    }
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(250) && took < Duration::from_secs(20), "{took:?}");
    assert_eq!(Client::login(server.address, "ana").query("select 1").rows(), ["1"]);
    slow.send(&startup(&[("user", "ana")])[12..]);
    assert_eq!(slow.reply().status(), Some('I'));
}

/// Who is refused whoever they are takes no place of those who are not.
#[test]
fn addresses_without_access_take_no_places() {
    let server = Harness::new();
    let from = |address: [u8; 4]| noisegate::policy::Network::inet(address.into(), 32);
    let rule = noisegate::policy::AccessRule {
        from: vec![from([127, 0, 0, 1])],
        users: Vec::new(),
        roles: Vec::new(),
        tls: None,
        allow: true,
    };
    let limits = Limits { max_connections: 1, max_logins_per_address: 1_000, ..Limits::default() };
    let settings = noisegate::frontend::Settings { limits, tls: None, access: vec![rule] };
    server.settings.replace(settings);
    let stranger = |n: u8| std::net::SocketAddr::from(([127, 0, 1, n], 0));
    // As many as there are places for those who are about to log in, three times.
    let strangers: Vec<_> = (0..100).map(|n| Client::connect_from(stranger(n), server.address)).collect();
    assert_eq!(Client::login(server.address, "ana").query("select 1").rows(), ["1"]);
    drop(strangers);
    eventually("there is room to tell one of them why", || {
        let mut stranger = Client::connect_from(stranger(1), server.address);
        stranger.send(&startup(&[("user", "ana")]));
        let reply = stranger.reply();
        reply.is_fatal("28000")
            && reply.error_field('M').unwrap().contains("no access rule for host \"127.0.1.1\"")
    });
}

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let server = Harness::new();
    let _inside = server.runtime.enter();
    let service = crate::fake::Fake::idle();
    let e = Server::bind(&[server.address], service, Limits::default(), None).err().unwrap().to_string();
    assert!(e.contains(&server.address.to_string()) && e.contains("another program listens there"), "{e}");
}
