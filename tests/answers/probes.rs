//! What clients ask before they ask anything: columns without rows, a preview, the range of a column. Free, with a budget that
//! would not pay for one statement.

use crate::city::{World, rows, sqlstate};
use crate::usual::rules;
use tokio_postgres::types::Type;

const RULES: &str =
    concat!(rules!([epsilon = 1] ["pure", epsilon = 0.5]), "[answers]\nrange_for_min_max = true\n");

#[tokio::test(flavor = "multi_thread")]
async fn columns_without_rows_are_free() {
    let world = World::new(&["ada"], RULES).await;
    let client = world.client("ada").await;
    assert_eq!(sqlstate(&client, "SELECT count(*) FROM trips").await, "53400", "nothing else is paid for");
    let probe = "SELECT t.station, t.fare, t.started_at FROM trips t WHERE 1 = 0";
    for sql in [probe, "SELECT * FROM (SELECT station, fare, started_at FROM trips) AS v LIMIT 0"] {
        assert_eq!(rows(&client, sql).await.unwrap().len(), 0, "{sql}");
        let prepared = client.prepare(sql).await.unwrap();
        let columns: Vec<(&str, &Type)> = prepared.columns().iter().map(|c| (c.name(), c.type_())).collect();
        let expected = [("station", &Type::TEXT), ("fare", &Type::NUMERIC), ("started_at", &Type::TIMESTAMP)];
        assert_eq!(columns, expected, "{sql}");
        assert!(client.query(&prepared, &[]).await.unwrap().is_empty(), "{sql}");
    }
    // What the policy hides does not exist.
    let riders = client.prepare("SELECT * FROM riders LIMIT 0").await.unwrap();
    assert!(riders.columns().iter().all(|c| c.name() != "email"));
    assert_eq!(sqlstate(&client, "SELECT email FROM riders LIMIT 0").await, "42703");
    // A limit that a parameter brings.
    assert!(client.query("SELECT * FROM trips LIMIT $1", &[&0i64]).await.unwrap().is_empty());
    let refused = client.query("SELECT * FROM trips LIMIT $1", &[&1i64]).await.unwrap_err();
    assert_eq!(refused.code().unwrap().code(), "0A000");
    let (out, _) =
        world.psql("ada", "SELECT * FROM (SELECT station, count(*) FROM trips GROUP BY 1) v LIMIT 0").await;
    assert!(out.contains("station") && out.contains("count"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_declared_range_is_told_where_the_policy_says_so() {
    let world = World::new(&["ada"], RULES).await;
    let client = world.client("ada").await;
    let asked = "SELECT min(started_at), max(started_at) AS last FROM trips";
    let found = rows(&client, asked).await.unwrap();
    let cells: Vec<&str> = found[0].iter().flatten().map(String::as_str).collect();
    assert_eq!(cells.len(), 2);
    assert!(cells[0].starts_with("2023-01-01 00:00:00") && cells[1].starts_with("2025-12-31"), "{cells:?}");
    let prepared = client.prepare(asked).await.unwrap();
    assert_eq!(prepared.columns()[1].name(), "last");
    assert_eq!(prepared.columns()[0].type_(), &Type::TIMESTAMP);
    assert_eq!(client.query(&prepared, &[]).await.unwrap().len(), 1);
    let (_, told) = world.psql("ada", asked).await;
    assert!(told.contains("range that the policy declares for started_at"), "{told}");
    // Of some rows, or of groups, it is a question to the data, which this budget does not pay for.
    for sql in [
        "SELECT max(fare) FROM trips WHERE fare < 50",
        "SELECT max(t.fare) FROM trips t JOIN riders r ON r.rider_id = t.rider_id",
        "SELECT station, max(fare) FROM trips GROUP BY station",
        "SELECT max(fare), count(*) FROM trips",
    ] {
        assert_eq!(sqlstate(&client, sql).await, "53400", "{sql}");
    }
}
