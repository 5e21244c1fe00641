//! What one session may hold, and that it is given back: each attack by itself.

use crate::attacks;
use crate::city::{self, DATA, PASSWORD, policy, room_for, rows};
use crate::clients::{Books, Guest};
use crate::measure::{Memory, Taken};
use crate::support::{Workdir, connect, database_in, own_cluster};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Megabytes of `limits.max_session_bytes` here.
const SESSION: u64 = 64;
/// Megabytes that a statement takes while it is parsed and planned, beside.
const BESIDE: u64 = 128;
/// Megabytes that a proxy may have taken more than before, a few seconds after a burst.
const LEFT: u64 = 24;
/// Connections of a burst.
const MANY: usize = 1_000;

const RULES: &str = "[limits]\nmax_session_bytes = 67108864\nmax_connections = 1100\nmax_connections_per_user = 1100\n\
                     max_logins_per_address = 1100\nlogin_timeout = \"60s\"\n";

/// The proxy's memory, once it has given back what it may.
async fn settled(memory: Memory, most: u64) -> Taken {
    let begun = Instant::now();
    loop {
        let now = memory.now();
        if now.proxy <= most || begun.elapsed() > Duration::from_secs(20) {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_burst_takes_is_bounded_and_given_back() {
    let settings = [("max_connections", "100")];
    let cluster = tokio::task::spawn_blocking(move || own_cluster(&settings)).await.unwrap();
    let db = city::published(database_in(&cluster, DATA).await).await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["eve"], &(room_for(9) + RULES)));
    let gate = dir.serve().await;
    let memory = Memory::of(gate.pid(), cluster.server_pid().unwrap());
    let guest = Guest {
        address: gate.address.clone(),
        user: "eve",
        policy: dir.policy(),
        proxy: gate.pid(),
        books: Arc::new(Books::default()),
        round: 1,
        number: 1,
    };
    rows(&connect(&guest.url()).await, "SELECT count(*) FROM stations").await.unwrap();
    let before = memory.now();
    for attack in
        ["portals", "prepared statements", "savepoints", "huge statement", "growing texts", "cursors"]
    {
        let watched = memory.watch();
        attacks::run(attack, &guest).await;
        let most = watched.end().await;
        let after = settled(memory, before.proxy + LEFT).await;
        println!(
            "{attack}: {} MB before, {} at most, {} after; database {} at most",
            before.proxy, most.proxy, after.proxy, most.database
        );
        assert!(most.proxy <= before.proxy + SESSION + BESIDE, "{attack} took {} MB", most.proxy);
        assert!(after.proxy <= before.proxy + LEFT, "{attack} left {} MB", after.proxy);
        assert!(most.database <= before.database + 256, "{attack} took {} MB of the database", most.database);
    }

    let mut all = Vec::new();
    while all.len() < MANY {
        let some = (0..50).map(|_| async {
            let client = connect(&gate.url("eve", PASSWORD, "bikes")).await;
            rows(&client, "SELECT station FROM stations").await.unwrap();
            client
        });
        all.extend(futures::future::join_all(some).await);
    }
    // Connected, and without what it took to log in.
    let most = settled(memory, before.proxy + 128).await;
    drop(all);
    let after = settled(memory, before.proxy + LEFT).await;
    println!("{MANY} connections: {} MB, {} after", most.proxy, after.proxy);
    assert!(most.proxy <= before.proxy + 128, "{MANY} connections took {} MB", most.proxy);
    assert!(after.proxy <= before.proxy + LEFT, "{MANY} connections left {} MB", after.proxy);
}
