//! The doors for HTTP (metrics, the console, the shuffler, probes) while somebody holds as many half requests open as they can.

use super::text;
use crate::city::bikes;
use crate::collecting;
use crate::support::{Gate, Workdir};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// As many as a door held once, and as many again that the kernel kept before it.
const MANY: usize = 260;

/// Where a line of the greeting says that something is.
fn address(gate: &Gate, what: &str) -> String {
    let line = gate.greeting.lines().find_map(|l| l.strip_prefix(what)).expect(what);
    let address = line.trim_start_matches("http://");
    address.split_once('/').map_or(address, |(address, _)| address).to_owned()
}

/// Heads of requests that do not end, one from each of these hosts in turn. The connections live while they are kept.
async fn half_requests(to: &str, hosts: &[[u8; 4]]) -> Vec<TcpStream> {
    let each = hosts.iter().cycle().take(MANY).map(|host| async {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((std::net::Ipv4Addr::from(*host), 0).into()).unwrap();
        // The kernel keeps so many that are not accepted, and leaves the rest without an answer.
        let connected = timeout(Duration::from_secs(2), socket.connect(to.parse().unwrap())).await;
        let mut socket = connected.ok()?.unwrap();
        // Those that were sent away already do not hear it.
        let _ = socket.write_all(b"GET /live HTTP/1.1\r\nhost: x\r\n").await;
        Some(socket)
    });
    futures::future::join_all(each).await.into_iter().flatten().collect()
}

/// What a page answers while the doors are held.
async fn status(address: &str, path: &str) -> u16 {
    let asked = async {
        let mut socket = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        answer.split(' ').nth(1).unwrap_or_default().parse().unwrap_or(0)
    };
    // Less than what half requests once had: nobody waits for their end.
    timeout(Duration::from_secs(8), asked).await.unwrap_or(0)
}

/// One host, the same as the one that asks; another one; and very many.
fn crowds() -> [Vec<[u8; 4]>; 3] {
    let many = (0..200).map(|n| [127, 0, 3, n + 1]).collect();
    [vec![[127, 0, 0, 1]], vec![[127, 0, 0, 2]], many]
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn half_requests_cost_whoever_makes_them_their_own_place() {
    let db = bikes().await;
    let more = format!(
        "\n[metrics]\nlisten = \"127.0.0.1:0\"\n\n[console]\nlisten = \"127.0.0.1:0\"\n\
         [[console.user]]\nname = \"dpo\"\nrole = \"owner\"\nscram = {:?}\n",
        frontend::password::verifier("a", b"0123456789abcdef", 4096)
    );
    let dir = Workdir::new(&text(&db, &["ada"], &more));
    let gate = dir.serve().await;
    for (door, path) in [("metrics at ", "/metrics"), ("metrics at ", "/live"), ("console at ", "/login")] {
        let door = address(&gate, door);
        for hosts in crowds() {
            let held = half_requests(&door, &hosts).await;
            assert_eq!(status(&door, path).await, 200, "{path} beside {} hosts", hosts.len());
            drop(held);
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_shufflers_door_is_not_held_by_half_requests_either() {
    let folder = collecting::collection().await;
    let shuffling = collecting::shuffle(folder.path(), "min_batch = 1\nmax_delay = 0\nmin_group = 0\n").await;
    for hosts in crowds() {
        let held = half_requests(&shuffling.address, &hosts).await;
        assert_eq!(status(&shuffling.address, "/live").await, 200, "beside {} hosts", hosts.len());
        drop(held);
    }
}

/// Probes have a door of their own where the policy names one, and it stays open while all others are held.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn probes_are_answered_while_every_other_door_is_held() {
    let db = bikes().await;
    let more = "\n[metrics]\nlisten = \"127.0.0.1:0\"\nhealth_listen = \"127.0.0.1:0\"\n";
    let dir = Workdir::new(&text(&db, &["ada"], more));
    let gate = dir.serve().await;
    let (metrics, health) = (address(&gate, "metrics at "), address(&gate, "health at "));
    assert_ne!(metrics, health);
    for (door, path, code) in [
        (&health, "/live", 200),
        (&health, "/ready", 200),
        (&health, "/metrics", 404),
        // One way to ask: they have moved.
        (&metrics, "/live", 404),
        (&metrics, "/ready", 404),
        (&metrics, "/metrics", 200),
    ] {
        assert_eq!(status(door, path).await, code, "{path}");
    }
    for hosts in crowds() {
        let held = [half_requests(&metrics, &hosts).await, half_requests(&health, &hosts).await];
        assert_eq!(status(&health, "/live").await, 200);
        assert_eq!(status(&health, "/ready").await, 200);
        drop(held);
    }
}
