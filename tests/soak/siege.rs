//! One attack at a time, beside a dashboard and somebody who asks `SELECT 1`: a table of how long these wait, and of what proxy and
//! database take. A moment of each, or `NOISEGATE_SIEGE_SECONDS`; `./test siege` takes twenty, of a release.

use crate::attacks::ALL;
use crate::city::{self, DATA, PASSWORD, policy};
use crate::crowd::{Crowd, be_the_crowd};
use crate::dashboard::Dashboard;
use crate::measure::{Memory, percentile};
use crate::support::{Workdir, connect, database_in, own_cluster};
use crate::{DATABASE_AT_WORK, PROXY_AT_WORK, RULES};
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// Clients of an attack.
const CLIENTS: usize = 8;
/// Between two questions of the bystander.
const PAUSE: Duration = Duration::from_millis(20);
/// How much longer the bystander may wait for `SELECT 1` beside somebody who writes statements as large as they may be.
const LONGER: Duration = Duration::from_millis(20);

/// How long `SELECT 1` took, again and again.
async fn waits(client: &Client, length: Duration) -> Vec<Duration> {
    let (begun, mut waits) = (Instant::now(), Vec::new());
    while begun.elapsed() < length {
        let asked = Instant::now();
        client.simple_query("SELECT 1").await.expect("an answer");
        waits.push(asked.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    waits
}

fn milliseconds(waits: &[Duration], percent: usize) -> f64 {
    percentile(waits.iter().copied(), percent).as_secs_f64() * 1e3
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_attack_by_itself() {
    if be_the_crowd().await {
        return;
    }
    let seconds: u64 =
        std::env::var("NOISEGATE_SIEGE_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let length = Duration::from_secs(seconds);
    let settings = [("max_connections", "200"), ("work_mem", "4MB"), ("shared_buffers", "64MB")];
    let cluster = tokio::task::spawn_blocking(move || own_cluster(&settings)).await.unwrap();
    let db = city::published(database_in(&cluster, DATA).await).await;
    let text = policy(&db.backend_toml(), &["ada", "eve", "bob"], RULES);
    let dir =
        Workdir::new(&text.replacen("[backend]\n", "[backend]\npool = 8\npublic_timeout = \"4s\"\n", 1));
    let log = dir.path().join("log");
    let created = dir.noisegate(&["budget", "create"]).await;
    assert!(created.status.success(), "{created:?}");
    let file = std::fs::File::create(&log).unwrap();
    let gate = dir
        .serve_with(|command| {
            command.stderr(file).env("NOISEGATE_LOG", "error");
        })
        .await;
    let memory = Memory::of(gate.pid(), cluster.server_pid().unwrap());
    let mut dashboard = Dashboard::open(&gate).await;
    dashboard.warm().await;
    let bob = connect(&gate.url("bob", PASSWORD, "bikes")).await;

    println!(
        "| attack, by {CLIENTS} clients | `SELECT 1` of another, p50 and p99 in ms | dashboard, p99 in ms | proxy, MB | PostgreSQL, MB | rounds |"
    );
    println!("|---|---|---|---|---|---|");
    let mut of_quiet = None;
    let ill = ALL.iter().filter(|(name, ..)| !matches!(*name, "good" | "paying")).map(|a| Some(a.0));
    for attack in std::iter::once(None).chain(ill) {
        let crowd = attack.map(|only| {
            Crowd::enter(
                "siege::each_attack_by_itself",
                &gate.address,
                &dir.policy(),
                gate.pid(),
                Some((only, CLIENTS)),
            )
        });
        let watched = memory.watch();
        let (asked, shown) = tokio::join!(waits(&bob, length), dashboard.watch(length));
        let most = watched.end().await;
        let left = match crowd {
            Some(crowd) => Some(crowd.leave().await),
            None => None,
        };
        let rounds = left.as_ref().map_or(0, |left| left.rounds());
        let (half, slowest) = (milliseconds(&asked, 50), milliseconds(&asked, 99));
        println!(
            "| {} | {half:.1}, {slowest:.1} | {:.0} | {} | {} | {rounds} |",
            attack.unwrap_or("nobody"),
            shown.percentile(99).as_secs_f64() * 1e3,
            most.proxy,
            most.database,
        );
        assert!(most.proxy <= PROXY_AT_WORK, "{attack:?}: the proxy took {} MB", most.proxy);
        assert!(most.database <= DATABASE_AT_WORK, "{attack:?}: the database took {} MB", most.database);
        assert!(left.is_none_or(|left| left.hung.is_empty()), "{attack:?} never came to an end");
        let quiet = *of_quiet.get_or_insert(slowest);
        let large = matches!(attack, Some("huge statement" | "hostile texts"));
        if large && seconds >= 20 {
            assert!(
                slowest <= quiet + LONGER.as_secs_f64() * 1e3,
                "{attack:?}: {slowest} ms, and {quiet} in quiet"
            );
        }
    }
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(!log.contains("panic"), "{log}");
}
