#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! What a setting of the session would decide.

use super::{accept, refused};

/// A condition over payments, which have a moment, and trips of the same rider, which have what a clock showed.
fn where_rows(condition: &str) -> String {
    let from = r#""public"."payments" AS b0 JOIN "public"."trips" AS b1 ON (b0."rider_id" = b1."rider_id")"#;
    format!(
        "WITH c AS (SELECT b0.\"rider_id\" AS u, P.count(*) AS n0 FROM {from} WHERE {condition} GROUP BY 1), g AS (SELECT COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0 FROM c) SELECT g.a0 FROM g"
    )
}

const ZONED: &str = r#"b0."paid_at""#;
const LOCAL: &str = r#"b1."started_at""#;
const DAY: &str = r#"b1."day""#;
const BERLIN: &str = "'Europe/Berlin'::P.text";

fn with(form: &str) -> String {
    where_rows(&form.replace("TZ", ZONED).replace("TS", LOCAL).replace("DAY", DAY).replace("ZONE", BERLIN))
}

#[test]
fn rule_49_a_zone_is_in_the_text() {
    for form in [
        "((P.timezone(ZONE, TZ))::P.date = DAY)",
        "(P.timezone(ZONE, TZ) < TS)",
        "((P.timezone(ZONE, TS))::P.timestamptz < TZ)",
        "((P.timezone(ZONE, (DAY)::P.timestamp))::P.timestamptz = TZ)",
        "(EXTRACT(hour FROM P.timezone(ZONE, TZ)) = 8)",
        "(EXTRACT(epoch FROM TZ) = 8)",
        "(EXTRACT(hour FROM TS) = 8)",
        "(P.date_trunc('day', TZ, ZONE) = TZ)",
        "(P.date_trunc('day', TS) = (DAY)::P.timestamp)",
        "((TZ + '+30 microseconds'::P.interval) < TZ)",
        "((TS + '+1 mons -2 days +0 microseconds'::P.interval) < TS)",
        "(EXTRACT(year FROM P.age(P.timezone(ZONE, TZ), TS)) = 8)",
        "(P.to_char(TS, 'YYYY-MM'::P.text) = '2024-01'::P.text)",
        "(TZ >= '2024-01-01 00:00:00+00'::P.timestamptz)",
        "(TZ >= '0044-03-15 00:00:00+00:53:28 BC'::P.timestamptz)",
        "(TS >= '2024-01-01'::P.timestamp)",
        "(TZ >= '2024-01-01T00:00:00.25-08')",
        "(TS >= '12024-01-01 08:30')",
        "(P.timestamptz_larger(TZ, '2024-01-01 00:00:00+00') = TZ)",
        "(P.timestamp_smaller(DAY, TS) = TS)",
        "((TS - TS) < '+1 days'::P.interval)",
        "((TS - DAY) < '+1 days'::P.interval)",
        "((DAY - DAY) < 3)",
        "((DAY + 3) > DAY)",
        "((DAY + '+1 days'::P.interval) = TS)",
        "((TZ - TZ) < ('+1 days'::P.interval * P.length(b1.\"note\")))",
        "(P.date_larger(DAY, P.make_date(2024, 1, 31)) = DAY)",
        "((P.length(b1.\"note\") + 1) < P.strpos(b1.\"note\", 'x'))",
        "(DAY = '-infinity'::P.date)",
        "((CASE WHEN P.textregexeq(b1.\"note\", '^([0-9]{4}-[0-9]{2}-[0-9]{2})$'::P.text) THEN (b1.\"note\")::P.date END) = DAY)",
    ] {
        accept(&with(form));
    }
    for form in [
        // Conversions, and comparisons that convert.
        "((TZ)::P.date = DAY)",
        "((TZ)::P.timestamp = TS)",
        "((TZ)::P.time = '08:30:00'::P.time)",
        "((TS)::P.timestamptz = TZ)",
        "((DAY)::P.timestamptz = TZ)",
        "(TZ < TS)",
        "(TZ = DAY)",
        "(TZ IN (TS, TZ))",
        "(TZ BETWEEN TS AND TZ)",
        "(COALESCE(TZ, TS) = TZ)",
        "(CASE WHEN (TZ = TZ) THEN TZ ELSE TS END = TZ)",
        "(P.timestamptz_larger(TZ, TS) = TZ)",
        "(TZ IS DISTINCT FROM DAY)",
        // Fields, units, ages, texts.
        "(EXTRACT(hour FROM TZ) = 8)",
        "(EXTRACT(year FROM COALESCE(TZ, TZ)) = 8)",
        "(P.date_trunc('day', TZ) = TZ)",
        "(P.date_trunc('day', DAY) = TZ)",
        "(P.date_trunc('day', TZ, b1.\"note\") = TZ)",
        "(EXTRACT(year FROM P.age(TZ, TZ)) = 8)",
        "(EXTRACT(year FROM P.age(DAY, DAY)) = 8)",
        "(P.to_char(TZ, 'YYYY'::P.text) = '2024'::P.text)",
        "(P.to_char(DAY, 'YYYY'::P.text) = '2024'::P.text)",
        "(P.to_char(TS, 'TMMonth'::P.text) = 'May'::P.text)",
        "((b1.\"note\" || TS) = 'x'::P.text)",
        "(P.timezone(b1.\"note\", TZ) = TS)",
        "(P.timezone(ZONE, DAY) = TS)",
        // Days and months of a clock.
        "((TZ + '1 day'::P.interval) < TZ)",
        "((TZ + '+1 days +0 microseconds'::P.interval) < TZ)",
        "((TZ - TS) = '+1 microseconds'::P.interval)",
        // What takes one type converts others to it, and a string beside a time is read as one.
        "(P.timestamptz_larger(TS, TS) IS NULL)",
        "(P.timestamptz_larger(DAY, TZ) = TZ)",
        "(P.timestamptz_smaller('2024-01-01', '2024-01-02') IS NULL)",
        "(P.timestamp_larger('01/02/2024', TS) = TS)",
        "((TS - '01/02/2024') < '1 day')",
        "((DAY - '01/02/2024') < 3)",
        "((TZ - '2024-01-01') < '1 day')",
        // Which of two operators binds first is not known.
        "((TS + '+1 days'::P.interval - '+2 days'::P.interval) < TS)",
        // What meets a time is one.
        "(DAY = b1.\"minutes\")",
        "(DAY IN (b1.\"minutes\", DAY))",
        // Constants that a zone or a style reads.
        "(TZ >= '2024-01-01'::P.timestamptz)",
        "(TZ >= '2024-01-01 00:00:00'::P.timestamptz)",
        "(TZ >= '2024-01-01 00:00:00 Europe/Berlin'::P.timestamptz)",
        "(TZ >= '2024-01-01')",
        "(TS >= '01/02/2024'::P.timestamp)",
        "(TS >= 'today'::P.timestamp)",
        "(TS >= '2024-1-31'::P.timestamp)",
        "(TS >= '24-01-31'::P.timestamp)",
        "(TS >= '2024-01-31 8:30'::P.timestamp)",
        "(TS >= '2024-01-31 08:30 PM'::P.timestamp)",
        "(TS >= '2024-01-31 08:30+00'::P.timestamp)",
        "(DAY = '2024-01-31 08:30'::P.date)",
        "(TZ >= '2024-01-31 08:30+0'::P.timestamptz)",
        "(TZ >= '2024-01-31 08:30+00:00:00:00'::P.timestamptz)",
        "((TS)::P.time = '8 PM'::P.time)",
        "(TS >= '01/02/2024')",
        "(DAY = 'now'::P.date)",
        "(DAY = '1.2.2024'::P.date)",
        "((TS + '-1 mons 1000 days'::P.interval) < TS)",
        "((TS + '-1 mons +1 days 01:00:00'::P.interval) < TS)",
        // Texts of rows.
        "((b1.\"note\")::P.date = DAY)",
        "((b1.\"note\")::P.timestamptz = TZ)",
        "((b1.\"note\")::P.interval = '+1 days'::P.interval)",
        "((CASE WHEN P.textregexeq(b1.\"note\", '^([0-9]{2}/)$'::P.text) THEN (b1.\"note\")::P.date END) = DAY)",
        "((CASE WHEN (b1.\"note\" = 'x'::P.text) THEN (b1.\"note\")::P.date END) = DAY)",
    ] {
        refused(form, &with(form), "setting of the session");
    }
}

