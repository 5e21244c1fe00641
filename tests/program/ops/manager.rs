//! systemd, played by a socket.

use super::text;
use crate::city::bikes;
use crate::support::{PATIENCE, Workdir};
use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Instant;

struct Manager(UnixDatagram);

impl Manager {
    fn new(address: &SocketAddr) -> Self {
        let socket = UnixDatagram::bind_addr(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(socket)
    }

    fn hear(&self) -> String {
        let mut message = [0; 4096];
        let length = loop {
            match self.0.recv(&mut message) {
                // A child of the test's has ended.
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                heard => break heard.expect("the service said something in time"),
            }
        };
        String::from_utf8(message[..length].to_vec()).unwrap()
    }

    /// The next message with this line; others may come before it.
    fn hear_with(&self, line: &str) -> String {
        let begun = Instant::now();
        loop {
            let message = self.hear();
            if message.lines().any(|l| l == line) {
                return message;
            }
            assert!(begun.elapsed() < PATIENCE, "no {line}");
        }
    }
}

fn value(message: &str, key: &str) -> String {
    let line = message.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("no {key} in {message}")).to_owned()
}

/// Microseconds of the monotonic clock.
fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec * 1_000_000 + now.tv_nsec / 1_000).try_into().unwrap()
}

#[tokio::test]
async fn systemd_hears_of_every_change() {
    let db = bikes().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let name = format!("noisegate-test-{}", std::process::id());
    for (env, address) in [
        (path.to_str().unwrap().to_owned(), SocketAddr::from_pathname(&path).unwrap()),
        (format!("@{name}"), SocketAddr::from_abstract_name(&name).unwrap()),
    ] {
        let manager = Manager::new(&address);
        let good = text(&db, &["ada"], "");
        let dir = Workdir::new(&good);
        assert!(dir.noisegate(&["budget", "create"]).await.status.success());
        let gate = dir
            .serve_with(|c| {
                c.env("NOTIFY_SOCKET", &env).env("NOISEGATE_LOG", "off");
            })
            .await;
        let ready = manager.hear();
        assert!(ready.starts_with("READY=1\n"), "{ready}");
        assert_eq!(value(&ready, "STATUS"), format!("listening on {}", gate.address));

        let before = monotonic();
        gate.send("HUP").await;
        let reloading = manager.hear();
        assert!(reloading.starts_with("RELOADING=1\n"), "{reloading}");
        let at: u64 = value(&reloading, "MONOTONIC_USEC").parse().unwrap();
        assert!((before..=monotonic()).contains(&at), "{at} after {before}");
        assert_eq!(manager.hear(), ready);

        std::fs::write(dir.policy(), good.replace("epsilon = 0.1", "epsilon = -1")).unwrap();
        gate.send("HUP").await;
        assert!(manager.hear().starts_with("RELOADING=1\n"));
        let failed = manager.hear();
        assert!(failed.starts_with("READY=1\n") && failed.lines().count() == 2, "{failed}");
        let status = value(&failed, "STATUS");
        assert!(status.contains("the last reload failed") && status.contains("epsilon"), "{status}");

        gate.send("TERM").await;
        let stopping = manager.hear();
        assert!(stopping.starts_with("STOPPING=1\n"), "{stopping}");
        assert_eq!(value(&stopping, "EXTEND_TIMEOUT_USEC"), "40000000");
        assert!(gate.ended("TERM").await.success());
    }
}

#[tokio::test]
async fn the_watchdog_is_fed_if_it_is_ours() {
    let db = bikes().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let manager = Manager::new(&SocketAddr::from_pathname(&path).unwrap());
    let dir = Workdir::new(&text(&db, &["ada"], ""));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let gate = dir
        .serve_with(|c| {
            c.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000");
        })
        .await;
    let begun = Instant::now();
    for _ in 0..5 {
        manager.hear_with("WATCHDOG=1");
    }
    // Five at intervals of 100 ms, the first at once.
    assert!((300..5_000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    assert!(gate.signal("TERM").await.success());

    let gate = dir
        .serve_with(|c| {
            c.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "1000").env("WATCHDOG_PID", "1");
        })
        .await;
    assert!(manager.hear_with("READY=1").starts_with("READY=1"));
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    gate.send("TERM").await;
    assert!(
        manager.hear().starts_with("STOPPING=1"),
        "nothing in between: the watchdog is another process's"
    );
    assert!(gate.ended("TERM").await.success());
}
