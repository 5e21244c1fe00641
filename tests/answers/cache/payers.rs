//! Who pays when several ask at once, and when something fails.

use super::world::{World, all, one};
use crate::city::{PASSWORD, eventually, fetch_waits, hold_trips};
use crate::support::connect;
use futures::TryStreamExt;
use tokio_postgres::NoTls;

const ASK: &str = "SELECT station, sum(minutes) FROM trips GROUP BY station ORDER BY 1";

#[tokio::test(flavor = "multi_thread")]
async fn rule_26_of_many_who_ask_at_once_one_pays() {
    let world = World::new("").await;
    let holder = hold_trips(&world.db).await;
    let url = world.gate.url("ada", PASSWORD, "bikes");
    let mut tasks = Vec::new();
    for _ in 0..12 {
        let client = connect(&url).await;
        tasks.push(tokio::spawn(async move { all(&client, ASK).await }));
    }
    eventually("a fetch waits", async || fetch_waits(&world.db).await).await;
    holder.batch_execute("ROLLBACK").await.unwrap();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    assert!(answers.iter().all(|a| *a == answers[0]), "{answers:?}");
    assert_eq!(world.paid().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_26_who_cancels_has_paid_for_an_answer_that_is_kept() {
    let world = World::new("").await;
    let holder = hold_trips(&world.db).await;
    let (payer, waiter) = (world.ada().await, world.ada().await);
    let cancel = payer.cancel_token();
    let paying = tokio::spawn(async move { payer.simple_query(ASK).await.map(|_| ()) });
    eventually("the payer's fetch waits", async || fetch_waits(&world.db).await).await;
    let waiting = tokio::spawn(async move { all(&waiter, ASK).await });
    // A paid statement and one that waits for it.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert_eq!(world.paid().await, 1);
    cancel.cancel_query(NoTls).await.unwrap();
    let failed = paying.await.unwrap().unwrap_err();
    assert_eq!(failed.code().unwrap().code(), "57014");
    // The fetch goes on, for whoever asks the same.
    assert!(fetch_waits(&world.db).await);
    holder.batch_execute("ROLLBACK").await.unwrap();
    let answer = waiting.await.unwrap();
    assert_eq!(all(&world.ada().await, ASK).await, answer);
    assert_eq!(world.paid().await, 1, "asking again is free");
    // And where the client goes away altogether.
    let holder = hold_trips(&world.db).await;
    let other = "SELECT station, count(*) FROM trips GROUP BY station ORDER BY 1";
    let gone = world.ada().await;
    let asked = tokio::spawn(async move { gone.simple_query(other).await.map(|_| ()) });
    eventually("its fetch waits", async || fetch_waits(&world.db).await).await;
    asked.abort();
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(all(&world.ada().await, other).await.len(), answer.len());
    assert_eq!(world.paid().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_payer_that_is_refused_is_refused() {
    let world = World::new("").await;
    let c = world.ada().await;
    // What is left pays for no more than what is stored.
    c.simple_query("SET noisegate.epsilon = 8.95").await.unwrap();
    one(&c, "SELECT count(*) FROM riders").await;
    let url = world.gate.url("ada", PASSWORD, "bikes");
    let mut tasks = Vec::new();
    for _ in 0..6 {
        let client = connect(&url).await;
        tasks.push(tokio::spawn(async move { client.simple_query(ASK).await.map(|_| ()) }));
    }
    for task in tasks {
        let refused = task.await.unwrap().unwrap_err();
        assert_eq!(refused.code().unwrap().code(), "53400", "{refused:?}");
    }
    assert_eq!(one(&c, "SELECT count(*) - count(*) FROM riders").await, "0", "the stored answer stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_paid_for_is_stored_before_the_finish() {
    let world = World::new("").await;
    let c = world.ada().await;
    // The release is paid for; the finish divides by zero.
    let failed = c.simple_query("SELECT 1 / (sum(minutes) - sum(minutes)) FROM trips").await.unwrap_err();
    assert_eq!(failed.code().unwrap().code(), "22012");
    assert_eq!(world.paid().await, 1);
    one(&c, "SELECT sum(minutes) FROM trips").await;
    assert_eq!(world.paid().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn preparing_describing_and_retrying_pay_once() {
    let world = World::new("").await;
    let c = world.ada().await;
    let sql = "SELECT plan, avg(birth_year) FROM riders GROUP BY plan ORDER BY 1";
    let statement = c.prepare(sql).await.unwrap();
    assert_eq!((statement.columns().len(), world.paid().await), (2, 0));
    let first = format!(
        "{:?}",
        c.query(&statement, &[]).await.unwrap().iter().map(|r| r.get::<_, String>(0)).collect::<Vec<_>>()
    );
    // The same portal's statement again, another connection, the count that tools ask for first, and COPY.
    for client in [&c, &world.ada().await] {
        let again = client.query(sql, &[]).await.unwrap();
        assert_eq!(format!("{:?}", again.iter().map(|r| r.get::<_, String>(0)).collect::<Vec<_>>()), first);
        assert_eq!(one(client, &format!("SELECT count(*) FROM ({sql}) t")).await, "3");
    }
    assert_eq!(world.paid().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_pays_when_it_is_declared_and_never_again() {
    let world = World::new("").await;
    let c = world.ada().await;
    let declare = "DECLARE c SCROLL CURSOR FOR SELECT plan, count(*) FROM riders GROUP BY plan ORDER BY 1";
    assert!(c.simple_query(declare).await.is_err(), "outside of a transaction");
    assert_eq!(world.paid().await, 0, "what cannot be declared is not paid for");
    c.batch_execute(&format!("BEGIN; SET LOCAL noisegate.cache = off; {declare}")).await.unwrap();
    assert_eq!(world.paid().await, 1);
    let fetched = |rows: Vec<tokio_postgres::Row>| -> Vec<(Option<String>, i64)> {
        rows.iter().map(|r| (r.get(0), r.get(1))).collect()
    };
    let forth = fetched(c.query("FETCH ALL FROM c", &[]).await.unwrap());
    let mut back = fetched(c.query("FETCH BACKWARD ALL FROM c", &[]).await.unwrap());
    back.reverse();
    assert!(forth.len() >= 3 && forth == back, "the same numbers in binary: {forth:?}, {back:?}");
    c.batch_execute("MOVE ABSOLUTE 0 IN c").await.unwrap();
    let text = c.simple_query("FETCH c").await.unwrap();
    let first = text.iter().find_map(|m| match m {
        tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(1).unwrap().to_owned()),
        _ => None,
    });
    assert_eq!(first, Some(forth[0].1.to_string()), "and in text");
    c.batch_execute("COMMIT").await.unwrap();
    assert_eq!(world.paid().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_pays_like_the_query_in_it_and_private_rows_are_not_copied() {
    let world = World::new("").await;
    let c = world.ada().await;
    let copied = async |sql: &str| {
        let parts: Vec<bytes::Bytes> = c.copy_out(sql).await.unwrap().try_collect().await.unwrap();
        String::from_utf8(parts.concat()).unwrap()
    };
    let csv = copied("COPY (SELECT count(*) AS n FROM riders) TO STDOUT (FORMAT csv, HEADER)").await;
    assert_eq!(csv, format!("n\n{}\n", one(&c, "SELECT count(*) FROM riders").await));
    assert_eq!(world.paid().await, 1);
    for private in ["riders", "riders (plan)", "(SELECT plan FROM riders)", "(TABLE riders)"] {
        for format in ["text", "csv", "binary"] {
            let sql = format!("COPY {private} TO STDOUT (FORMAT {format})");
            let refused = c.simple_query(&sql).await.unwrap_err();
            assert!(["0A000", "42601"].contains(&refused.code().unwrap().code()), "{sql}: {refused}");
        }
    }
    assert_eq!(world.paid().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn execute_computes_its_arguments_and_pays_each_time_it_is_not_known() {
    let world = World::new("").await;
    let c = world.ada().await;
    c.batch_execute("PREPARE p (int, text) AS SELECT $1 + 1 AS n, $2 || '!' AS t").await.unwrap();
    for (sql, first) in [("EXECUTE p(6 * 7, 'a')", "43"), ("EXECUTE p('1', NULL)", "2")] {
        assert_eq!(one(&c, sql).await, first, "{sql}");
    }
    c.batch_execute("PREPARE q AS SELECT count(*) FROM riders WHERE birth_year < $1").await.unwrap();
    assert_eq!(world.paid().await, 0);
    let first = one(&c, "EXECUTE q(1980)").await;
    assert_eq!((one(&c, "EXECUTE q(1979 + 1)").await, world.paid().await), (first, 1));
    one(&c, "EXECUTE q(1990)").await;
    assert_eq!(world.paid().await, 2);
    for (sql, code) in [
        ("EXECUTE q((SELECT count(*) FROM riders))", "0A000"),
        ("EXECUTE q((SELECT max(capacity) FROM stations))", "0A000"),
        ("EXECUTE q(1, 2)", "42601"),
        ("EXECUTE q", "42601"),
        ("EXECUTE q('x')", "22P02"),
        ("EXECUTE nothing", "26000"),
        ("PREPARE r AS SELECT plan FROM riders", "0A000"),
        ("PREPARE r AS DELETE FROM riders", "42501"),
    ] {
        let refused = c.simple_query(sql).await.unwrap_err();
        assert_eq!(refused.code().unwrap().code(), code, "{sql}: {refused}");
    }
    assert_eq!(world.paid().await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn explain_analyze_asks_and_says_so() {
    let world = World::new("").await;
    let c = world.ada().await;
    let sql = "SELECT plan, count(*) FROM riders GROUP BY plan";
    all(&c, &format!("EXPLAIN (COSTS off, ANALYZE false, FORMAT text) {sql}")).await;
    assert_eq!(world.paid().await, 0);
    for explain in ["EXPLAIN ANALYZE", "EXPLAIN (ANALYZE, BUFFERS)"] {
        let lines = format!("{:?}", all(&c, &format!("{explain} {sql}")).await);
        assert!(lines.contains("It was asked, and 3 rows came back; the notice"), "{lines}");
        assert_eq!(world.paid().await, 1, "the second time it is known");
    }
    all(&c, sql).await;
    assert_eq!(world.paid().await, 1);
    for (sql, code) in [
        ("EXPLAIN (FORMAT xml) SELECT 1", "0A000"),
        ("EXPLAIN (FORMAT prose) SELECT 1", "22023"),
        ("EXPLAIN (QUICKLY) SELECT 1", "42601"),
        ("EXPLAIN ANALYZE DELETE FROM riders", "42501"),
    ] {
        assert_eq!(c.simple_query(sql).await.unwrap_err().code().unwrap().code(), code, "{sql}");
    }
}