#[test]
fn rule_49_series_and_branches_are_of_no_session() {
    let domain = |series: &str| {
        format!(
            "WITH d AS MATERIALIZED (SELECT x0.k AS k0 FROM (SELECT DISTINCT g.g::P.timestamp FROM P.generate_series({series}) AS g(g)) AS x0(k)), c AS (SELECT b0.\"rider_id\" AS u, b0.\"started_at\" AS k0, P.count(*) AS n0 FROM \"public\".\"trips\" AS b0 GROUP BY 1, 2), g AS (SELECT c.k0, COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0 FROM c GROUP BY 1) SELECT d.k0, COALESCE(g.a0, 0) AS a0 FROM d LEFT JOIN g ON g.k0 = d.k0 ORDER BY 1"
        )
    };
    let series = |ty: &str, offset: &str| {
        let end = |year: u32| format!("'{year}-01-01 00:00:00{offset}'::P.{ty}");
        domain(&format!("{}, {}, '1 day'::P.interval", end(2024), end(2025)))
    };
    accept(&series("timestamp", ""));
    refused("a series of moments", &series("timestamptz", "+00"), "steps are the session's");
    // Nor may a step be computed, or its ends be days, which would become moments.
    let doubled = "('1 day'::P.interval * 2)";
    for (ty, offset) in [("timestamptz", "+00"), ("timestamp", "")] {
        let steps = series(ty, offset).replace("'1 day'::P.interval", doubled);
        if ty == "timestamp" { drop(accept(&steps)) } else { refused(ty, &steps, "steps are the session's") }
    }
    let days = domain("'2024-01-01'::P.date, '2025-01-01'::P.date, '1 day'::P.interval");
    refused("a series of days", &days, "steps are the session's");
    let both = |a: &str, b: &str| {
        format!(
            "WITH c AS (SELECT b0.c0 AS u, P.count(*) AS n0 FROM ((SELECT b1.\"rider_id\", {a} FROM \"public\".\"payments\" AS b1) UNION ALL (SELECT b2.\"rider_id\", {b} FROM \"public\".\"trips\" AS b2)) AS b0(c0, c1) GROUP BY 1), g AS (SELECT COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0 FROM c) SELECT g.a0 FROM g"
        )
    };
    let (moment, clock) = ("b1.\"paid_at\"", "b2.\"started_at\"");
    accept(&both(&format!("P.timezone({BERLIN}, {moment})::P.timestamp"), clock));
    refused("branches", &both(moment, clock), "what clocks show");
}
