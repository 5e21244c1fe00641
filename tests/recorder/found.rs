//! What the recorder found, and a reading of the planner with it: each stays found.

use crate::data::{self, HOSTILE, Variant};
use crate::harness::{Claim, Lab, Refusal, settings};
use noisegate::plan::Release;
use std::time::{Duration, Instant};

async fn lab() -> Lab {
    Lab::new(Variant { dirty: true, nullable_unit: true, tied: 0, seed: 6 }).await
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
    let mut lab = Lab::new(Variant { dirty: true, nullable_unit: false, tied: 0, seed: 2 }).await;
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
        (nest("COALESCE(", ", 1)", 40), false),
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

/// Trips of 48 units, and as many of one between them, in no order: what they hold is one of three values that are equal, or
/// look equal. Minutes are another number in each unit, so that each is in a group of its own.
async fn crowd(lab: &Lab, column: &str, three: [&str; 3]) {
    let three = three.join(", ");
    let sql = format!(
        "DELETE FROM public.trips;
         INSERT INTO public.trips (trip_id, rider_id, started_at, zero, wide, minutes, {column})
         SELECT 5000000 + i, u, '2024-05-05', 0, (i / 96) % 20, u, (ARRAY[{three}])[1 + (hashint4(i) & 1023) % 3]
         FROM generate_series(1, 8000) AS g(i), LATERAL (SELECT CASE WHEN i % 2 = 0 THEN 12 ELSE 13 + (i / 2) % 48 END) AS o(u)
         ORDER BY md5(i::text)"
    );
    lab.client.batch_execute(&sql).await.unwrap();
    lab.client.batch_execute(&data::reordered()).await.unwrap();
}

/// Records statements without the one unit, under ways to group and to sort.
async fn holds_apart(lab: &mut Lab, set: &str, texts: &[&str]) {
    for text in texts {
        let planned = lab.plan(text, &settings(2, 1)).await.unwrap_or_else(|e| panic!("{text}: {e:?}"));
        for way in ["hashagg", "sort", "incremental_sort", "hashagg incremental_sort indexscan", "seqscan"] {
            let off: String = way.split(' ').map(|w| format!("SET LOCAL enable_{w} = off; ")).collect();
            let ways = format!("SAVEPOINT way; {off}SET LOCAL work_mem = '64kB'; {set}");
            lab.client.batch_execute(&ways).await.unwrap();
            for (release, sql) in lab.paying(&planned) {
                if let Err(e) = lab.record(sql, &Claim::of(release), &[12]).await {
                    panic!("{e}\n{text}\n{way}\n{sql}");
                }
            }
            lab.client.batch_execute("ROLLBACK TO way").await.unwrap();
        }
    }
}

/// What looks at floats in rows of a unit that tie.
pub fn of_tied_floats() -> Vec<String> {
    let of = |what: &str, kept: &str| {
        format!(
            "SELECT minutes, count(*) FROM (SELECT rider_id, minutes, dist, {what} OVER (PARTITION BY rider_id ORDER BY zero) AS n FROM trips) t WHERE {kept} GROUP BY 1"
        )
    };
    vec![
        of("row_number()", "n = 1 AND dist > 1.3"),
        of("first_value(dist)", "n > 1.3"),
        of("row_number()", "n <= 40 AND dist > 1.3"),
    ]
}

/// Of a float's text a session chooses how many digits it has: 1.1 and 1.4 tie, and rows of other units decide which is first.
#[tokio::test]
async fn rule_48_floats_are_not_told_apart_by_their_text() {
    let mut lab = lab().await;
    let texts = of_tied_floats();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for three in [["1.1", "1.4", "1.2"], ["'-0'", "0", "1.4"]] {
        crowd(&lab, "dist", three).await;
        holds_apart(&mut lab, "SET LOCAL extra_float_digits = -15", &texts).await;
        holds_apart(&mut lab, "SET LOCAL extra_float_digits = 3", &texts).await;
    }
}

/// What orders rows by numbers of which one stands for others that are equal.
pub fn of_equal_numbers() -> Vec<String> {
    let of = |inner: &str| {
        format!(
            "SELECT minutes, count(*) FROM (SELECT rider_id, m, g, minutes, row_number() OVER (PARTITION BY rider_id ORDER BY m) AS n FROM ({inner}) q) t WHERE n = 1 AND g > 9 GROUP BY 1"
        )
    };
    vec![
        of("SELECT rider_id, wide AS g, minutes, max(amount) AS m FROM trips GROUP BY 1, 2, 3"),
        of("SELECT rider_id, wide AS g, minutes, amount AS m FROM trips GROUP BY 1, 2, 3, 4"),
        of("SELECT DISTINCT rider_id, wide AS g, minutes, amount AS m FROM trips"),
        of(
            "SELECT rider_id, wide AS g, minutes, amount AS m FROM trips UNION SELECT rider_id, wide, minutes, amount FROM trips",
        ),
        of(
            "SELECT rider_id, wide AS g, minutes, amount AS m FROM trips INTERSECT SELECT rider_id, wide, minutes, amount FROM trips",
        ),
    ]
}

/// Of 1.0, 1.00 and 1.000 the first stands for all, and an order by its text shows which that was.
#[tokio::test]
async fn rule_48_equal_numbers_are_one() {
    let mut lab = lab().await;
    crowd(&lab, "amount", ["1.0", "1.00", "1.0000000000000000000000"]).await;
    let texts = of_equal_numbers();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    holds_apart(&mut lab, "", &texts).await;
}

/// In double precision 1e15 + 0.25 - 1e15 is 0.25, or 0.
#[tokio::test]
async fn rule_48_sums_of_a_unit_do_not_hang_on_the_order_of_its_rows() {
    let mut lab = lab().await;
    crowd(&lab, "dist", ["50", "25", "0"]).await;
    let x = "CASE WHEN dist > 40 THEN 1e15 WHEN dist > 20 THEN 0.25 ELSE -1e15 END";
    let of = |call: &str| {
        format!(
            "SELECT minutes, count(*) FROM (SELECT rider_id, minutes, {call}({x}) AS s FROM trips GROUP BY 1, 2) t WHERE s - floor(s) > 0.3 GROUP BY 1"
        )
    };
    let texts = ["sum", "avg", "variance"].map(of);
    holds_apart(&mut lab, "", &texts.each_ref().map(String::as_str)).await;
}

/// Joins with texts under a nondeterministic collation.
pub fn of_loose_texts() -> Vec<String> {
    let on = ["s.station = r.loose", "s.station = lower(r.loose)", "s.station = COALESCE(r.loose, 'Alpha')"];
    on.map(|on| format!("SELECT count(*) FROM riders r JOIN stations s ON {on}")).to_vec()
}

/// Under such a collation a key's value meets several others, so that the key proves nothing.
#[tokio::test]
async fn rule_48_texts_of_a_nondeterministic_collation_are_not_joined() {
    let mut lab = lab().await;
    for text in of_loose_texts() {
        match lab.plan(&text, &settings(2, 3)).await {
            Err(Refusal::Plan(why)) => assert!(why.contains("nondeterministic"), "{why}"),
            other => panic!("{text}: {:?}", other.map(|p| p.fetches)),
        }
    }
}

/// Groups of a unit are ranked by what their keys equal.
#[tokio::test]
async fn rule_48_a_rank_does_not_hang_on_how_a_key_is_written() {
    let mut lab = lab().await;
    crowd(&lab, "fare", ["i % 5", "i % 5 + 0.5", "i % 5 + 0.25"]).await;
    // A number, and the same with another digit.
    let key = "CASE WHEN wide % 2 = 0 THEN floor(fare) ELSE floor(fare) * 0.5 + floor(fare) * 0.5 END";
    let text = format!("SELECT {key}, count(DISTINCT rider_id) FROM trips GROUP BY 1");
    let planned = lab.plan(&text, &settings(2, 1)).await.unwrap();
    let ranked = |f: &String| f.contains("row_number()") && f.contains("JOIN d");
    assert!(planned.fetches.iter().all(ranked), "{:?}", planned.fetches);
    holds_apart(&mut lab, "", &[&text]).await;
}

/// Of a type that is not listed nobody knows which equal values look different: jsonb has 1 and 1.0. The kernel refused such an
/// order, where the planner let it through.
#[tokio::test]
async fn rule_48_windows_are_not_ordered_by_types_that_are_not_listed() {
    let mut lab = lab().await;
    for window in ["PARTITION BY rider_id ORDER BY payload", "PARTITION BY rider_id, payload ORDER BY zero"] {
        for call in ["row_number()", "lag(minutes)", "rank()", "sum(minutes)"] {
            let text = format!(
                "SELECT count(*) FROM (SELECT rider_id, minutes, {call} OVER ({window}) AS n FROM trips) t WHERE n = 1"
            );
            match lab.plan(&text, &settings(2, 3)).await {
                Err(Refusal::Plan(why)) => assert!(why.contains("payload ->> 'kind'"), "{why}"),
                other => panic!("{text}: {:?}", other.map(|p| p.fetches)),
            }
        }
    }
    // A member of such a value is a text.
    let member = "SELECT count(*) FROM (SELECT rider_id, row_number() OVER (PARTITION BY rider_id ORDER BY payload ->> 'kind') AS n FROM trips) t WHERE n = 1";
    holds(&mut lab, member).await;
}
