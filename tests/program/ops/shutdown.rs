//! SIGTERM and SIGINT.

use super::{text, with_server};
use crate::city::{PASSWORD, bikes, eventually, fetch_waits, hold_trips, rows};
use crate::support::{Workdir, connect};
use std::time::{Duration, Instant};

const ASK: &str = "SELECT count(*) FROM trips";

#[tokio::test]
async fn a_running_statement_ends_with_its_rows_and_an_idle_session_at_once() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], ""));
    let gate = dir.serve().await;
    let url = gate.url("ada", PASSWORD, "bikes");
    let idle = connect(&url).await;
    let holder = hold_trips(&db).await;
    let running = connect(&url).await;
    let asked = tokio::spawn(async move { rows(&running, ASK).await });
    eventually("the fetch", async || fetch_waits(&db).await).await;

    gate.send("TERM").await;
    eventually("the end of the idle session", async || idle.is_closed()).await;
    eventually("the end of new connections", async || {
        tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_err()
    })
    .await;
    assert!(!asked.is_finished(), "it waits for its rows");
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(asked.await.unwrap().unwrap().len(), 1);
    assert!(gate.ended("TERM").await.success());
    let left = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = left.filter(|n| n.ends_with("-wal") || n.ends_with("-control")).collect();
    assert_eq!(left, [""; 0], "the ledger is closed, and nothing is left behind");
}

#[tokio::test]
async fn a_second_signal_does_not_wait() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], ""));
    let gate = dir.serve().await;
    let _holder = hold_trips(&db).await;
    let running = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let asked = tokio::spawn(async move { rows(&running, ASK).await });
    eventually("the fetch", async || fetch_waits(&db).await).await;
    gate.send("INT").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!asked.is_finished());
    let begun = Instant::now();
    assert!(gate.signal("TERM").await.success());
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let error = asked.await.unwrap().unwrap_err();
    assert_eq!(error.code().map(|c| c.code()), Some("57P01"), "{error:?}");
    assert!(dir.noisegate(&["budget", "show"]).await.stdout.contains("ε = 0.1 of"), "the debit stands");
}

#[tokio::test]
async fn the_time_limit_is_the_policy_s() {
    let db = bikes().await;
    let keys = "listen = [\"127.0.0.1:0\"]\nshutdown_timeout = \"500ms\"";
    let dir = Workdir::new(&with_server(&text(&db, &["ada"], ""), keys));
    let gate = dir.serve().await;
    let _holder = hold_trips(&db).await;
    let running = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let asked = tokio::spawn(async move { rows(&running, ASK).await });
    eventually("the fetch", async || fetch_waits(&db).await).await;
    let begun = Instant::now();
    assert!(gate.signal("TERM").await.success());
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(500) && took < Duration::from_secs(15), "{took:?}");
    assert!(asked.await.unwrap().is_err());
}
