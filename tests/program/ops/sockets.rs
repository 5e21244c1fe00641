//! Unix sockets.

use super::{certificate, port, socket_url, text, with_server};
use crate::city::{PASSWORD, bikes, eventually};
use crate::support::{NOISEGATE, Workdir, psql, run};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use tokio::process::Command;

#[tokio::test]
async fn psql_connects_by_a_folder_and_a_port() {
    let db = bikes().await;
    let keys = "listen = [\"127.0.0.1:0\", \"unix:sockets\", \"unix:sockets/.s.PGSQL.1234\"]
        unix_socket_permissions = \"0750\"";
    let dir = Workdir::new(&with_server(&text(&db, &["ada"], ""), keys));
    let folder = dir.path().join("sockets");
    std::fs::create_dir(&folder).unwrap();
    let gate = dir.serve().await;
    for port in [port(&gate), "1234"] {
        let out =
            psql(&socket_url(folder.to_str().unwrap(), port, "ada"), "SELECT count(*) FROM stations").await;
        assert!(out.status.success() && out.stdout.contains("10"), "{out:?}");
        let socket = folder.join(format!(".s.PGSQL.{port}"));
        assert_eq!(std::fs::metadata(&socket).unwrap().mode() & 0o777, 0o750);
        let lock = std::fs::read_to_string(folder.join(format!(".s.PGSQL.{port}.lock"))).unwrap();
        assert_eq!(lock.lines().next().unwrap(), gate.pid().to_string());
    }
    let out = psql(&gate.url("ada", PASSWORD, "bikes"), "SELECT count(*) FROM stations").await;
    assert!(out.status.success(), "{out:?}");
    let wrong = socket_url(folder.to_str().unwrap(), "1234", "ada").replace(PASSWORD, "wrong");
    assert!(psql(&wrong, "SELECT 1").await.stderr.contains("password authentication failed"));
    assert!(gate.signal("TERM").await.success());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "sockets and locks are gone");
}

#[tokio::test]
async fn tls_is_neither_offered_nor_required_there() {
    let db = bikes().await;
    let keys = "listen = [\"127.0.0.1:0\", \"unix:\
        .s.PGSQL.1\"]\ntls = { cert = \"server.crt\", key = \"server.key\" }";
    let dir = Workdir::new(&with_server(&text(&db, &["ada"], ""), keys));
    certificate(&dir);
    let gate = dir.serve().await;
    let mut client = UnixStream::connect(dir.path().join(".s.PGSQL.1")).unwrap();
    client.write_all(&[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]).unwrap();
    let mut answer = [0];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"N");
    let sql = "SELECT count(*) FROM stations";
    let out = psql(&socket_url(dir.path().to_str().unwrap(), "1", "ada"), sql).await;
    assert!(out.status.success(), "{out:?}");
    let plain = format!("{}?sslmode=disable", gate.url("ada", PASSWORD, "bikes"));
    assert!(psql(&plain, sql).await.stderr.contains("this server requires TLS"));
}

#[tokio::test]
async fn a_dead_process_s_socket_is_replaced_and_a_live_one_s_is_not() {
    let db = bikes().await;
    let keys = "listen = [\"unix:.s.PGSQL.1\"]";
    let first = Workdir::new(&with_server(&text(&db, &["ada"], ""), keys));
    let gate = first.serve().await;
    let socket = first.path().join(".s.PGSQL.1");
    assert_eq!(gate.address, format!("unix:{}", socket.display()));

    // Another proxy, with a ledger of its own, at the same socket.
    let same = format!("listen = [\"unix:{}\"]", socket.display());
    let second = Workdir::new(&with_server(&text(&db, &["ada"], ""), &same));
    assert!(second.noisegate(&["budget", "create"]).await.status.success());
    let mut command = Command::new(NOISEGATE);
    command.args(["serve", "--policy"]).arg(second.policy());
    let refused = run(command, "").await;
    assert!(!refused.status.success());
    assert!(refused.stderr.contains("another program listens at"), "{refused:?}");

    gate.kill().await;
    assert!(socket.exists(), "nobody was there to remove it");
    let gate = second.serve_again().await;
    let out =
        psql(&socket_url(first.path().to_str().unwrap(), "1", "ada"), "SELECT count(*) FROM stations").await;
    assert!(out.status.success(), "{out:?}");
    assert!(gate.signal("INT").await.success());
    eventually("the socket is removed", async || !socket.exists()).await;
}
