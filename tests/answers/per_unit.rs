//! Spreads and windows over the rows of one unit, and conditions on them in ON: what noisegate answers without noise is what
//! PostgreSQL answers.

use crate::joins::agree;

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn spreads_and_windows_of_one_units_rows() {
    agree(&[
        "SELECT count(*), round(avg(s), 4) FROM (SELECT rider_id, stddev_pop(minutes) AS s FROM trips GROUP BY rider_id) t",
        "SELECT count(v), round(sum(v), 3), count(s), round(sum(s), 3) FROM (SELECT rider_id, variance(minutes) AS v, stddev(fare) AS s FROM trips GROUP BY rider_id) t",
        "SELECT count(*) FROM (SELECT rider_id FROM trips GROUP BY rider_id HAVING var_samp(fare) > 20) t",
        "SELECT count(*) FROM (SELECT minutes - avg(minutes) OVER (PARTITION BY rider_id) AS d, stddev(minutes) OVER (PARTITION BY rider_id) AS s FROM trips) t WHERE d > s",
        "SELECT n, count(*) FROM (SELECT ntile(4) OVER (PARTITION BY rider_id ORDER BY trip_id) AS n FROM trips) t GROUP BY n ORDER BY n",
        "SELECT count(*), round(sum(p)::numeric, 5), round(sum(c)::numeric, 5) FROM (SELECT percent_rank() OVER (PARTITION BY rider_id ORDER BY minutes) AS p, cume_dist() OVER (PARTITION BY rider_id ORDER BY minutes) AS c FROM trips) t",
        "SELECT count(x), sum(x) FROM (SELECT nth_value(fare, 2) OVER (PARTITION BY rider_id ORDER BY trip_id) AS x FROM trips) t",
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn subqueries_in_on() {
    agree(&[
        "SELECT count(*) FROM trips t JOIN stations s ON s.station = t.station AND s.city IN (SELECT city FROM stations WHERE capacity > 25)",
        "SELECT count(*) FROM riders r JOIN trips t ON t.rider_id = r.rider_id AND EXISTS (SELECT 1 FROM devices d WHERE d.rider_id = r.rider_id AND d.slot = t.stars)",
        "SELECT count(*) FROM riders r JOIN trips t ON t.rider_id = r.rider_id AND t.trip_id IN (SELECT l.trip_id FROM legs l WHERE l.km > 2)",
    ])
    .await;
}
