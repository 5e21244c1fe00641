//! TLS: psql through it, and attempts to get round it.

use crate::clients::{psql, stderr, stdout};
use crate::fake::Harness;
use crate::raw::{Client, query, ssl_request, startup};
use noisegate::frontend::Tls;
use noisegate::policy::{Limits, Tls as TlsPolicy};
use std::io::Read;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A self-signed certificate for `localhost` in a folder.
fn certificate(folder: &Path, required: bool) -> TlsPolicy {
    let (cert, key) = (folder.join("server.crt"), folder.join("server.key"));
    let status = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&cert)
        .output()
        .expect("openssl is installed");
    assert!(status.status.success(), "{status:?}");
    TlsPolicy { cert, key, required }
}

fn server(required: bool) -> (Harness, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let tls = Tls::load(&certificate(folder.path(), required)).unwrap();
    (Harness::with(Limits::default(), Some(tls)), folder)
}

#[test]
fn psql_speaks_tls_with_and_without_channel_binding() {
    let (server, folder) = server(true);
    let root = folder.path().join("server.crt");
    for options in [
        "user=sam sslmode=require channel_binding=require".to_owned(),
        "user=sam sslmode=require channel_binding=disable".to_owned(),
        "user=ana sslmode=require".to_owned(),
        format!("user=sam sslmode=verify-ca sslrootcert={}", root.display()),
    ] {
        let output = psql(&server, &options, "select secret");
        assert_eq!(stdout(&output), "secret", "{options}: {}", stderr(&output));
    }
}

#[test]
fn plain_connections_are_refused_where_tls_is_required() {
    let (server, _folder) = server(true);
    let output = psql(&server, "user=ana sslmode=disable", "select 1");
    assert!(stderr(&output).contains("this server requires TLS"), "{}", stderr(&output));
    let mut client = Client::connect(server.address);
    client.send(&[startup(&[("user", "ana")]), query("select 1")].concat());
    let reply = client.reply();
    assert!(reply.is_fatal("28000"), "{reply:?}");
    assert!(reply.error_field('H').unwrap().contains("sslmode=require"));
    assert_eq!(server.seen.ran(), [""; 0]);
}

#[test]
fn plain_connections_work_where_tls_is_offered_only() {
    let (server, _folder) = server(false);
    let output = psql(&server, "user=sam sslmode=disable", "select 1");
    assert_eq!(stdout(&output), "1", "{}", stderr(&output));
}

#[test]
fn s3_plain_text_behind_the_ssl_request_is_never_executed() {
    let (server, _folder) = server(true);
    let injected = [ssl_request(), startup(&[("user", "ana")]), query("select injected")].concat();
    let mut client = Client::connect(server.address);
    client.send(&injected);
    assert!(client.rest().is_empty(), "dropped before the handshake");
    // The same after the server's answer: it is no handshake.
    let mut client = Client::connect(server.address);
    client.send(&ssl_request());
    let mut answer = [0];
    client.0.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"S");
    client.send(&injected[8..]);
    client.rest();
    assert_eq!(server.seen.ran(), [""; 0]);
}

#[test]
fn broken_certificates_are_errors_that_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let good = certificate(folder.path(), false);
    let missing = TlsPolicy { cert: folder.path().join("absent.crt"), ..good.clone() };
    let swapped = TlsPolicy { cert: good.key.clone(), key: good.cert.clone(), required: false };
    for (policy, name) in [(missing, "absent.crt"), (swapped, "server.key")] {
        let e = Tls::load(&policy).err().unwrap().to_string();
        assert!(e.contains(name), "{e}");
    }
}
