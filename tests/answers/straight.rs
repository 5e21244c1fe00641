//! Answers that are nothing but released columns, which noisegate writes without asking the database again.

use crate::bikes::Bikes;

/// Where it does; that they are PostgreSQL's own is compared wherever a statement is asked.
#[tokio::test(flavor = "multi_thread")]
async fn released_columns_are_written_without_the_database() {
    let bikes = Bikes::new().await;
    for sql in [
        "SELECT count(*) FROM riders",
        "SELECT count(*) AS n, sum(minutes) FROM trips",
        "SELECT sum(minutes) FROM trips",
        "SELECT plan, count(*) FROM riders GROUP BY plan",
        "SELECT count(*), plan FROM riders GROUP BY plan ORDER BY count(*) DESC",
        "SELECT plan, count(*) FROM riders GROUP BY plan ORDER BY 2 LIMIT 2 OFFSET 1",
        "SELECT station, sum(minutes), count(*) FROM trips GROUP BY station ORDER BY sum(minutes) DESC, 3",
        "SELECT active, count(*) FROM riders GROUP BY active ORDER BY active",
        "SELECT active, count(*) FROM riders GROUP BY active ORDER BY active DESC",
        "SELECT active, count(*) FROM riders GROUP BY 1 ORDER BY active NULLS FIRST, count(*)",
        "SELECT kind, count(*) FROM devices GROUP BY kind",
        "SELECT city, count(*) FROM riders GROUP BY city ORDER BY count(*)",
    ] {
        let asked = bikes.ask(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert!(asked.straight, "{sql}");
    }
}

/// What PostgreSQL computes, sorts by a collation, or writes by the session's settings is PostgreSQL's.
#[tokio::test(flavor = "multi_thread")]
async fn the_rest_is_asked_of_the_database() {
    let bikes = Bikes::new().await;
    for sql in [
        "SELECT count(*) + 1 FROM riders",
        "SELECT avg(minutes) FROM trips",
        "SELECT sum(fare) FROM trips",
        "SELECT plan, count(*) FROM riders GROUP BY plan ORDER BY plan",
        "SELECT plan, count(*) FROM riders GROUP BY plan HAVING count(*) > 10",
        "SELECT DISTINCT count(*) FROM riders GROUP BY plan",
        "SELECT plan, count(*) FROM riders GROUP BY ROLLUP (plan)",
        "SELECT day, count(*) FROM trips WHERE day < '2024-02-01' GROUP BY day",
        "SELECT * FROM (SELECT plan, count(*) FROM riders GROUP BY plan) AS q",
        "SELECT plan, count(*) FROM riders GROUP BY plan LIMIT 1 + 1",
    ] {
        let asked = bikes.ask(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert!(!asked.straight, "{sql}");
    }
}
