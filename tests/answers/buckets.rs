//! Buckets of time as Grafana, Superset and Metabase write them: each is a public group, and what noisegate answers without
//! noise is what PostgreSQL answers.

use crate::bikes::Bikes;
use crate::joins::agree;

const BUCKETS: &[&str] = &[
    "SELECT floor(extract(epoch FROM started_at) / 86400) * 86400 AS time, count(*) FROM trips WHERE started_at >= '2024-03-01' AND started_at < '2024-03-15' GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT to_timestamp(floor(extract(epoch FROM started_at) / 3600) * 3600) AS time, count(*) FROM trips WHERE started_at >= '2024-03-01' AND started_at < '2024-03-08' GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT date_trunc('hour', started_at) + interval '15 min' * floor(extract(minute FROM started_at) / 15) AS t, count(*), sum(fare) FROM trips WHERE started_at >= '2024-03-01' AND started_at < '2024-03-08' GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT date_trunc('day', started_at) + make_interval(hours => extract(hour FROM started_at)::int / 6 * 6) AS t, count(*) FROM trips WHERE started_at >= '2024-03-01' AND started_at < '2024-03-20' GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT date_trunc('day', started_at) + (extract(hour FROM started_at)::int / 12 * 12 || ' hours')::interval AS t, count(*) FROM trips WHERE started_at >= '2024-03-01' AND started_at < '2024-03-20' GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT date_bin('6 hours', started_at, TIMESTAMPTZ '2024-01-01 00:00:00+00') AS t, count(*) FROM trips WHERE started_at >= '2024-03-01' AND started_at < '2024-03-20' GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT make_date(extract(year FROM day)::int, extract(month FROM day)::int, 1) AS month, count(*) FROM trips WHERE day >= '2024-01-01' AND day < '2025-01-01' GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
    "SELECT extract(isodow FROM started_at) AS d, extract(week FROM started_at) AS w, count(*) FROM trips WHERE started_at >= '2024-03-01' AND started_at < '2024-03-20' GROUP BY 1, 2 HAVING count(*) > 0 ORDER BY 1, 2",
];

const VALUES: &[&str] = &[
    "SELECT count(*) FROM trips WHERE started_at + interval '1 minute' * minutes > '2024-06-01'",
    "SELECT count(*) FROM trips WHERE started_at - interval '1.5 hours' > '2024-06-01'",
    "SELECT count(*) FROM trips WHERE make_timestamp(2024, stars, stars * 5, stars, 30, 15.5) > '2024-03-01'",
    "SELECT round(sum(atan2(minutes, fare))::numeric, 3), round(sum(log(2, minutes + 1)), 3) FROM trips",
    "SELECT count(*) FROM trips WHERE extract(hour FROM started_at AT TIME ZONE interval '-08:00') < 6",
    "SELECT count(*) FROM trips WHERE extract(hour FROM started_at AT TIME ZONE '+05:30') < 6",
    "SELECT round(avg(extract(julian FROM day))), count(*) FILTER (WHERE extract(milliseconds FROM started_at) = 0) FROM trips",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn buckets_of_time_are_postgresqls() {
    agree(BUCKETS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn moments_made_of_numbers_are_postgresqls() {
    agree(VALUES).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn buckets_of_time_are_public() {
    let bikes = Bikes::new().await;
    for sql in BUCKETS {
        let plan = bikes.plan(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert!(plan.releases.iter().all(|r| r.public_groups), "{sql}");
    }
}
