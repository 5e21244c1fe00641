//! Public rows that a statement computes and meets with private ones: what noisegate answers without noise is what
//! PostgreSQL answers.

use crate::joins::agree;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn computed_public_rows_meet_private_ones() {
    agree(&[
        // A value of public tables.
        "SELECT count(*) FROM trips WHERE minutes > (SELECT avg(capacity) FROM stations)",
        "SELECT count(*), sum(fare) FROM trips WHERE minutes < (SELECT max(capacity) FROM stations WHERE city <> 'Norwick')",
        "SELECT count(*) FILTER (WHERE minutes > (SELECT min(capacity) FROM stations)) FROM trips",
        "SELECT minutes > (SELECT avg(capacity) FROM stations) AS long, count(*) FROM trips GROUP BY 1 ORDER BY 1",
        "SELECT sum(minutes * (SELECT count(*) FROM stations)) FROM trips",
        "SELECT count(*) FROM trips t JOIN stations s ON s.station = t.station AND s.capacity >= (SELECT avg(capacity) FROM stations)",
        "WITH big AS (SELECT avg(capacity) AS c FROM stations) SELECT count(*) FROM trips WHERE minutes > (SELECT c FROM big)",
        // Members.
        "SELECT count(*) FROM trips WHERE station IN (SELECT station FROM stations ORDER BY capacity DESC, station LIMIT 3)",
        "SELECT count(*) FROM trips WHERE station NOT IN (SELECT min(station) FROM stations GROUP BY city)",
        "SELECT station, count(*) FROM trips WHERE station IN (SELECT max(station) FROM stations GROUP BY city HAVING count(*) > 1) GROUP BY 1 ORDER BY 1",
        // Groups, cuts and windows of public tables in FROM.
        "SELECT c.n, count(*) FROM trips t JOIN stations s USING (station) JOIN (SELECT city, count(*) AS n FROM stations GROUP BY city) c ON c.city = s.city GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
        "SELECT count(*), sum(t.fare) FROM trips t JOIN (SELECT station FROM stations ORDER BY capacity DESC, station LIMIT 2) top ON top.station = t.station",
        "WITH c AS (SELECT city, avg(capacity) AS a FROM stations GROUP BY city) SELECT c.city, count(*) FROM c JOIN stations s ON s.city = c.city AND s.capacity > c.a JOIN trips t ON t.station = s.station GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
        "SELECT r.k, count(*) FROM trips t JOIN (SELECT station, row_number() OVER (ORDER BY capacity, station) AS k FROM stations) r ON r.station = t.station WHERE r.k <= 3 GROUP BY 1 HAVING count(*) > 0 ORDER BY 1",
        "SELECT count(*), count(x.n) FROM trips t LEFT JOIN (SELECT station, count(*) AS n FROM stations WHERE city = 'Norwick' GROUP BY station) x ON x.station = t.station",
        "SELECT count(*) FROM riders r WHERE EXISTS (SELECT 1 FROM trips t JOIN (SELECT DISTINCT city, station FROM stations) s ON s.station = t.station WHERE t.rider_id = r.rider_id AND s.city = r.city)",
        // Series and lists.
        "SELECT g, count(*) FROM generate_series(1, 5) g JOIN trips t ON t.stars = g GROUP BY g ORDER BY g",
        "SELECT g.low, count(t.fare) FROM generate_series(0, 100, 20) AS g(low) JOIN trips t ON t.minutes >= g.low AND t.minutes < g.low + 20 GROUP BY 1 ORDER BY 1",
        "SELECT g, count(t.fare) FROM generate_series(1, 5) g LEFT JOIN trips t ON t.stars = g GROUP BY g ORDER BY g",
        "SELECT g::date AS day, count(t.fare) FROM generate_series(date '2024-01-01', '2024-01-31', '1 day') g LEFT JOIN trips t ON t.day = g::date GROUP BY 1 ORDER BY 1",
        "SELECT g, count(t.fare) FROM generate_series(timestamptz '2024-01-01', '2024-12-01', '1 month') g LEFT JOIN trips t ON date_trunc('month', t.day) = g GROUP BY 1 ORDER BY 1",
        "SELECT u, count(*) FROM unnest(ARRAY['day', 'month']) AS u JOIN riders r ON r.plan = u GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM trips WHERE stars IN (SELECT generate_series FROM generate_series(2, 4))",
        // LATERAL that is a join.
        "SELECT count(*), sum(x.capacity) FROM trips t CROSS JOIN LATERAL (SELECT s.capacity FROM stations s WHERE s.station = t.station) x",
        "SELECT count(*), count(x.capacity) FROM trips t LEFT JOIN LATERAL (SELECT s.capacity FROM stations s WHERE s.station = t.station AND s.capacity > 20) x ON true",
        "SELECT count(*) FROM riders r, LATERAL (SELECT t.fare FROM trips t WHERE t.rider_id = r.rider_id AND t.minutes > 20) x WHERE x.fare > 5",
        "SELECT sum(y) FROM trips t CROSS JOIN LATERAL (SELECT t.fare + s.capacity AS y FROM stations s WHERE s.station = t.station) x",
        // Above the aggregates PostgreSQL has all of it.
        "SELECT g AS stars, coalesce(n, 0) AS n FROM generate_series(1, 5) g LEFT JOIN (SELECT stars, count(*) AS n FROM trips GROUP BY stars) t ON t.stars = g ORDER BY g",
        "SELECT s.city, x.n FROM (SELECT station, count(*) AS n FROM trips GROUP BY station HAVING count(*) > 0) t JOIN stations s USING (station) CROSS JOIN LATERAL (SELECT t.n + s.capacity AS n) x ORDER BY 1, 2",
    ])
    .await;
}
