//! The way to the database: it hangs, resets, refuses, and comes back.

use super::World;
use super::proxy::{Action, Mode, Proxy, Trigger};
use crate::city::{self, eventually, rows, sqlstate};
use std::time::{Duration, Instant};

/// Bytes that are sent at one step of a statement only: where it is typed, made ready to be fetched, fetched, finished.
const TYPED: &[u8] = b"D\0\0\0\x06S\0";
const OPENED: &[u8] = b"; LOCK TABLE ONLY public.trips IN ACCESS SHARE MODE";
const FETCHED: &[u8] = b"ROLLBACK";
const FINISHED: &[u8] = b"D\0\0\0\x06P\0";
/// What a statement begins with on each login.
const BEGUN: [&[u8]; 2] = [b"BEGIN", TYPED];

/// Each step, by login, with the SQLSTATE of a statement that hangs there, and whether it was paid for by then.
type Step = (fn(&World) -> &Proxy, &'static [u8], &'static str, u32);

const STEPS: [Step; 4] = [
    (|w| &w.finish, TYPED, "57014", 0),
    (|w| &w.fetch, OPENED, "57014", 0),
    (|w| &w.fetch, FETCHED, "08006", 1),
    (|w| &w.finish, FINISHED, "57014", 1),
];

/// Another text each time: one that was typed before is not typed again. PostgreSQL finishes it, since it computes something.
fn counted(n: usize) -> String {
    format!("SELECT count(*) + 0 AS n{n} FROM trips")
}

/// Two statements, because one that was typed before is not typed again.
const SUMS: [&str; 2] = ["SELECT sum(minutes) FROM trips", "SELECT sum(fare) FROM trips"];

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_hangs_ends_the_statement_and_not_the_session() {
    let world = World::new().await;
    let ada = world.ada().await;
    world.assert_answers(&ada).await;
    for (n, (proxy, step, code, debits)) in STEPS.into_iter().enumerate() {
        let proxy = proxy(&world);
        let sql = counted(n);
        proxy.trap(Trigger::Sent(step), Action::Freeze);
        let start = Instant::now();
        world.assert_fails(&ada, &sql, code, debits).await;
        assert!(
            proxy.sprung() && start.elapsed() < Duration::from_secs(30),
            "{code} after {:?}",
            start.elapsed()
        );
        proxy.set(Mode::Pass);
        world.assert_answers(&ada).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_is_not_noticed_until_private_rows_are_read() {
    let world = World::new().await;
    let ada = world.ada().await;
    world.assert_answers(&ada).await;
    for (n, (proxy, step, ..)) in STEPS.into_iter().enumerate() {
        let proxy = proxy(&world);
        let sql = counted(n);
        proxy.trap(Trigger::Sent(step), Action::Reset(Mode::Pass));
        if step == FETCHED {
            // What was read is not read again under one payment.
            world.assert_fails(&ada, &sql, "XX000", 1).await;
        } else {
            // Nothing had run: it runs on another connection, for one price.
            let before = world.paid().await;
            assert_eq!(rows(&ada, &sql).await.unwrap().len(), 1, "{sql}");
            assert_eq!(world.paid().await, before + 1);
        }
        assert!(proxy.sprung());
        world.assert_answers(&ada).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_gone_at_any_step_is_08006_until_it_is_back() {
    let world = World::new().await;
    let ada = world.ada().await;
    world.assert_answers(&ada).await;
    for (n, (proxy, step, _, debits)) in STEPS.into_iter().enumerate() {
        let proxy = proxy(&world);
        let sql = counted(n);
        proxy.trap(Trigger::Sent(step), Action::Reset(Mode::Refuse));
        world.assert_fails(&ada, &sql, "08006", debits).await;
        assert!(proxy.sprung());
        proxy.set(Mode::Pass);
        world.assert_answers(&ada).await;
    }
    for ((proxy, sql), begun) in [(&world.fetch, SUMS[0]), (&world.finish, SUMS[1])].into_iter().zip(BEGUN) {
        proxy.trap(Trigger::Sent(begun), Action::Reset(Mode::Refuse));
        for _ in 0..3 {
            world.assert_fails(&ada, sql, "08006", 0).await;
        }
        proxy.set(Mode::Pass);
        world.assert_answers(&ada).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_connections_and_never_answers_is_08006_within_seconds() {
    let world = World::new().await;
    let ada = world.ada().await;
    world.assert_answers(&ada).await;
    for ((proxy, sql), begun) in [(&world.fetch, SUMS[0]), (&world.finish, SUMS[1])].into_iter().zip(BEGUN) {
        // The connection that stands is lost, and the next one is never answered.
        proxy.trap(Trigger::Sent(begun), Action::Reset(Mode::Freeze));
        let start = Instant::now();
        world.assert_fails(&ada, sql, "08006", 0).await;
        assert!(proxy.sprung() && start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
        proxy.set(Mode::Pass);
        world.assert_answers(&ada).await;
    }
}

/// A network that swallows what is sent, where a statement may take ten minutes: it is given up long before, and its place is free.
#[tokio::test(flavor = "multi_thread")]
async fn a_black_hole_ends_statements_without_their_time_limit_and_frees_their_places() {
    let world = World::with_timeout(city::bikes().await, "10min").await;
    let ada = world.ada().await;
    world.assert_answers(&ada).await;
    for (n, (proxy, step, _, debits)) in STEPS.into_iter().enumerate().skip(2) {
        let proxy = proxy(&world);
        let sql = counted(n);
        proxy.trap(Trigger::Sent(step), Action::Freeze);
        let fails = async {
            world.assert_fails(&ada, &sql, "08006", debits).await;
            // And the next one, which has a connection of its own, or none.
            assert_eq!(sqlstate(&ada, &counted(100 + n)).await, "08006");
        };
        tokio::time::timeout(Duration::from_secs(120), fails).await.unwrap();
        assert!(proxy.sprung());
        proxy.set(Mode::Pass);
        world.assert_answers(&ada).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_does_not_wait_for_a_database_that_hangs() {
    let world = World::new().await;
    for (n, (proxy, step, ..)) in STEPS.into_iter().enumerate() {
        let (proxy, ada) = (proxy(&world), world.ada().await);
        proxy.trap(Trigger::Sent(step), Action::Freeze);
        let cancel = ada.cancel_token();
        let sql = counted(n);
        let asked = tokio::spawn(async move { (sqlstate(&ada, &sql).await, ada) });
        eventually("the hang", async || proxy.sprung()).await;
        let start = Instant::now();
        cancel.cancel_query(tokio_postgres::NoTls).await.unwrap();
        let (code, client) = asked.await.unwrap();
        assert_eq!(code, "57014");
        assert!(start.elapsed() < Duration::from_secs(3), "step {n}: {:?}", start.elapsed());
        proxy.set(Mode::Pass);
        world.assert_answers(&client).await;
    }
}
