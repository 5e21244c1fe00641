//! A unit with more rows than all others together: it is sorted on disk, hashed in batches and read by several workers.
//!
//! It has a hundred thousand rows. With `NOISEGATE_RECORDER_HUGE=1000000`, and once in fifty seeds that are not the usual one,
//! it has a million.

use crate::data::{self, Variant};
use crate::harness::{Claim, Lab, settings};
use crate::rng::Rng;
use crate::ways::Ways;

const STATEMENTS: &[&str] = &[
    "SELECT count(*), sum(minutes), avg(amount) FROM trips",
    "SELECT station, minutes, count(*), sum(fare) FROM trips GROUP BY station, minutes",
    "SELECT minutes, count(DISTINCT trip_id) FROM trips GROUP BY minutes",
    "SELECT DISTINCT huge FROM trips",
    "SELECT plan, count(*), sum(t.zero) FROM riders r LEFT JOIN trips t USING (rider_id) GROUP BY plan",
    "SELECT minutes, count(*) FROM (SELECT rider_id, minutes, dist, row_number() OVER (PARTITION BY rider_id ORDER BY started_at, fare) AS n FROM trips) t WHERE n <= 3 AND dist > 1 GROUP BY 1",
    "SELECT minutes, count(*) FROM (SELECT rider_id, minutes, amount, wide, row_number() OVER (PARTITION BY rider_id ORDER BY amount) AS n FROM (SELECT rider_id, minutes, amount, wide FROM trips GROUP BY 1, 2, 3, 4) p) q WHERE n = 1 AND wide > 5 GROUP BY 1",
    "SELECT count(*) FROM (SELECT rider_id AS u, sum(amount) AS s, max(dist) AS d, count(*) AS n FROM trips GROUP BY rider_id) q WHERE s > 50 AND d >= 0",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY minutes) FROM trips WHERE temp = 0",
    "SELECT count(*) FROM trips t WHERE EXISTS (SELECT 1 FROM slots x WHERE x.rider_id = t.rider_id AND x.n > t.zero)",
];

#[tokio::test]
async fn rule_12_a_unit_may_have_more_rows_than_all_others() {
    let mut rng = Rng::of_case(crate::seed(), 0x4096);
    let usual = crate::seed() == crate::SEED;
    let drawn = if !usual && rng.chance(2) { 1_000_000 } else { 100_000 };
    let rows = crate::number("NOISEGATE_RECORDER_HUGE").map_or(drawn, |n| u32::try_from(n).unwrap());
    let mut lab = Lab::new(Variant { dirty: false, nullable_unit: false, tied: rows, seed: 9 }).await;
    // A million rows are sorted and read again some times.
    lab.client.batch_execute("SET statement_timeout = '300s'").await.unwrap();
    let mut recorded = 0;
    for text in STATEMENTS {
        let planned = lab.plan(text, &settings(2, 3)).await.unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let ways = Ways::drawn(&mut rng, lab.version);
        for (release, sql) in lab.paying(&planned) {
            recorded += 1;
            let outcome = lab.record_by(sql, &Claim::of(release), &[data::UNITS, 2], &ways).await;
            outcome.unwrap_or_else(|e| panic!("{e}\n{text}\n{ways:?}\n{sql}"));
        }
    }
    assert!(recorded >= STATEMENTS.len());
}
