//! What those who are not logged in can have the log say: little, however much they send, and that something was left out.

use super::text;
use crate::city::bikes;
use crate::support::{Workdir, soon};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a server is sent and closes after.
async fn send(address: &str, packets: &[Vec<u8>]) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    for packet in packets {
        let length = u32::try_from(packet.len() + 4).unwrap().to_be_bytes();
        // Refused in the middle of it, maybe.
        let _ = socket.write_all(&[&length[..], packet].concat()).await;
    }
    let _ = socket.shutdown().await;
    let _ = socket.read_to_end(&mut Vec::new()).await;
}

fn startup(user: &str) -> Vec<u8> {
    [b"\0\x03\0\0user\0", user.as_bytes(), b"\0database\0bikes\0\0"].concat()
}

#[tokio::test]
async fn strangers_fill_no_log() {
    let db = bikes().await;
    let rules = "[[access]]\nusers = [\"ada\"]\naction = \"allow\"\n[console]\nlisten = \"127.0.0.1:0\"\n[[console.user]]\nname = \"dpo\"\nrole = \"owner\"\n";
    let verifier = frontend::password::verifier("a", b"0123456789abcdef", 4096);
    let dir = Workdir::new(&text(&db, &["ada"], &format!("\n{rules}scram = {verifier:?}\n")));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let log = dir.path().join("log");
    let file = std::fs::File::create(&log).unwrap();
    let gate = dir.serve_with(|command| {
        command.stderr(file).env("NOISEGATE_LOG", "info");
    });
    let gate = gate.await;
    let read = || std::fs::read_to_string(&log).unwrap();
    let before = read().len();
    // Long names, which are refused by name; keys of nobody; packets that are none; clients that leave in the middle.
    for n in 0..400 {
        send(&gate.address, &[startup(&format!("{n}{}", "x".repeat(9_000)))]).await;
        send(&gate.address, &[[80_877_102_u32.to_be_bytes(), [1; 4], [2; 4]].concat()]).await;
        send(&gate.address, &[b"\0\x07\0\0".to_vec()]).await;
        send(&gate.address, &[startup("ada")]).await;
    }
    assert!(read().contains("xxx… ("), "{}", read());
    soon("what was left out is counted", async || read().contains("left out of the log")).await;
    let lines = read().lines().count();
    let written = read().len() - before;
    assert!(written < 100_000, "{written} bytes in {lines} lines");
    assert!(read().lines().all(|line| line.len() < 1_000), "no line is long");
}
