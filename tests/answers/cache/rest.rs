//! Answers at rest: what outlives a restart, and what the ledger's file tells.

use super::world::{World, all, one};
use crate::city::PASSWORD;
use crate::support::{Workdir, connect};

const ASK: &str = "SELECT station, sum(minutes), count(*) FROM trips GROUP BY station ORDER BY 1";

impl World {
    /// Ends the proxy by a signal, changes what is to be changed, and starts it again.
    async fn restart(self, signal: &str, between: impl FnOnce(&Workdir)) -> Self {
        let Self { db, dir, gate } = self;
        gate.signal(signal).await;
        between(&dir);
        let gate = dir.serve_again().await;
        Self { db, dir, gate }
    }
}

fn key_file(dir: &Workdir, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let file = dir.path().join("noisegate.key");
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Every file of the ledger, one after the other.
fn ledger(dir: &Workdir) -> Vec<u8> {
    let files = std::fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path());
    let ledger =
        files.filter(|f| f.is_file() && f.file_name().unwrap().to_str().unwrap().starts_with("noisegate.db"));
    ledger.flat_map(|f| std::fs::read(f).unwrap()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|w| w == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_outlive_restarts_and_kills() {
    let mut world = World::new("").await;
    let first = all(&world.ada().await, ASK).await;
    let two = "SELECT (SELECT count(*) FROM trips), (SELECT count(*) FROM riders)";
    let pair = all(&world.ada().await, two).await;
    for signal in ["TERM", "KILL"] {
        world = world.restart(signal, |_| ()).await;
        assert_eq!(all(&world.ada().await, ASK).await, first);
        assert_eq!(
            all(&world.ada().await, "SELECT station, avg(minutes) FROM trips GROUP BY 1").await.len(),
            10
        );
        assert_eq!(all(&world.ada().await, two).await, pair);
        assert_eq!(world.paid().await, 2, "after SIG{signal}");
    }
    assert!(holds(&ledger(&world.dir), "Station 7"), "without a key answers lie there as they are");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_outside_the_ledger_answers_are_nothing_to_who_has_the_file_alone() {
    let db = crate::city::bikes().await;
    let rules = super::world::rules("[cache]\nkey_file = \"noisegate.key\"");
    let dir = Workdir::new(&crate::city::policy(&db.backend_toml(), &["ada", "bob"], &rules));
    let created = dir.noisegate(&["budget", "create"]).await;
    assert!(created.status.success(), "{created:?}");
    let missing = dir.noisegate(&["serve"]).await;
    assert!(missing.stderr.contains("noisegate.key cannot be read"), "{missing:?}");
    key_file(&dir, &"0a".repeat(32));
    let gate = dir.serve_again().await;
    let mut world = World { db, dir, gate };
    let first = all(&world.ada().await, ASK).await;
    assert!(!holds(&ledger(&world.dir), "Station 7"));
    world = world.restart("TERM", |_| ()).await;
    assert_eq!((all(&world.ada().await, ASK).await, world.paid().await), (first.clone(), 1));
    // Another key: not stored, for the analyst no error, and paid for again; both keys' answers lie side by side.
    world = world.restart("TERM", |dir| key_file(dir, &"0b".repeat(32))).await;
    let second = all(&world.ada().await, ASK).await;
    assert_eq!((second != first, world.paid().await), (true, 2));
    assert_eq!((all(&world.ada().await, ASK).await, world.paid().await), (second.clone(), 2));
    world = world.restart("TERM", |dir| key_file(dir, &"0a".repeat(32))).await;
    assert_eq!((all(&world.ada().await, ASK).await, world.paid().await), (first, 2));
    // Changed bytes count as not stored.
    world = world
        .restart("TERM", |dir| {
            let books = rusqlite::Connection::open(dir.path().join("noisegate.db")).unwrap();
            let changed = books.execute("UPDATE shelf SET bytes = randomblob(length(bytes))", []).unwrap();
            assert!(changed >= 2, "{changed}");
        })
        .await;
    let third = all(&world.ada().await, ASK).await;
    assert_eq!((all(&world.ada().await, ASK).await, world.paid().await), (third, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_killed_after_the_debit_pays_again() {
    let world = World::new("").await;
    let holder = crate::city::hold_trips(&world.db).await;
    let client = connect(&world.gate.url("ada", PASSWORD, "bikes")).await;
    let paying = tokio::spawn(async move { client.simple_query(ASK).await.map(|_| ()) });
    crate::city::eventually("the fetch waits", async || crate::city::fetch_waits(&world.db).await).await;
    let world = world.restart("KILL", |_| ()).await;
    assert!(paying.await.unwrap().is_err());
    holder.batch_execute("ROLLBACK").await.unwrap();
    drop(holder);
    assert_eq!(world.paid().await, 1);
    let c = world.ada().await;
    let started = std::time::Instant::now();
    one(&c, ASK).await;
    assert_eq!(world.paid().await, 2);
    // Nobody else has this ledger: there is nobody to wait for.
    assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
}

/// Staging's database in the place of production's: the same names, the same definitions, other rows.
#[tokio::test(flavor = "multi_thread")]
async fn another_database_in_the_same_place_has_answers_of_its_own() {
    let mut world = World::new("").await;
    let name = world.db.name.clone();
    let first = all(&world.ada().await, ASK).await;
    let admin = connect(&world.db.superuser_url.replace(&format!("/{name}"), "/postgres")).await;
    for sql in [
        format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"),
        format!("ALTER DATABASE {name} RENAME TO {name}_old"),
        format!("CREATE DATABASE {name} TEMPLATE {name}_old"),
        format!("GRANT CONNECT ON DATABASE {name} TO {name}_fetch, {name}_finish"),
    ] {
        crate::city::eventually(&sql, async || admin.batch_execute(&sql).await.is_ok()).await;
    }
    let refused = world.ada().await.simple_query(ASK).await.unwrap_err();
    assert_eq!(refused.code().map(|c| c.code()), Some("08006"), "{refused:?}");
    // The books are of the other one, until their owner says that they are of this one, too.
    let World { db, dir, gate } = world;
    gate.signal("TERM").await;
    let accepted = dir.noisegate(&["budget", "accept", "--reason", "copied"]).await;
    assert!(accepted.status.success() && accepted.stdout.contains("the data were"), "{accepted:?}");
    let gate = dir.serve_again().await;
    world = World { db, dir, gate };
    assert_ne!(all(&world.ada().await, ASK).await, first);
    assert_eq!(world.paid().await, 2);
}
