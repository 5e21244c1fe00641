//! Two hundred clients that mean ill, or well, beside one dashboard: it is never refused, memory stays within its bounds, every
//! debit is one that was asked for, and nobody hangs.
//!
//! A minute of it, or `NOISEGATE_SOAK_SECONDS`; `./test soak` takes ten, of a release, and holds the dashboard's slowest answers
//! against those of a quiet time, which a busy machine's minute could not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod attacks;
mod bursts;
#[path = "../city/mod.rs"]
mod city;
mod clients;
mod crowd;
mod dashboard;
mod hostile;
mod measure;
mod siege;
#[path = "../support/mod.rs"]
mod support;
#[path = "../support/usual.rs"]
mod usual;

use city::{DATA, PASSWORD, policy};
use crowd::{Crowd, be_the_crowd};
use dashboard::Dashboard;
use measure::Memory;
use std::time::{Duration, Instant};
use support::{Workdir, connect, database_in, own_cluster};
use tokio::process::Command;
use usual::rules;

/// Megabytes that the proxy may take while it is at work: what all users may hold (`max_total_bytes`) and as much again for what
/// is on its way.
const PROXY_AT_WORK: u64 = 1_024;
/// Megabytes that the proxy may have taken more, a minute after everybody left, than before they came.
const PROXY_AFTER: u64 = 256;
/// Megabytes that the database may take at work: sixteen statements, each with `max_text_bytes` a few times over and its share of
/// `work_mem`.
const DATABASE_AT_WORK: u64 = 1_536;
/// Megabytes that it may have taken more when all is quiet again.
const DATABASE_AFTER: u64 = 512;
/// Connections to the database that a proxy at work has made, and keeps.
const POOLED: usize = 24;
/// How many times as long the dashboard may wait for the slowest of a hundred answers.
const SLOWER: u32 = 5;
/// Users of the crowd.
const USERS: [&str; 3] = ["eve", "bob", "carol"];
/// Questions that each user may pay for.
const QUOTA: u64 = 100_000;

/// What everybody may spend, and hold.
const RULES: &str = concat!(
    rules!([epsilon = 0.01] ["pure", epsilon = 1000]),
    "[[budget]]\nname = \"quota\"\nper = \"user\"\naccounting = \"pure\"\nepsilon = 1000\n\n
[limits]\nmax_connections = 300\nmax_connections_per_user = 150\nmax_backend_errors = 1000000
max_total_bytes = 536870912\nmax_user_bytes = 134217728\nmax_session_bytes = 67108864\n"
);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_dashboard_among_two_hundred_clients() {
    if be_the_crowd().await {
        return;
    }
    let seconds: u64 =
        std::env::var("NOISEGATE_SOAK_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let length = Duration::from_secs(seconds);
    let settings = [("max_connections", "200"), ("work_mem", "4MB"), ("shared_buffers", "64MB")];
    let cluster = tokio::task::spawn_blocking(move || own_cluster(&settings)).await.unwrap();
    let db = city::published(database_in(&cluster, DATA).await).await;
    let users: Vec<&str> = ["ada"].into_iter().chain(USERS).collect();
    let text = policy(&db.backend_toml(), &users, RULES);
    let text = text.replacen("[backend]\n", "[backend]\npool = 8\npublic_timeout = \"4s\"\n", 1);
    let dir = Workdir::new(&text);
    let log = dir.path().join("log");
    let created = dir.noisegate(&["budget", "create"]).await;
    assert!(created.status.success(), "{created:?}");
    let file = std::fs::File::create(&log).unwrap();
    let quiet_log = |command: &mut Command| {
        command.stderr(file).env("NOISEGATE_LOG", "error");
    };
    let gate = dir.serve_with(quiet_log).await;
    let memory = Memory::of(gate.pid(), cluster.server_pid().unwrap());

    // A quiet time, by which the rest is judged.
    let mut dashboard = Dashboard::open(&gate).await;
    dashboard.warm().await;
    let quiet = dashboard.watch(length / 6).await;
    let before = memory.now();

    let this = "one_dashboard_among_two_hundred_clients";
    let crowd = Crowd::enter(this, &gate.address, &dir.policy(), gate.pid(), None);
    let watched = memory.watch();
    let begun = Instant::now();
    let busy = dashboard.watch(length).await;
    let most = watched.end().await;
    let left = crowd.leave().await;
    println!("{left}");

    // All is as it was.
    let quiet_again = Instant::now();
    let after = loop {
        let now = memory.now();
        let settled =
            now.proxy <= before.proxy + PROXY_AFTER && now.database <= before.database + DATABASE_AFTER;
        if (settled && now.sockets <= before.sockets + POOLED)
            || quiet_again.elapsed() > Duration::from_secs(60)
        {
            break now;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    let (p_quiet, p_busy) = (quiet.percentile(99), busy.percentile(99));
    println!("the dashboard in quiet: {quiet}");
    println!("beside the others, {} s: {busy}", begun.elapsed().as_secs());
    println!("megabytes and sockets before {before:?}, at most {most:?}, after {after:?}");
    assert!(most.proxy <= PROXY_AT_WORK, "the proxy took {} MB", most.proxy);
    assert!(after.proxy <= before.proxy + PROXY_AFTER, "the proxy kept {} MB", after.proxy);
    assert!(most.database <= DATABASE_AT_WORK, "the database took {} MB", most.database);
    assert!(after.database <= before.database + DATABASE_AFTER, "the database kept {} MB", after.database);
    assert!(after.sockets <= before.sockets + POOLED, "{} connections are left", after.sockets);
    assert!(left.hung.is_empty(), "these never came to an end: {:?}", left.hung);
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(!log.contains("panic"), "{log}");

    // The dashboard has paid for what it asked, and the others for what they were answered, and nothing that they did not ask.
    let owner = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    assert_eq!(clients::spent(&owner).await, dashboard.paid());
    for user in USERS {
        let client = connect(&gate.url(user, PASSWORD, "bikes")).await;
        let spent = clients::spent(&client).await;
        let (answered, asked) = left.books.of(user);
        println!("{user} was answered {answered} of {asked} paid questions, and charged for {spent}");
        assert!(
            answered <= spent && spent <= asked,
            "{user}: {answered} answers, {asked} questions, {spent} charges"
        );
    }
    drop(gate);
    let verified = dir.noisegate(&["budget", "verify"]).await;
    assert!(verified.status.success(), "{verified:?}");
    if seconds >= 300 {
        assert!(p_busy <= p_quiet * SLOWER, "the dashboard waited {p_busy:?}, and {p_quiet:?} in quiet");
    }
}
