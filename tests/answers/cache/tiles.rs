//! A dashboard.

use super::world::{World, all};

/// Twenty tiles, as a BI tool words them.
const TILES: [&str; 20] = [
    "SELECT COUNT(*) AS \"count\" FROM \"public\".\"trips\"",
    "SELECT count(*) FROM riders",
    "SELECT count(distinct rider_id) FROM trips",
    "SELECT avg(fare), avg(minutes) FROM trips",
    "SELECT sum(fare) AS revenue FROM trips",
    "SELECT station, count(*) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 5",
    "SELECT station, avg(fare) FROM trips GROUP BY station ORDER BY station",
    "SELECT plan, count(*) FROM riders GROUP BY plan",
    "SELECT plan, avg(birth_year) FROM riders GROUP BY plan",
    "SELECT city, count(*) FROM riders GROUP BY city ORDER BY count(*) DESC LIMIT 10",
    "SELECT date_trunc('month', started_at) AS m, count(*) FROM trips WHERE started_at >= '2024-01-01' AND started_at < '2025-01-01' GROUP BY 1 ORDER BY 1",
    "SELECT date_trunc('month', started_at) AS m, sum(fare) FROM trips WHERE started_at >= '2024-01-01' AND started_at < '2025-01-01' GROUP BY 1 ORDER BY 1",
    "SELECT extract(hour FROM started_at) AS h, count(*) FROM trips GROUP BY 1 ORDER BY 1",
    "SELECT extract(dow FROM started_at) AS d, avg(minutes) FROM trips GROUP BY 1 ORDER BY 1",
    "SELECT CASE WHEN minutes < 60 THEN 'short' ELSE 'long' END AS kind, count(*) FROM trips GROUP BY 1",
    "SELECT r.plan, sum(t.fare) FROM trips t JOIN riders r ON r.rider_id = t.rider_id GROUP BY r.plan",
    "SELECT s.city, count(*) FROM trips t JOIN stations s USING (station) GROUP BY s.city",
    "SELECT count(*) FILTER (WHERE fare > 20), count(*) FILTER (WHERE fare <= 20) FROM trips",
    "SELECT (SELECT count(*) FROM trips) AS trips, (SELECT count(*) FROM riders) AS riders",
    "SELECT plan, count(*), count(*) * 1.0 / sum(count(*)) OVER () AS share FROM riders WHERE birth_year > 1970 GROUP BY plan",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_dashboard_of_twenty_tiles_refreshed_a_hundred_times_costs_one_refresh() {
    let world = World::new("").await;
    let c = world.ada().await;
    let mut first = Vec::new();
    for sql in TILES {
        first.push(all(&c, sql).await);
    }
    let cost = world.paid().await;
    assert!((15..=20).contains(&cost), "{cost}");
    let mut viewers = Vec::new();
    for viewer in 0..4 {
        let client = world.user(["ada", "bob"][viewer % 2]).await;
        let first = first.clone();
        viewers.push(tokio::spawn(async move {
            for _ in 0..25 {
                for (sql, expected) in TILES.iter().zip(&first) {
                    let mut again = all(&client, sql).await;
                    let mut expected = expected.clone();
                    if !sql.contains("ORDER BY") {
                        again.sort();
                        expected.sort();
                    }
                    assert_eq!(again, expected, "{sql}");
                }
            }
        }));
    }
    for viewer in viewers {
        viewer.await.unwrap();
    }
    assert_eq!(world.paid().await, cost);
}
