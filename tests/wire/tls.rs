//! TLS: psql through it, and attempts to get round it.

use crate::clients::{psql, stderr, stdout};
use crate::fake::Harness;
use crate::raw::{Client, query, ssl_request, startup};
use noisegate::frontend::Tls;
use noisegate::policy::{Limits, Tls as TlsPolicy};
use pgwire::tokio::tokio_rustls::rustls::crypto::ring;
use pgwire::tokio::tokio_rustls::rustls::pki_types::CertificateDer;
use pgwire::tokio::tokio_rustls::rustls::pki_types::pem::PemObject;
use pgwire::tokio::tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// A self-signed certificate for `localhost` in a folder.
fn certificate(folder: &Path, required: bool) -> TlsPolicy {
    let (cert, key) = (folder.join("server.crt"), folder.join("server.key"));
    let status = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&cert)
        .output()
        .expect("openssl is installed");
    assert!(status.status.success(), "{status:?}");
    TlsPolicy { cert: cert.into(), key: key.into(), required, client_ca: None }
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

type Channel = StreamOwned<ClientConnection, TcpStream>;

/// A client of TLS that names these protocols. Nothing was sent yet.
fn tls_client(server: &Harness, folder: &TempDir, protocols: &[&[u8]]) -> Channel {
    let pem = std::fs::read(folder.path().join("server.crt")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|p| p.to_vec()).collect();
    let session = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    StreamOwned::new(session, Client::connect(server.address).0)
}

/// Logs in over a channel, and gives the first bytes of the answer.
fn login(channel: &mut Channel) -> std::io::Result<[u8; 9]> {
    channel.write_all(&startup(&[("user", "ana")]))?;
    let mut answer = [0; 9];
    channel.read_exact(&mut answer).map(|()| answer)
}

const WELCOME: &[u8; 9] = b"R\0\0\0\x08\0\0\0\0";

#[test]
fn tls_from_the_first_byte_needs_the_protocol_s_name() {
    let (server, folder) = server(false);
    for protocols in [&[&b"postgresql"[..]][..], &[b"h2", b"postgresql"]] {
        let mut direct = tls_client(&server, &folder, protocols);
        assert_eq!(&login(&mut direct).unwrap(), WELCOME);
        assert_eq!(direct.conn.alpn_protocol(), Some(&b"postgresql"[..]));
    }
    for protocols in [&[][..], &[&b"h2"[..]]] {
        assert!(login(&mut tls_client(&server, &folder, protocols)).is_err(), "{protocols:?}");
    }
    // A second request for TLS, within it.
    let mut direct = tls_client(&server, &folder, &[b"postgresql"]);
    direct.write_all(&ssl_request()).unwrap();
    let mut answer = Vec::new();
    direct.read_to_end(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("invalid encryption request"), "{answer:?}");
    server.assert_alive();
}

#[test]
fn who_asks_for_tls_first_need_not_name_the_protocol() {
    let (server, folder) = server(true);
    for protocols in [&[][..], &[&b"postgresql"[..]]] {
        let mut asked = tls_client(&server, &folder, protocols);
        asked.sock.write_all(&ssl_request()).unwrap();
        let mut answer = [0];
        asked.sock.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"S");
        assert_eq!(&login(&mut asked).unwrap(), WELCOME, "{protocols:?}");
    }
}

#[test]
fn tls_from_the_first_byte_is_not_answered_without_a_certificate() {
    let (_, folder) = server(false);
    let plain = Harness::new();
    assert!(login(&mut tls_client(&plain, &folder, &[b"postgresql"])).is_err());
    plain.assert_alive();
}

#[test]
fn broken_certificates_are_errors_that_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let good = certificate(folder.path(), false);
    let missing = TlsPolicy { cert: folder.path().join("absent.crt").into(), ..good.clone() };
    let swapped = TlsPolicy { cert: good.key.clone(), key: good.cert.clone(), ..good.clone() };
    let nobody = TlsPolicy { client_ca: Some(folder.path().join("nobody.crt").into()), ..good.clone() };
    let no_authority = TlsPolicy { client_ca: Some(good.key.clone()), ..good.clone() };
    for (policy, name) in [
        (missing, "absent.crt"),
        (swapped, "server.key"),
        (nobody, "nobody.crt"),
        (no_authority, "server.key"),
    ] {
        let e = Tls::load(&policy).err().unwrap().to_string();
        assert!(e.contains(name), "{e}");
    }
}

