//! The server goes away and comes back; the process lives.

use super::world::Database;
use super::{text, texts};
use crate::support::{own_cluster, start_server, stop_server};
use futures::StreamExt;
use noisegate::backend::{Backend, FetchError, FetchRequest, FetchText, Hints, RelayError, Settings};
use noisegate::error::SqlState;
use noisegate::kernel::Certified;
use std::time::Duration;

/// Any text: what is tested here is how texts are run.
pub fn unproven(sql: &str) -> FetchText {
    let certified = std::sync::Arc::new(Certified::unproven(sql, 0, false, Vec::new()));
    FetchText { certified, params: Vec::new(), hints: Hints::default() }
}

pub fn request(sql: &str) -> FetchRequest {
    let statements = vec![unproven(sql)];
    FetchRequest { statements, fingerprint: None, max_rows: 1_000_000 }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_is_08006_while_it_lasts_and_nothing_after() {
    // Its own server: the others' must not go away under them.
    let server = tokio::task::spawn_blocking(|| own_cluster(&[])).await.unwrap();
    let db = Database::in_cluster(&server).await;
    let mut policy = db.policy();
    policy.pool = 3;
    let backend = Backend::connect(&policy).await.unwrap();
    let ask = || request("SELECT count(*) FROM public.riders");
    backend.fetch(ask()).await.unwrap();
    text(&backend, "SELECT 1").await;

    stop_server(&server).await;
    for _ in 0..3 {
        let error = texts(&backend, "SELECT 1").await.unwrap_err();
        assert!(matches!(error, RelayError::Unreachable(_)), "{error:?}");
        let error = error.into_finish_error();
        assert_eq!(error.code, SqlState::CONNECTION_FAILURE);
        assert_eq!(error.message, "the database is not reachable");
        assert!(error.hint.is_some());
        let error = backend.describe(&Settings::default(), "SELECT 1", &[]).await.unwrap_err();
        assert!(matches!(error, RelayError::Unreachable(_)), "{error:?}");
        let error = backend.fetch(ask()).await.unwrap_err();
        assert!(matches!(error, FetchError::Unreachable(_)), "{error:?}");
        assert_eq!(error.into_client_error().code, SqlState::CONNECTION_FAILURE);
    }

    let mut process = start_server(&server).await;
    assert_eq!(text(&backend, "SELECT 1").await, "1");
    assert_eq!(backend.fetch(ask()).await.unwrap()[0][0].get::<_, i64>(0), 100);
    tokio::task::spawn_blocking(move || server.stop()).await.unwrap().unwrap();
    process.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_died_while_idle_are_replaced_unseen() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    for _ in 0..5 {
        backend.fetch(request("SELECT 1 FROM public.riders")).await.unwrap();
        text(&backend, "SELECT 1").await;
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename IN ($1, $2)";
        let killed = db.admin.query(sql, &[&db.fetch, &db.finish]).await.unwrap();
        // One that was ended in the round before may still be listed.
        assert!(killed.len() >= 2, "{}", killed.len());
        // At once, so that now and then the death is noticed only while the statement is sent.
        assert_eq!(backend.fetch(request("SELECT 1 FROM public.riders")).await.unwrap()[0].len(), 100);
        assert_eq!(text(&backend, "SELECT 'alive'").await, "alive");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_killed_in_mid_statement_is_an_error_and_not_a_retry() {
    let db = Database::new().await;
    let backend = Backend::connect(&db.policy()).await.unwrap();
    let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename IN ($1, $2) AND query ~ 'pg_sleep'";
    let killer = async {
        while db.admin.query(kill, &[&db.fetch, &db.finish]).await.unwrap().len() < 2 {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    let fetch = backend.fetch(request("SELECT pg_sleep(20) FROM public.riders"));
    let query = texts(&backend, "SELECT pg_sleep(20)");
    let (fetched, queried, ()) = tokio::join!(fetch, query, async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        killer.await;
    });
    // Private rows were being read: constant, and nothing of the cause.
    let error = fetched.unwrap_err();
    assert!(matches!(error, FetchError::Failed(_)), "{error:?}");
    assert_eq!(error.into_client_error().message, "the private data could not be read");
    assert!(matches!(queried, Err(RelayError::Lost(_))), "{queried:?}");
    assert_eq!(text(&backend, "SELECT 'alive'").await, "alive");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_cut_short_end_in_an_error() {
    let db = Database::new().await;
    let mut policy = db.policy();
    policy.statement_timeout = Duration::from_secs(1);
    let backend = Backend::connect(&policy).await.unwrap();
    let sql = "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)";
    for stall in [false, true] {
        let mut rows = backend.query(&Settings::default(), sql, &[], &[0]).await.unwrap().rows;
        rows.next().await.unwrap().unwrap();
        if stall {
            // Longer than a statement may take: another one gets the only connection.
            assert_eq!(text(&backend, "SELECT 'mine'").await, "mine");
        } else {
            let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1";
            // One runs statements, and the other is for what takes a moment.
            assert_eq!(db.admin.query(kill, &[&db.finish]).await.unwrap().len(), 2);
        }
        let mut last = rows.next().await;
        let mut seen = 1;
        while let Some(Ok(_)) = last {
            seen += 1;
            last = rows.next().await;
        }
        assert!(seen < 1_000_000);
        match last {
            Some(Err(RelayError::Timeout)) if stall => {}
            Some(Err(RelayError::Lost(_))) if !stall => {}
            last => panic!("after {seen} rows, stalled: {stall}: {last:?}"),
        }
        assert!(rows.next().await.is_none());
    }
}
