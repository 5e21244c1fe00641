//! What the recorder found, and a reading of the planner with it: each stays found.

use crate::data::{HOSTILE, Variant};
use crate::harness::{Claim, Lab, Refusal, settings};
use noisegate::plan::Release;
use std::time::{Duration, Instant};

async fn lab() -> Lab {
    Lab::new(Variant { dirty: true, nullable_unit: true, seed: 6 }).await
}

/// Plans it, and records it with every unit that is made to hurt.
async fn holds(lab: &mut Lab, text: &str) -> Vec<Release> {
    let planned = lab.plan(text, &settings(2, 3)).await.unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let units: Vec<i64> = (1..=HOSTILE).collect();
    for (release, sql) in lab.paying(&planned) {
        if let Err(e) = lab.record(sql, &Claim::of(release), &units).await {
            panic!("{e}\n{text}\n{sql}");
        }
    }
    planned.plan.releases.clone()
}

/// Two bigint keys are one number in double precision, and two clock times one moment where a zone skips an hour: a
/// join by such an equality gives a unit two rows.
#[tokio::test]
async fn rule_07_a_key_that_a_join_converts_proves_nothing() {
    let mut lab = lab().await;
    lab.client.batch_execute("SET timezone = 'Europe/Berlin'").await.unwrap();
    for join in ["codes c ON c.id = r.ref", "moments m ON m.at = CAST(r.born AS timestamptz)"] {
        for r in
            holds(&mut lab, &format!("SELECT count(*), count(DISTINCT r.rider_id) FROM riders r JOIN {join}"))
                .await
        {
            assert!(r.bounding.rows_stage(), "{join}");
        }
    }
    for r in holds(&mut lab, "SELECT count(*) FROM riders r JOIN codes c ON c.id = r.level").await {
        assert!(!r.bounding.rows_stage(), "equal integers are equal keys");
    }
}

/// A clock time and a moment are compared in the session's zone, and where it skips an hour that order is none: a merge
/// join by it found its input out of order, and failed for some rows.
#[tokio::test]
async fn rule_18_a_clock_time_and_a_moment_can_be_joined_in_any_zone() {
    let mut lab = Lab::new(Variant { dirty: true, nullable_unit: false, seed: 2 }).await;
    for zone in ["Antarctica/Troll", "Europe/Berlin", "America/Sao_Paulo"] {
        lab.client
            .batch_execute(&format!(
                "SET timezone = '{zone}'; SET enable_hashjoin = off; SET enable_nestloop = off"
            ))
            .await
            .unwrap();
        for join in ["m.at = CAST(r.born AS timestamptz)", "CAST(m.at AS date) = r.born"] {
            holds(&mut lab, &format!("SELECT count(*) FROM riders r LEFT JOIN moments m ON {join}")).await;
        }
    }
}

/// Each came back once for every step of its series, and each row of a unit counted as often.
#[tokio::test]
async fn rule_02_keys_that_a_float_cannot_tell_apart_come_back_once() {
    let mut lab = lab().await;
    for key in
        ["floor(big)", "CAST(floor(CAST(big AS numeric) / 10) AS real)", "CAST(big AS double precision)"]
    {
        holds(&mut lab, &format!("SELECT {key}, count(*), sum(minutes) FROM trips GROUP BY 1")).await;
    }
}

/// A float's cast to numeric keeps fifteen digits: what was clamped before it could lie outside again.
#[tokio::test]
async fn rule_12_floats_are_clamped_after_their_cast() {
    holds(&mut lab().await, "SELECT sum(ref), avg(ref) FROM riders").await;
}

/// Each failed on some row that a unit can have.
#[tokio::test]
async fn rule_18_no_row_makes_a_fetch_fail() {
    let mut lab = lab().await;
    for text in [
        // numeric to double precision and real: too large, too near to 0.
        "SELECT count(*) FROM trips WHERE huge < temp",
        "SELECT count(*) FROM trips WHERE amount BETWEEN short AND temp",
        "SELECT count(NULLIF(huge, dist)) FROM trips",
        "SELECT CAST(amount AS double precision), count(*) FROM trips GROUP BY 1",
        "SELECT CAST(dist AS real), count(*) FROM trips GROUP BY 1",
        "SELECT count(*) FROM trips WHERE dist + amount IN (2.5, NULL)",
        "SELECT count(*) FROM trips WHERE dist + amount = NULL",
        // Texts of two collations.
        "SELECT count(*) FROM trips WHERE note = station",
        "SELECT count(*) FROM trips WHERE note < station",
        "SELECT count(*) FROM trips t JOIN stations s ON s.city = t.note",
        "SELECT COALESCE(note, station), count(*) FROM trips GROUP BY 1",
        "SELECT count(*) FROM trips WHERE CASE WHEN zero > 0 THEN note ELSE station END LIKE 'A%'",
        // Domains without a value, and with values beyond the key's type.
        "SELECT CASE WHEN minutes > 3 THEN NULL END, count(*) FROM trips GROUP BY 1",
        "SELECT CAST(floor(big) AS int), count(*) FROM trips GROUP BY 1",
        "SELECT CAST(score AS real), count(*) FROM riders WHERE CAST(score AS real) = 1e45 GROUP BY 1",
        "SELECT CASE WHEN active THEN CAST(1e45 AS real) ELSE CAST(1e-50 AS real) END, count(*) FROM riders GROUP BY 1",
    ] {
        holds(&mut lab, text).await;
    }
}

