//! Statements whose private rows are compared with a result that is released first: two payments, one price.

use super::world::{World, all, one};
use crate::city::{PASSWORD, eventually, fetch_waits, hold_trips};
use crate::support::psql;
use tokio_postgres::NoTls;

/// At ε = 0.2 each of its two stages, whose errors matter as much, costs what a statement of this world costs.
const ASK: &str = "SELECT count(*) FROM trips WHERE minutes > (SELECT count(*) / 20.0 FROM trips)";
const TWICE: &str = "SET noisegate.epsilon = 0.2";

#[tokio::test(flavor = "multi_thread")]
async fn stages_are_paid_for_as_one_statement_and_asking_again_is_free() {
    let world = World::new("").await;
    let c = world.ada().await;
    all(&c, TWICE).await;
    let explained = all(&c, &format!("EXPLAIN (VERBOSE) {ASK}")).await;
    let lines: Vec<&str> = explained.iter().flatten().flatten().map(String::as_str).collect();
    assert_eq!(lines[4], "Price: epsilon 0.2");
    assert!(lines.contains(&"Stage 2: release 2, epsilon 0.1"), "{lines:?}");
    assert_eq!(world.paid().await, 0);
    let first = all(&c, ASK).await;
    assert_eq!(world.paid().await, 2);
    let other = world.user("bob").await;
    all(&other, TWICE).await;
    let words =
        "SELECT count(*) AS n FROM trips AS t WHERE (SELECT count(*) / 20.0 FROM trips AS u) < t.minutes";
    assert_eq!(all(&other, words).await, first, "the same question in other words");
    let explained = one(&other, &format!("EXPLAIN {ASK}")).await;
    assert_eq!(explained, "This costs nothing: it is answered from an earlier release.");
    assert_eq!(world.paid().await, 2);
    // The count is another one: what is counted above it is another question.
    let narrower = ASK.replace("FROM trips)", "FROM trips WHERE fare > 5)");
    all(&c, &narrower).await;
    assert_eq!(world.paid().await, 4);
    // With new noise on the count there is no kept answer to what is above it.
    all(&c, "SET noisegate.cache = off").await;
    all(&c, ASK).await;
    assert_eq!(world.paid().await, 6);
    let script = format!("{TWICE}; SET noisegate.cache = off; {ASK};");
    let told = psql(&world.gate.url("ada", PASSWORD, "bikes"), &script).await.stderr;
    assert_eq!(told.matches("NOTICE:  spent ").count(), 1, "{told}");
    // Of two stages the first is kept: the second alone is paid for.
    all(&c, "SET noisegate.cache = on").await;
    all(
        &c,
        &ASK.replace("SELECT count(*) FROM", "SELECT count(*) + 1 FROM")
            .replace("WHERE", "WHERE fare > 5 AND"),
    )
    .await;
    assert_eq!(world.paid().await, 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_extended_protocol_describes_stages_without_reading() {
    let world = World::new("").await;
    let c = world.ada().await;
    // Four fifths of the price are for ten stations, one is for the count that they are compared with.
    all(&c, "SET noisegate.epsilon = 0.5").await;
    let sql = "SELECT station, count(*), avg(fare) FROM trips
        WHERE minutes > (SELECT count(*) / 20.0 FROM trips WHERE minutes > $1) AND minutes < $2 GROUP BY station";
    let statement = c.prepare(sql).await.unwrap();
    let types: Vec<&str> = statement.columns().iter().map(|c| c.type_().name()).collect();
    assert_eq!(types, ["text", "int8", "numeric"]);
    assert_eq!(world.paid().await, 0);
    let (low, high) = (35, 85);
    assert_eq!(c.query(&statement, &[&low, &high]).await.unwrap().len(), 10);
    assert_eq!(world.paid().await, 5);
    c.query(&statement, &[&low, &high]).await.unwrap();
    assert_eq!(world.paid().await, 5);
    // Another value of the inner parameter is another count; of the outer one, another question above the same.
    c.query(&statement, &[&low, &80]).await.unwrap();
    assert_eq!(world.paid().await, 9);
    c.query(&statement, &[&36, &high]).await.unwrap();
    assert_eq!(world.paid().await, 14);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_paid_for_as_a_whole_is_not_begun() {
    let world = World::new("").await;
    let c = world.ada().await;
    // Room for one stage, and not for both.
    all(&c, "SET noisegate.epsilon = 8.85").await;
    one(&c, "SELECT count(*) FROM riders").await;
    all(&c, TWICE).await;
    let refused = c.simple_query(ASK).await.unwrap_err();
    let refused = refused.as_db_error().unwrap();
    assert_eq!(refused.code().code(), "53400", "{refused:?}");
    assert!(refused.hint().unwrap().contains("SET noisegate.epsilon = 0.15"), "{refused:?}");
    all(&c, "SET noisegate.epsilon = 0.15").await;
    one(&c, ASK).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cancels_between_stages_has_paid_for_the_first_which_is_kept() {
    let world = World::new("").await;
    let c = world.ada().await;
    all(&c, TWICE).await;
    let holder = hold_trips(&world.db).await;
    let cancel = c.cancel_token();
    let asking = tokio::spawn(async move { c.simple_query(ASK).await.map(|_| ()) });
    eventually("the first stage is read", async || fetch_waits(&world.db).await).await;
    cancel.cancel_query(NoTls).await.unwrap();
    assert_eq!(asking.await.unwrap().unwrap_err().code().unwrap().code(), "57014");
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(world.paid().await, 1);
    let c = world.ada().await;
    all(&c, TWICE).await;
    let answer = all(&c, ASK).await;
    assert_eq!(world.paid().await, 2, "the first stage was there");
    assert_eq!(all(&c, ASK).await, answer);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_stages_loses_nothing() {
    let world = World::new("").await;
    let c = world.ada().await;
    all(&c, TWICE).await;
    // The first stage reads riders, the second waits for trips: its debit is on disk.
    let sql = "SELECT count(*) FROM trips WHERE minutes > (SELECT count(*) / 20 FROM riders)";
    let holder = hold_trips(&world.db).await;
    let asking = tokio::spawn(async move { c.simple_query(sql).await.map(|_| ()) });
    eventually("the second stage is read", async || fetch_waits(&world.db).await).await;
    let World { db, dir, gate } = world;
    gate.signal("KILL").await;
    assert!(asking.await.unwrap().is_err());
    holder.batch_execute("ROLLBACK").await.unwrap();
    let gate = dir.serve_again().await;
    let world = World { db, dir, gate };
    assert_eq!(world.paid().await, 2, "both debits were on disk");
    let c = world.ada().await;
    all(&c, TWICE).await;
    let answer = all(&c, sql).await;
    assert_eq!(world.paid().await, 3, "the first stage was kept, the second is paid for again");
    assert_eq!(all(&c, sql).await, answer);
}
