//! What one unit can change of a question: the fetch of each, on a data set and on each of its neighbours.

use crate::bikes::Bikes;
use noisegate::dp::sparse::SENSITIVITY;
use noisegate::emit::fetch;
use std::collections::BTreeMap;
use tokio_postgres::{Client, SimpleQueryMessage};

/// A rider who brings much more than bounds allow, to every station and far outside of every range.
const EXTREME: &str = "
    INSERT INTO riders VALUES (1000, 1950, 'day', 'Norwick', '', true), (1001, 2009, 'day', 'Norwick', '', true);
    INSERT INTO trips SELECT 1000000 + i, 1000 + i % 2, timestamp '2024-01-01' + i * interval '1 hour', '2024-01-01',
        (ARRAY['Central', 'Harbour', 'Museum', 'Airport', 'Depot'])[1 + i % 5], (i % 3 - 1) * 2000000000,
        CASE WHEN i % 2 = 0 THEN 9999.99 ELSE -9999.99 END, 1 + i % 5, NULL FROM generate_series(1, 400) i;
    INSERT INTO devices VALUES (1000, 1, 'phone', 'Infinity', 1e30, 1, 1, 'a'), (1000, 2, 'phone', '-Infinity', 0, 1, 1, 'a');";

const QUESTIONS: &[(&str, &str)] = &[
    ("numbers", "SELECT count(*) FROM trips HAVING count(*) > 300"),
    ("numbers", "SELECT station FROM trips GROUP BY station HAVING count(*) <= 300.5"),
    ("numbers", "SELECT station FROM trips GROUP BY station HAVING sum(fare) >= 10"),
    ("numbers", "SELECT station FROM trips GROUP BY station HAVING sum(minutes - 100) < 0"),
    ("numbers", "SELECT station FROM trips GROUP BY station HAVING avg(fare) > 30.125"),
    (
        "numbers",
        "SELECT station FROM trips GROUP BY station HAVING avg(minutes) FILTER (WHERE stars > 2) > -3",
    ),
    ("numbers", "SELECT 1 FROM trips HAVING avg(minutes) < 60"),
    ("numbers", "SELECT plan FROM riders GROUP BY plan HAVING avg(birth_year) > 1970"),
    ("numbers", "SELECT plan FROM riders JOIN trips USING (rider_id) GROUP BY plan HAVING sum(fare) > 3"),
    ("numbers", "SELECT surface FROM legs GROUP BY surface HAVING sum(km) > 10"),
    ("numbers", "SELECT kind FROM devices GROUP BY kind HAVING sum(battery) > 10"),
    ("numbers", "SELECT station FROM trips GROUP BY station HAVING count(DISTINCT rider_id) > 10"),
    ("rise", "SELECT station FROM trips GROUP BY station HAVING count(*) > 300"),
    ("rise", "SELECT station FROM trips GROUP BY station HAVING sum(fare) > 300"),
    (
        "rise",
        "SELECT station, active FROM trips JOIN riders USING (rider_id) GROUP BY 1, 2 HAVING sum(minutes) > 3",
    ),
];

/// The integer of each group.
async fn integers(client: &Client, sql: &str) -> BTreeMap<Vec<Option<String>>, i128> {
    let messages = client.simple_query(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let rows = messages.iter().filter_map(|m| match m {
        SimpleQueryMessage::Row(row) => {
            let keys = (0..row.len() - 1).map(|i| row.get(i).map(str::to_owned)).collect();
            Some((keys, row.get(row.len() - 1).unwrap().parse().unwrap()))
        }
        _ => None,
    });
    rows.collect()
}

/// Mutations: a sensitivity without max_rows, margins that are not divided by it, a unit's groups that are dropped for
/// l0 (its other groups would then change, too).
#[tokio::test(flavor = "multi_thread")]
async fn rule_28_no_unit_changes_a_question_by_more_than_its_sensitivity() {
    let mut bikes = Bikes::new().await;
    bikes.db.execute(EXTREME).await;
    let client = bikes.db.superuser().await;
    client.batch_execute("SET TimeZone = 'UTC'; SET search_path = pg_catalog").await.unwrap();
    for (stream, sql) in QUESTIONS {
        bikes.stream = Some((*stream).to_owned());
        let plan = bikes.plan(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let question = plan.question.clone().unwrap_or_else(|| panic!("{sql}"));
        let fetch = fetch::fetch(&plan.releases[0], &bikes.policy);
        assert!(!fetch.seeded, "{sql}: no group is dropped");
        let whole = integers(&client, &fetch.sql).await;
        let mut most = 0;
        for rider in [1000, 1001, 5, 11, 47, 90] {
            let remove: String = ["payments", "devices", "app_events", "trips", "riders"]
                .map(|t| format!("DELETE FROM public.{t} WHERE rider_id = {rider};"))
                .concat();
            client.batch_execute(&format!("BEGIN; {remove}")).await.unwrap();
            let without = integers(&client, &fetch.sql).await;
            client.batch_execute("ROLLBACK").await.unwrap();
            assert!(whole.keys().eq(without.keys()), "{sql}: public groups");
            for (key, value) in &whole {
                let moved = value.abs_diff(without[key]);
                most = most.max(moved);
                let delta = question.comparison.sensitivity();
                assert!(moved <= delta, "{sql}: {rider} moves {key:?} by {moved} of {delta}");
                let margins = [*value, without[key]].map(|v| question.comparison.margin(v));
                assert!(margins[0].abs_diff(margins[1]) <= SENSITIVITY, "{sql}: {margins:?}");
                if *stream == "rise" {
                    assert!(margins[0] >= margins[1], "{sql}: removing {rider} raises {key:?}");
                }
            }
        }
        assert!(most > 0, "{sql}: nobody changed anything");
    }
}
