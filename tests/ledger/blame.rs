//! Whose fault it is when proxy or database falls (soundness rule 56): nobody's, until the same statement was there twice.

use crate::city::{DATA, PASSWORD, eventually, hold_trips, policy, published, rows, sqlstate};
use crate::support::{Gate, TestDb, Workdir, connect, database_in, own_cluster};
use crate::usual::rules;
use noisegate::demo::Cluster;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};

/// One failure is as many as a user may have.
const RULES: &str =
    concat!(rules!([epsilon = 0.1] ["pure", epsilon = 100]), "[limits]\nmax_backend_errors = 1\n");
const ADAS: &str = "SELECT count(*) FROM trips WHERE minutes < 10";
const ADAS_LATER: &str = "select count(*) from trips where minutes < 11 -- again";
const BOBS: &str = "SELECT sum(minutes) FROM trips WHERE minutes > 1";
/// Alike; a statement that a connection has prepared does not wait.
const BOBS_LATER: &str = "SELECT sum(minutes) FROM trips WHERE minutes > 2";
const OTHER: &str = "SELECT count(*) FROM riders";

async fn client(gate: &Gate, user: &str) -> Client {
    connect(&gate.url(user, PASSWORD, "bikes")).await
}

/// Has both read, and wait; with what they will hear.
async fn both_read(
    db: &TestDb,
    gate: &Gate,
    adas: &'static str,
) -> (Client, Vec<JoinHandle<Option<String>>>) {
    let holder = hold_trips(db).await;
    let mut asked = Vec::new();
    for (user, sql) in [("ada", adas), ("bob", BOBS_LATER)] {
        let client = client(gate, user).await;
        asked.push(tokio::spawn(async move {
            let error = rows(&client, sql).await.err()?;
            Some(error.code().map_or("", |code| code.code()).to_owned())
        }));
    }
    let waiting = format!(
        "SELECT count(DISTINCT query)::text FROM pg_stat_activity WHERE usename = '{}_fetch' AND wait_event_type = 'Lock'",
        db.name
    );
    let looks = db.superuser().await;
    eventually("both reads", async || {
        assert!(!asked.iter().any(JoinHandle::is_finished), "one did not wait");
        rows(&looks, &waiting).await.unwrap()[0][0].as_deref() == Some("2")
    })
    .await;
    (holder, asked)
}

/// Ends a process of the server as the system does to one that takes all memory, and waits until the server has begun anew.
async fn falls(db: &TestDb, pid: &str) {
    let life = "SELECT min(pid)::text FROM pg_stat_activity WHERE datid IS NULL";
    let before = rows(&db.superuser().await, life).await.unwrap();
    assert!(std::process::Command::new("kill").args(["-KILL", pid]).status().unwrap().success());
    eventually("recovery", async || {
        let Ok((client, connection)) = tokio_postgres::connect(&db.superuser_url, NoTls).await else {
            return false;
        };
        tokio::spawn(connection);
        rows(&client, life).await.is_ok_and(|now| now != before)
    })
    .await;
}

/// The first cell, once there is one.
async fn cell(db: &TestDb, sql: &str) -> String {
    let looks = db.superuser().await;
    let mut cell = None;
    eventually(sql, async || {
        cell = rows(&looks, sql).await.unwrap().into_iter().flatten().flatten().next();
        cell.is_some()
    })
    .await;
    cell.unwrap()
}

/// A server of its own that has forgotten nothing after a crash, although its log is never synced.
async fn server() -> (Cluster, TestDb) {
    let cluster = tokio::task::spawn_blocking(|| own_cluster(&[])).await.unwrap();
    let db = published(database_in(&cluster, DATA).await).await;
    db.execute("CHECKPOINT").await;
    (cluster, db)
}

