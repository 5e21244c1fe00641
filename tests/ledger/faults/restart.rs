//! The database goes away and comes back; the proxy stays.

use super::proxy::{Action, Trigger};
use super::{PRIVATE, World};
use crate::city::{DATA, eventually, fetch_waits, hold_trips, published, rows, sqlstate};
use crate::support::{self, database_in, start_server, stop_server};
use noisegate::demo::Cluster;
use std::process::Command;

async fn own_cluster() -> Cluster {
    tokio::task::spawn_blocking(|| support::own_cluster(&[])).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_outlives_its_database_and_finds_it_again() {
    let cluster = own_cluster().await;
    let world = World::over(published(database_in(&cluster, DATA).await).await).await;
    let (ada, idle) = (world.ada().await, world.ada().await);
    assert_eq!(rows(&ada, PRIVATE).await.unwrap().len(), 1);
    assert_eq!(world.paid().await, 1);

    // Gone while private rows are read: which failure it was may depend on them, so it is the constant one. (The fetch
    // goes first: were the lock to go first, it might still be answered.)
    let holder = hold_trips(&world.db).await;
    // A fetch that was planned before does not wait to be planned.
    let new = format!("{PRIVATE} WHERE minutes > 1");
    let asked = tokio::spawn(async move { (sqlstate(&ada, &new).await, ada) });
    eventually("the fetch", async || fetch_waits(&world.db).await).await;
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}_fetch' AND wait_event_type = 'Lock'",
        world.db.name
    );
    assert_eq!(rows(&world.db.superuser().await, &end).await.unwrap().len(), 1);
    let (code, ada) = asked.await.unwrap();
    assert_eq!(code, "XX000");
    stop_server(&cluster).await;
    assert!(holder.is_closed());
    assert_eq!(world.paid().await, 2, "the debit stands");

    // Gone before: nothing is charged, and the sessions live on. Logging in needs no database.
    let newcomer = world.ada().await;
    for client in [&ada, &idle, &newcomer] {
        for sql in [PRIVATE, "SELECT 1", "SELECT count(*) FROM stations"] {
            let error = client.simple_query(sql).await.expect_err(sql);
            let db_error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error:?}"));
            assert_eq!(db_error.code().code(), "08006", "{sql}: {db_error:?}");
            assert_eq!(db_error.message(), "the database is not reachable");
        }
    }
    assert_eq!(world.paid().await, 2);

    let mut server = start_server(&cluster).await;
    for client in [&ada, &idle, &newcomer] {
        assert_eq!(rows(client, PRIVATE).await.unwrap().len(), 1);
    }
    assert_eq!(world.paid().await, 5);
    tokio::task::spawn_blocking(move || cluster.stop()).await.unwrap().unwrap();
    server.wait().unwrap();
}

/// `kill -9` of one server process, and of the postmaster, while rows are on their way.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_while_rows_stream_gives_no_answer_and_is_found_again() {
    let cluster = own_cluster().await;
    let db = published(database_in(&cluster, DATA).await).await;
    // Four groups of each unit, twelve megabytes: most rows are not in some buffer yet when the server dies.
    db.execute(
        "INSERT INTO trips SELECT i, 1 + i % 499, '2024-01-01', 'Station 1', 1, 1, i || repeat('x', 6000), 1
         FROM generate_series(10000, 11995) i",
    )
    .await;
    // The cluster commits without waiting for its disk: what is not there when a server is killed would be lost.
    db.execute("CHECKPOINT").await;
    // Whoever kills has more time than one who only hangs.
    let world = World::with_timeout(db, "30s").await;
    let ada = world.ada().await;
    let notes = "SELECT note, count(*) FROM trips GROUP BY note";
    world.assert_answers(&ada).await;
    let postmaster = cluster.server_pid().unwrap();
    let mut server = None;
    for whole in [false, true] {
        let fetching = format!(
            "SELECT pid FROM pg_stat_activity WHERE usename = '{}_fetch' AND wait_event = 'ClientWrite'",
            world.db.name
        );
        let url = world.db.superuser_url.clone();
        let (killed, done) = std::sync::mpsc::channel();
        let kill = move || {
            let pid = if whole { postmaster } else { one_pid(&url, &fetching) };
            assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
            killed.send(pid).unwrap();
        };
        world.fetch.trap(Trigger::Answered(256 << 10), Action::Run(Box::new(kill)));
        let before = world.paid().await;
        let heard = ada.simple_query(notes).await;
        assert!(done.try_recv().is_ok(), "{heard:?}");
        // The postmaster's children end when they notice, which may be after the last row, or after the whole answer.
        match heard.map_err(|e| e.code().unwrap().code().to_owned()) {
            Ok(answer) => assert!(whole, "{answer:?}"),
            // In either case the whole server fell: it is nobody's failure.
            Err(code) => assert_eq!(code, "08006"),
        }
        assert_eq!(world.paid().await, before + 1, "it was asked of private rows");
        if whole {
            // A child that has not noticed yet may still take a statement.
            eventually("the end of the children", async || sqlstate(&ada, PRIVATE).await == "08006").await;
            world.assert_fails(&ada, PRIVATE, "08006", 0).await;
            std::fs::remove_file(cluster.dir().join("data/postmaster.pid")).unwrap();
            server = Some(start_server(&cluster).await);
        } else {
            // All sessions are ended, and the server recovers: it says 57P03 to us, and we that it is not reachable.
            eventually("the recovery", async || {
                tokio_postgres::connect(&world.db.superuser_url, tokio_postgres::NoTls).await.is_ok()
            })
            .await;
        }
        world.assert_answers(&ada).await;
    }
    tokio::task::spawn_blocking(move || cluster.stop()).await.unwrap().unwrap();
    server.unwrap().wait().unwrap();
}

/// Asked by psql, because it is asked within the proxy.
fn one_pid(url: &str, sql: &str) -> u32 {
    for _ in 0..100 {
        let out = Command::new("psql").args(["-XAtc", sql, url]).output().unwrap();
        match String::from_utf8(out.stdout).unwrap().trim().parse() {
            Ok(pid) => return pid,
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(100)),
        }
    }
    panic!("no session fetches")
}
