//! What is decided by one number: questions to streams, and choices of the greatest counts. One unit changes the number by no more
//! than the noise is for, and in one direction where the noise is for one.

use crate::data::{HOSTILE, Variant};
use crate::harness::{Claim, Lab, Refusal, settings};

/// Streams, and what is asked of them; where the stream is for one direction, some cannot be asked.
const QUESTIONS: &[(&str, &str, bool)] = &[
    ("either", "SELECT station FROM trips GROUP BY station HAVING count(*) > 100", true),
    ("either", "SELECT station FROM trips GROUP BY station HAVING sum(minutes) >= 5000", true),
    ("either", "SELECT plan FROM riders GROUP BY plan HAVING sum(level) < 40", true),
    ("either", "SELECT station FROM trips GROUP BY station HAVING sum(zero) <= 3", true),
    ("either", "SELECT station FROM trips GROUP BY station HAVING avg(fare) > 20.5", true),
    (
        "either",
        "SELECT count(DISTINCT rider_id) > 3 AS many FROM trips WHERE minutes > 10 HAVING count(DISTINCT rider_id) > 3",
        false,
    ),
    ("rising", "SELECT station FROM trips GROUP BY station HAVING count(*) > 100", true),
    ("rising", "SELECT station FROM trips GROUP BY station HAVING sum(minutes) > 5000", true),
    ("rising", "SELECT plan FROM riders GROUP BY plan HAVING count(DISTINCT rider_id) > 9", true),
    ("rising", "SELECT station FROM trips GROUP BY station HAVING sum(minutes) < 5000", false),
    ("rising", "SELECT station FROM trips GROUP BY station HAVING sum(zero) > 3", false),
    ("rising", "SELECT station FROM trips GROUP BY station HAVING avg(fare) > 20.5", false),
];

/// Statements about the first groups by a number; all of them chosen where the number is a count.
pub const FIRST: &[&str] = &[
    "SELECT station, count(DISTINCT rider_id) FROM trips GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
    "SELECT extract(month FROM started_at), count(DISTINCT rider_id) FROM trips GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
    "SELECT station, sum(zero) FROM trips GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
    "SELECT extract(month FROM started_at), sum(zero) FROM trips GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
];

/// Has the kernel judge all of them.
pub async fn certified(lab: &mut Lab) -> Vec<String> {
    let mut failures = Vec::new();
    let questions = QUESTIONS.iter().map(|(stream, text, _)| (Some(*stream), *text));
    for (stream, text) in questions.chain(FIRST.iter().map(|text| (None, *text))) {
        let Ok(planned) = lab.draft_for(text, &settings(20, 3), stream).await else { continue };
        if let Err(Refusal::Defect(what)) = lab.certify(&planned) {
            failures.push(format!("{what}\n  after 1 statements\n  statement: {text}"));
        }
    }
    failures
}

#[tokio::test]
async fn rule_28_a_unit_changes_a_question_by_no_more_than_its_noise_is_for() {
    let units: Vec<i64> = (1..=HOSTILE).collect();
    for (dirty, nullable_unit, seed) in [(false, false, 1), (true, true, 3)] {
        let mut lab = Lab::new(Variant { dirty, nullable_unit, tied: 0, seed }).await;
        for (stream, text, asked) in QUESTIONS {
            let planned = match lab.draft_for(text, &settings(4, 3), Some(stream)).await {
                Ok(planned) if *asked => planned,
                Err(Refusal::Plan(_)) if !asked => continue,
                other => panic!("{text}: {:?}", other.map(|p| p.fetches)),
            };
            let (claim, sql) = (Claim::of_question(&planned), &planned.fetches[0]);
            let used = lab.record(sql, &claim, &units).await.unwrap_or_else(|e| panic!("{text}: {e}\n{sql}"));
            assert!(used.linf > 0.999, "no unit uses all of the sensitivity: {text}: {used:?}");
        }
    }
}

/// Counts rise by a unit's rows, and what may fall is not chosen by.
#[tokio::test]
async fn choices_are_of_numbers_that_rise() {
    let units: Vec<i64> = (1..=HOSTILE).collect();
    let mut lab = Lab::new(Variant { dirty: true, nullable_unit: false, tied: 0, seed: 2 }).await;
    for text in FIRST {
        let planned = lab.plan(text, &settings(20, 3)).await.unwrap_or_else(|e| panic!("{text}: {e:?}"));
        for (release, sql) in lab.paying(&planned) {
            let claim = Claim::of(release);
            assert_eq!(claim.rises, text.contains("count("), "{text}: {:?}", release.ranking);
            lab.record(sql, &claim, &units).await.unwrap_or_else(|e| panic!("{text}: {e}\n{sql}"));
        }
    }
}
