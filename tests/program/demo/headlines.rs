//! The demo's first numbers are right within the errors that they state: its bounds cut next to nothing.

use super::lent;
use crate::city::rows;
use crate::support::{Gate, connect};
use noisegate::demo::Demo;
use std::collections::HashMap;

/// A tenth of a per cent may be cut.
const CUT: f64 = 0.001;

/// A key, a count, and another number.
const HEADLINES: [&str; 6] = [
    "SELECT '', count(*) AS n, avg(fare) AS x FROM trips",
    "SELECT extract(year FROM started_at)::int, count(*) AS n, sum(fare) AS x FROM trips GROUP BY 1",
    "SELECT date_trunc('month', started_at), count(*) AS n, sum(minutes) AS x FROM trips GROUP BY 1",
    "SELECT station, count(*) AS n, sum(fare) AS x FROM trips GROUP BY station",
    "SELECT plan, count(*) AS n, avg(birth_year) AS x FROM riders GROUP BY plan",
    "SELECT s.city, count(*) AS n, sum(t.fare) AS x FROM trips t JOIN stations s USING (station) GROUP BY s.city",
];

#[tokio::test]
async fn the_demo_s_numbers_are_right_within_their_errors() {
    // The same rows for the same scale.
    let exact = Demo::prepare(&lent(0.2).await).await.unwrap();
    let truth = connect(&exact.fetch_url).await;
    let gate = Gate::start(&["demo", "--scale", "0.2", "--listen", "127.0.0.1:0"]).await;
    let client = connect(&format!("postgres://demo@{}/demo", gate.address)).await;
    // As much as fits is paid; of some hundred intervals one in a million misses, where each is wider by half.
    client
        .batch_execute(
            "SET noisegate.epsilon = 0.5; SET noisegate.intervals = on; SET noisegate.confidence = 0.9999",
        )
        .await
        .unwrap();
    for sql in HEADLINES {
        let known: HashMap<_, _> =
            rows(&truth, sql).await.unwrap().into_iter().map(|r| (r[0].clone(), r)).collect();
        let released = rows(&client, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        assert_eq!(released.len(), known.len(), "{sql}");
        // All counts together, and the square of how far noise takes their sum.
        let (mut off, mut reach) = (0.0, 0.0);
        let mut all = 0.0;
        for row in &released {
            let number = |cell: &Option<String>| cell.as_ref().unwrap().parse::<f64>().unwrap();
            let there = &known[&row[0]];
            // n, its ends, x, its ends.
            for (exactly, of) in [(number(&there[1]), &row[1..4]), (number(&there[2]), &row[4..7])] {
                let (low, high) = (number(&of[1]), number(&of[2]));
                let cut = exactly.abs() * CUT + (high - low) / 4.0;
                assert!(low - cut <= exactly && exactly <= high + cut, "{sql}: {exactly} and {row:?}");
            }
            let half = (number(&row[3]) - number(&row[2])) / 2.0;
            (off, reach) = (off + number(&row[1]) - number(&there[1]), reach + half * half);
            all += number(&there[1]);
        }
        assert!(off.abs() <= all * CUT + reach.sqrt(), "{sql}: {off} of {all} are missing");
    }
    exact.close().await.unwrap();
}