async fn answered(gate: &Gate, user: &str, sql: &str) {
    let rows = rows(&client(gate, user).await, sql).await.unwrap_or_else(|e| panic!("{user}: {sql}: {e:?}"));
    assert_eq!(rows.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_56_a_killed_proxy_leaves_no_failures_and_one_statement_is_refused() {
    let (_cluster, db) = server().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada", "bob"], RULES));
    let gate = dir.serve().await;
    let (holder, asked) = both_read(&db, &gate, ADAS).await;
    gate.kill().await;
    asked.iter().for_each(JoinHandle::abort);
    drop(holder);
    let gate = dir.serve_again().await;
    // At once, although both had all the places that they have for failures.
    answered(&gate, "ada", OTHER).await;
    answered(&gate, "bob", BOBS).await;
    let (holder, asked) = both_read(&db, &gate, ADAS_LATER).await;
    gate.kill().await;
    asked.iter().for_each(JoinHandle::abort);
    drop(holder);
    let gate = dir.serve_again().await;
    let ada = client(&gate, "ada").await;
    assert_eq!(sqlstate(&ada, ADAS).await, "55000");
    answered(&gate, "ada", OTHER).await;
    // It ended well between two crashes.
    answered(&gate, "bob", BOBS).await;
    // The operator takes the line out.
    let list = dir.path().join("noisegate.db-crashes");
    let told = std::fs::read_to_string(&list).unwrap();
    assert!(!told.contains("minutes"), "{told}");
    std::fs::write(&list, "").unwrap();
    answered(&gate, "ada", ADAS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_56_a_database_that_falls_leaves_no_failures_and_one_statement_is_refused() {
    let (_cluster, db) = server().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada", "bob"], RULES));
    let gate = dir.serve().await;
    for adas in [ADAS, ADAS_LATER] {
        let (holder, asked) = both_read(&db, &gate, adas).await;
        // As the system does to a process that takes all memory.
        let its = format!(
            "SELECT pid::text FROM pg_stat_activity WHERE usename = '{}_fetch' AND wait_event_type = 'Lock' AND query LIKE '%WHERE%minutes%'",
            db.name
        );
        let pid = cell(&db, &its).await;
        falls(&db, &pid).await;
        drop(holder);
        for asked in asked {
            assert_eq!(asked.await.unwrap().as_deref(), Some("08006"));
        }
        answered(&gate, "bob", BOBS).await;
    }
    assert_eq!(sqlstate(&client(&gate, "ada").await, ADAS).await, "55000");
    answered(&gate, "ada", OTHER).await;
    answered(&gate, "bob", BOBS).await;
    // A session that ends alone is a failure as ever.
    let (holder, asked) = both_read(&db, &gate, "SELECT count(*) FROM trips WHERE minutes > 3").await;
    let ends = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}_fetch' AND wait_event_type = 'Lock'",
        db.name
    );
    db.superuser().await.batch_execute(&ends).await.unwrap();
    for asked in asked {
        assert_eq!(asked.await.unwrap().as_deref(), Some("XX000"));
    }
    drop(holder);
    assert_eq!(sqlstate(&client(&gate, "bob").await, BOBS).await, "42501");
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_56_a_public_statement_that_kills_its_session_twice_is_refused() {
    let (_cluster, db) = server().await;
    let dir = Workdir::new(&policy(&db.backend_toml(), &["ada", "bob"], RULES));
    let gate = dir.serve().await;
    let long = "SELECT count(*) FROM generate_series(1, 9000) a, generate_series(1, 9000) b, generate_series(1, 9000) c";
    for _ in 0..2 {
        let ada = client(&gate, "ada").await;
        let asked = tokio::spawn(async move { sqlstate(&ada, long).await });
        let its = format!(
            "SELECT pid::text FROM pg_stat_activity WHERE usename = '{}_finish' AND state = 'active' AND query LIKE '%9000%'",
            db.name
        );
        falls(&db, &cell(&db, &its).await).await;
        assert_eq!(asked.await.unwrap(), "08006");
        answered(&gate, "bob", OTHER).await;
    }
    eventually("refusal", async || sqlstate(&client(&gate, "ada").await, long).await == "55000").await;
    answered(&gate, "bob", OTHER).await;
}