/// PostgreSQL has no LIKE for them before version 18: it fails if there is a row, and tells so.
#[tokio::test]
async fn rule_18_like_over_a_nondeterministic_collation_is_refused() {
    let mut lab = lab().await;
    let text = "SELECT count(*) FROM riders WHERE COALESCE(loose, 'x') ILIKE 'a%'";
    match lab.plan(text, &settings(2, 3)).await {
        Err(Refusal::Plan(why)) => assert!(why.contains("nondeterministic"), "{why}"),
        other => panic!("{:?}", other.map(|p| p.fetches)),
    }
}

/// The answer would have ended in an error of ours, after the debit.
#[tokio::test]
async fn finish_gives_the_types_that_were_promised() {
    let mut lab = lab().await;
    for x in [
        "sum(NULLIF(minutes, fare))",
        "sum(NULLIF(minutes, big))",
        "sum(NULLIF(fare, dist))",
        "sum(NULLIF(short, minutes))",
        "sum(NULLIF(short, dist))",
        "sum(NULLIF(minutes, short))",
        "sum(round(minutes, 0))",
        "sum(round(minutes))",
        "sum(trunc(minutes, 1))",
    ] {
        holds(&mut lab, &format!("SELECT {x} FROM trips")).await;
    }
}

/// Times before the year 1 and after 9999, and infinities, become NULL, and NULL is a group.
#[tokio::test]
async fn rule_03_times_out_of_reach_are_null() {
    let mut lab = lab().await;
    for r in holds(&mut lab, "SELECT EXTRACT(month FROM born), count(*) FROM riders GROUP BY 1").await {
        assert!(r.keys[0].domain.as_ref().is_some_and(|(_, with_null)| *with_null));
    }
    // Under a declared range they are moved into it, as numbers are.
    for r in holds(&mut lab, "SELECT EXTRACT(month FROM started_at), count(*) FROM trips GROUP BY 1").await {
        assert!(r.keys[0].domain.as_ref().is_some_and(|(_, with_null)| !with_null));
    }
}

/// Several forms name an argument more than once. Nested, their plans and texts would double with each level.
#[tokio::test]
async fn nesting_costs_no_more_than_its_length() {
    let mut lab = lab().await;
    let nest = |open: &str, close: &str, n: usize| format!("{}minutes{}", open.repeat(n), close.repeat(n));
    let started = Instant::now();
    for (x, refused) in [
        (format!("minutes{}", " / GREATEST(fare, 1)".repeat(60)), false),
        (nest("CAST((", ") * 1000 AS smallint)", 30), false),
        (nest("NULLIF(", ", 1)", 40), true),
        (nest("COALESCE(", ", 1)", 40), true),
        (nest("abs(", ")", 40), false),
        (nest("CASE ", " WHEN 1 THEN 2 WHEN 3 THEN 4 WHEN 5 THEN 6 END", 40), true),
    ] {
        match lab.plan(&format!("SELECT sum({x}) FROM trips"), &settings(2, 3)).await {
            Ok(p) => {
                assert!(!refused, "{x}");
                let longest = p.fetches.iter().map(String::len).max().unwrap();
                assert!(longest < 200 * x.len() + 4_000, "{longest} for {x}");
            }
            Err(Refusal::Plan(why)) => assert!(refused && why.contains("54000"), "{why}: {x}"),
            Err(other) => panic!("{other:?}: {x}"),
        }
    }
    // Each a few characters that would be a gigabyte of digits.
    for x in [
        "minutes < '1e999999999'",
        "CAST(minutes AS numeric(2000000000, 1)) > 1",
        "fare = '1e-2000000000'",
        "dist > '1E+999999999'",
    ] {
        let refused = lab.plan(&format!("SELECT count(*) FROM trips WHERE {x}"), &settings(2, 3)).await;
        assert!(matches!(refused, Err(Refusal::Plan(_))), "{x}");
    }
    let bool_nest = format!("{}active{}", "(".repeat(40), " BETWEEN false AND true)".repeat(40));
    let between = lab.plan(&format!("SELECT count(*) FROM riders WHERE {bool_nest}"), &settings(2, 3)).await;
    assert!(matches!(between, Err(Refusal::Plan(_))));
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