/// Runs openssl in a folder.
fn openssl(folder: &Path, args: &[&str]) {
    let made = Command::new("openssl").args(args).current_dir(folder).output().expect("openssl is installed");
    assert!(made.status.success(), "{made:?}");
}

/// An authority's certificate, `NAME.crt`.
fn authority(folder: &Path, name: &str) {
    let (key, cert, subject) = (format!("{name}.key"), format!("{name}.crt"), format!("/CN={name}"));
    let files = ["-keyout", &key, "-out", &cert, "-days", "2", "-subj", &subject];
    let args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    openssl(folder, &[&args[..], &files[..]].concat());
}

/// A client's certificate `FILE.crt` for this subject, signed by an authority.
fn signed(folder: &Path, file: &str, subject: &str, by: &str) {
    let (key, csr, cert) = (format!("{file}.key"), format!("{file}.csr"), format!("{file}.crt"));
    let (ca, ca_key) = (format!("{by}.crt"), format!("{by}.key"));
    let args =
        ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", &key];
    openssl(folder, &[&args[..], &["-out", &csr, "-subj", subject]].concat());
    let args = ["x509", "-req", "-in", &csr, "-CA", &ca, "-CAkey", &ca_key, "-CAcreateserial", "-days", "2"];
    // Of version 3, as any extension makes it: older ones are not believed.
    std::fs::write(folder.join("extensions"), "basicConstraints=CA:FALSE").unwrap();
    openssl(folder, &[&args[..], &["-extfile", "extensions", "-out", &cert]].concat());
    let key = folder.join(key);
    std::fs::set_permissions(key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// Who has to show a certificate logs in with the right one, signed by the right authority, and with no other.
#[test]
fn certificates_of_clients_are_proofs_of_who_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let tls = certificate(at, false);
    authority(at, "ours");
    authority(at, "theirs");
    signed(at, "cleo", "/O=somewhere/CN=Cleo", "ours");
    signed(at, "ana", "/CN=ana", "ours");
    signed(at, "two", "/CN=Cleo/CN=ana", "ours");
    signed(at, "none", "/O=Cleo", "ours");
    signed(at, "forged", "/CN=Cleo", "theirs");
    let tls = TlsPolicy { client_ca: Some(at.join("ours.crt").into()), ..tls };
    let server = Harness::with(Limits::default(), Some(Tls::load(&tls).unwrap()));
    let asked = |user: &str, card: Option<&str>, more: &str| {
        let card = card.map(|c| format!("sslcert={0}/{c}.crt sslkey={0}/{c}.key", at.display()));
        let card = card.unwrap_or_else(|| format!("sslcert={}/absent.crt", at.display()));
        psql(&server, &format!("user='{user}' {card} {more}"), "select secret")
    };
    let tls = "sslmode=require";
    for (user, card) in [
        ("cleo", Some("cleo")),
        ("sam and card", Some("cleo")),
        ("sam", None),
        ("sam", Some("ana")),
        ("ana", None),
    ] {
        let output = asked(user, card, tls);
        assert_eq!(stdout(&output), "secret", "{user} {card:?}: {}", stderr(&output));
    }
    // As a user who does not exist, whatever is wrong.
    for user in ["cleo", "sam and card", "nobody"] {
        for card in [None, Some("ana"), Some("two"), Some("none")] {
            let output = asked(user, card, tls);
            let expected = format!("password authentication failed for user \"{user}\"");
            assert!(stderr(&output).contains(&expected), "{user} {card:?}: {}", stderr(&output));
        }
        let plain = asked(user, None, "sslmode=disable");
        assert!(stderr(&plain).contains("password authentication failed"), "{}", stderr(&plain));
    }
    // Nobody believes who signed it: the handshake fails, for everybody.
    for user in ["cleo", "ana"] {
        let output = asked(user, Some("forged"), tls);
        assert!(stdout(&output).is_empty() && !stderr(&output).contains("password"), "{}", stderr(&output));
    }
    // The password is still needed where there is one.
    let wrong = Command::new("psql")
        .args(["-X", "-c", "select 1"])
        .arg(format!(
            "host=127.0.0.1 port={} user='sam and card' sslmode=require sslcert={1}/cleo.crt sslkey={1}/cleo.key",
            server.address.port(),
            at.display()
        ))
        .env("PGPASSWORD", "wrong")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("password authentication failed"), "{wrong:?}");
    server.assert_alive();
}
