//! Two proxies behind HAProxy, restarted one after the other while clients ask: every question is answered, and paid for once.

use crate::city::{self, PASSWORD, policy, room_for, rows};
use crate::support::{Workdir, database};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio_postgres::NoTls;

const SESSIONS: usize = 4;
/// Of each session, no two alike.
const QUESTIONS: usize = 30;
/// Starts of each proxy after its first.
const ROUNDS: usize = 3;

/// HAProxy in the foreground, ended with the test.
struct Balancer(Child);

impl Balancer {
    fn start(dir: &Workdir, clients: &str, proxies: &[String]) -> Self {
        let servers: String = proxies
            .iter()
            .enumerate()
            .map(|(n, socket)| format!("    server proxy{n} unix@{socket} check inter 100ms fall 1 rise 1\n"))
            .collect();
        let config = format!(
            "defaults\n    mode tcp\n    timeout connect 2s\n    timeout client 120s\n    timeout server 120s\n    retries 3
    option redispatch\nfrontend clients\n    bind unix@{clients}\n    default_backend proxies\nbackend proxies
    balance roundrobin\n    option pgsql-check user ada\n{servers}"
        );
        let path = dir.path().join("haproxy.cfg");
        std::fs::write(&path, config).unwrap();
        let mut command = Command::new("haproxy");
        command
            .arg("-db")
            .arg("-f")
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Self(command.spawn().expect("haproxy; ./test installs it"))
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks until it is answered, by a new connection wherever the old one is gone.
async fn insist(url: &str, client: &mut Option<tokio_postgres::Client>, sql: &str) {
    loop {
        if client.is_none() {
            match tokio_postgres::connect(url, NoTls).await {
                Ok((new, connection)) => {
                    tokio::spawn(connection);
                    *client = Some(new);
                }
                // No proxy is up, or the one that took it went away.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            }
        }
        let Some(open) = client.as_ref() else { continue };
        match rows(open, sql).await {
            Ok(answer) => return assert_eq!(answer.len(), 1),
            Err(e) => {
                let code = e.code().map(|c| c.code().to_owned());
                let shutdown = code.as_deref().is_none_or(|c| c == "57P01");
                assert!(shutdown || open.is_closed(), "{sql}: {e:?}");
                *client = None;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_loses_no_debit_and_makes_none_twice() {
    let (data, books) = (city::bikes().await, database("").await);
    let rules = room_for(1000) + "[cache]\nenabled = true\n";
    let dirs = [0, 1].map(|_| {
        let text = policy(&data.backend_toml(), &["ada"], &rules);
        Workdir::new(
            &text.replace("url = \"sqlite:noisegate.db\"", &format!("url = \"{}\"", books.superuser_url)),
        )
    });
    let socket = |dir: &Workdir, port: u32| format!("{}/.s.PGSQL.{port}", dir.path().display());
    let sockets = [socket(&dirs[0], 7001), socket(&dirs[1], 7002)];
    for (dir, socket) in dirs.iter().zip(&sockets) {
        let text = std::fs::read_to_string(dir.policy()).unwrap();
        let listen = "listen = [\"127.0.0.1:0\"]";
        assert!(text.contains(listen));
        std::fs::write(
            dir.policy(),
            text.replace(listen, &format!("listen = [\"127.0.0.1:0\", \"unix:{socket}\"]")),
        )
        .unwrap();
    }
    let mut gates = vec![dirs[0].serve().await, dirs[1].serve_again().await];
    let clients = dirs[0].path().join(".s.PGSQL.7000");
    let _balancer = Balancer::start(&dirs[0], &clients.display().to_string(), &sockets);
    let url = format!("postgres://ada:{PASSWORD}@/bikes?host={}&port=7000", dirs[0].path().display());
    let answered = Arc::new(AtomicUsize::new(0));
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|session| {
            let (url, answered) = (url.clone(), Arc::clone(&answered));
            tokio::spawn(async move {
                let mut client = None;
                for n in 0..QUESTIONS {
                    let sql =
                        format!("SELECT count(*) FROM trips WHERE minutes < {}", 1 + session * QUESTIONS + n);
                    insist(&url, &mut client, &sql).await;
                    answered.fetch_add(1, SeqCst);
                }
            })
        })
        .collect();
    // While they ask: each proxy ends, and starts again, before the next one does.
    let all = SESSIONS * QUESTIONS;
    for round in 0..ROUNDS * 2 {
        while answered.load(SeqCst) < all * round / (ROUNDS * 2) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let gate = gates.remove(0);
        assert!(gate.signal("TERM").await.success());
        gates.push(dirs[round % 2].serve_again().await);
    }
    for session in sessions {
        session.await.unwrap();
    }
    assert_eq!(answered.load(SeqCst), all);
    let shown = dirs[0].noisegate(&["budget", "show"]).await;
    assert!(shown.stdout.contains(&format!("ε = {} of 100", all / 10)), "{}{}", shown.stdout, shown.stderr);
    let verified = dirs[1].noisegate(&["budget", "verify"]).await;
    assert!(verified.status.success(), "{}{}", verified.stdout, verified.stderr);
}
