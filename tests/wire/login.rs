//! Start-up and authentication.

use crate::fake::{Harness, PASSWORD};
use crate::raw::{Client, gssenc_request, message, ssl_request, startup, startup_version};
use std::io::Read;
use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

fn config(server: &Harness, user: &str, password: &str) -> Config {
    let mut config = Config::new();
    config.host("127.0.0.1").port(server.address.port()).user(user).password(password).dbname("bikes");
    config
}

fn login(server: &Harness, user: &str, password: &str) -> Result<String, tokio_postgres::Error> {
    server.runtime.block_on(async {
        let (client, connection) = config(server, user, password).connect(NoTls).await?;
        tokio::spawn(connection);
        let messages = client.simple_query("select 7").await?;
        let row = messages.iter().find_map(|m| match m {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(row.unwrap().to_owned())
    })
}

#[test]
fn scram_lets_the_right_password_in() {
    let server = Harness::new();
    assert_eq!(login(&server, "sam", PASSWORD).unwrap(), "7");
}

#[test]
fn wrong_passwords_unknown_users_and_bad_verifiers_look_alike() {
    let server = Harness::new();
    for user in ["sam", "nobody", "spoilt"] {
        let e = login(&server, user, "wrong").unwrap_err();
        let e = e.as_db_error().unwrap();
        assert_eq!(e.severity(), "FATAL");
        assert_eq!(e.code().code(), "28P01");
        assert_eq!(e.message(), format!("password authentication failed for user \"{user}\""));
        assert_eq!((e.detail(), e.hint()), (None, None));
    }
    // Even with the password of somebody else.
    assert!(login(&server, "nobody", PASSWORD).is_err());
    assert_eq!(server.seen.ran(), [""; 0]);
}

#[test]
fn the_exchange_with_an_unknown_user_has_the_same_shape_and_a_constant_salt() {
    let server = Harness::new();
    let server_first = |user: &str| {
        let mut client = Client::connect(server.address);
        let first = b"n,,n=,r=abcdefgh";
        let initial = [&b"SCRAM-SHA-256\0"[..], &(first.len() as u32).to_be_bytes(), first].concat();
        client.send(&[startup(&[("user", user)]), message('p', &initial)].concat());
        let offer = client.message().unwrap();
        assert_eq!(offer.body, b"\0\0\0\x0aSCRAM-SHA-256\0\0");
        let next = String::from_utf8(client.message().unwrap().body[4..].to_vec()).unwrap();
        let parts: Vec<String> = next.split(',').map(str::to_owned).collect();
        assert!(parts[0].starts_with("r=abcdefgh") && parts.len() == 3, "{next}");
        (parts[0].len(), parts[1].clone(), parts[2].clone())
    };
    let (known, unknown) = (server_first("sam"), server_first("nobody"));
    assert_eq!((known.0, known.1.len(), &known.2), (unknown.0, unknown.1.len(), &unknown.2));
    assert_eq!(unknown.1, server_first("nobody").1);
    assert_eq!(known.1, server_first("sam").1);
    assert_ne!(unknown.1, server_first("nobody else").1);
}

#[test]
fn scram_messages_that_break_the_rules_are_refused() {
    let server = Harness::new();
    let initial = |mechanism: &str, first: &[u8]| {
        let head = [mechanism.as_bytes(), b"\0", &(first.len() as u32).to_be_bytes()].concat();
        message('p', &[&head, first].concat())
    };
    for (what, bytes) in [
        ("unknown mechanism", initial("PLAIN", b"n,,n=,r=abc")),
        ("PLUS was not offered", initial("SCRAM-SHA-256-PLUS", b"p=tls-server-end-point,,n=,r=abc")),
        ("binding without PLUS", initial("SCRAM-SHA-256", b"p=tls-server-end-point,,n=,r=abc")),
        ("authzid", initial("SCRAM-SHA-256", b"n,a=ana,n=,r=abc")),
        ("no nonce", initial("SCRAM-SHA-256", b"n,,n=")),
        ("not UTF-8", initial("SCRAM-SHA-256", b"\xff\xff")),
        ("length -1", message('p', b"SCRAM-SHA-256\0\xff\xff\xff\xff")),
        ("length beyond the message", message('p', b"SCRAM-SHA-256\0\0\0\0\x20n,,")),
        (
            "no final message",
            [initial("SCRAM-SHA-256", b"n,,n=,r=abc"), message('p', b"c=biws,r=abc")].concat(),
        ),
        (
            "other nonce",
            [initial("SCRAM-SHA-256", b"n,,n=,r=abc"), message('p', b"c=biws,r=abc,p=AAAA")].concat(),
        ),
    ] {
        let mut client = Client::connect(server.address);
        client.send(&[startup(&[("user", "sam")]), bytes].concat());
        let reply = client.reply();
        assert!(reply.is_fatal("08P01"), "{what}: {reply:?}");
    }
    server.assert_alive();
}

#[test]
fn startup_reports_the_backend_s_parameters_and_our_own() {
    let server = Harness::new();
    let mut client = Client::connect(server.address);
    client.send(&startup(&[("user", "ana"), ("application_name", "test"), ("no_such_thing", "1")]));
    let reply = client.reply();
    assert_eq!(reply.0[0].body, [0; 4]);
    let parameters: Vec<String> = reply
        .0
        .iter()
        .filter(|m| m.tag == 'S')
        .map(|m| String::from_utf8(m.body.clone()).unwrap().trim_end_matches('\0').replace('\0', "="))
        .collect();
    for expected in [
        "server_version=15.18",
        "integer_datetimes=on",
        "client_encoding=UTF8",
        "is_superuser=off",
        "session_authorization=ana",
        "application_name=test",
        "default_transaction_read_only=off",
        "in_hot_standby=off",
    ] {
        assert_eq!(parameters.iter().filter(|p| *p == expected).count(), 1, "{expected}: {parameters:?}");
    }
    assert!(!parameters.contains(&"is_superuser=on".to_owned()));
    assert_eq!(client.query("startup no_such_thing").rows(), ["1"]);
    assert_eq!(client.query("startup database").rows(), ["ana"]);
}

#[test]
fn newer_protocols_are_negotiated_down() {
    let server = Harness::new();
    let open = |version: u32, parameters: &[(&str, &str)]| {
        let mut client = Client::connect(server.address);
        client.send(&startup_version(version, parameters));
        client.reply()
    };
    let key = |reply: &crate::raw::Reply| reply.0.iter().find(|m| m.tag == 'K').unwrap().body.len();
    let v30 = open(196_608, &[("user", "ana")]);
    assert_eq!((v30.0[0].tag, key(&v30)), ('R', 8));
    let v32 = open(196_610, &[("user", "ana")]);
    assert_eq!((v32.0[0].tag, key(&v32)), ('R', 36));
    let v39999 = open(196_608 + 9999, &[("user", "ana"), ("_pq_.grease", "1")]);
    assert_eq!(v39999.0[0].tag, 'v');
    assert_eq!(v39999.0[0].body, b"\0\x03\0\x02\0\0\0\x01_pq_.grease\0");
    assert_eq!((key(&v39999), v39999.status()), (36, Some('I')));
    assert!(open(2 << 16, &[("user", "ana")]).is_fatal("0A000"));
    assert!(open(4 << 16, &[("user", "ana")]).is_fatal("0A000"));
}

#[test]
fn encryption_requests_without_a_certificate_get_n() {
    let server = Harness::new();
    let mut client = Client::connect(server.address);
    for request in [gssenc_request(), ssl_request()] {
        client.send(&request);
        let mut answer = [0];
        client.0.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"N");
    }
    client.send(&startup(&[("user", "ana")]));
    assert_eq!(client.reply().status(), Some('I'));

    let mut insistent = Client::connect(server.address);
    insistent.send(&[ssl_request(), ssl_request()].concat());
    let mut answer = [0];
    insistent.0.read_exact(&mut answer).unwrap();
    assert!(insistent.reply().is_fatal("08P01"));
}

#[test]
fn other_encodings_and_replication_are_refused_with_advice() {
    let server = Harness::new();
    for (name, value, code) in [("client_encoding", "LATIN1", "22023"), ("replication", "true", "0A000")] {
        let mut client = Client::connect(server.address);
        client.send(&startup(&[("user", "ana"), (name, value)]));
        let reply = client.reply();
        assert!(reply.is_fatal(code), "{reply:?}");
    }
}
