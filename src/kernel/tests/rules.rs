//! What is certified, rule by rule.

use super::{accept, linf, refused};
use std::path::Path;

/// Counts rows per unit and adds them up.
fn counted(from: &str, unit: &str) -> String {
    format!(
        "WITH c AS (SELECT {unit} AS u, P.count(*) AS n0 FROM {from} GROUP BY 1), g AS (SELECT COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0 FROM c) SELECT g.a0 FROM g"
    )
}

/// Counts rows.
fn direct(from: &str) -> String {
    format!("WITH g AS (SELECT P.count(*) AS a0 FROM {from}) SELECT g.a0 FROM g")
}

/// Adds up a value of riders.
fn summed(value: &str) -> String {
    format!(
        "WITH g AS (SELECT COALESCE(P.sum({value}), 0) AS a0 FROM \"public\".\"riders\" AS b0) SELECT g.a0 FROM g"
    )
}

/// Groups riders' trips by a key with this domain.
fn grouped(domain: &str, key: &str, equal: &str) -> String {
    format!(
        "WITH d AS MATERIALIZED (SELECT x0.k AS k0 FROM ({domain}) AS x0(k)), c AS (SELECT b0.\"rider_id\" AS u, {key} AS k0, P.count(*) AS n0 FROM \"public\".\"trips\" AS b0 GROUP BY 1, 2), g AS (SELECT c.k0, COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0 FROM c GROUP BY 1) SELECT d.k0, COALESCE(g.a0, 0) AS a0 FROM d LEFT JOIN g ON {equal} ORDER BY 1"
    )
}

#[test]
fn rows_of_one_unit_meet() {
    let trips = r#""public"."trips" AS b0"#;
    for (from, unit) in [
        (format!(r#"{trips} JOIN "public"."riders" AS b1 ON (b0."rider_id" = b1."rider_id")"#), r#"b1."rider_id""#),
        (format!(r#"{trips} CROSS JOIN "public"."riders" AS b1 WHERE (b0."rider_id" = b1."rider_id")"#), r#"b0."rider_id""#),
        (format!(r#"{trips} JOIN "public"."stations" AS b1 ON (b0."station" = b1."station")"#), r#"b0."rider_id""#),
        (format!(r#""public"."stations" AS b1 JOIN {trips} ON (b0."station" = b1."station")"#), r#"b0."rider_id""#),
        (format!(r#"{trips} LEFT JOIN "public"."stations" AS b1 ON true"#), r#"b0."rider_id""#),
        (format!(r#"{trips} LEFT JOIN ("public"."legs" AS b1 JOIN "public"."fixes" AS b2 ON (b2."leg_id" = b1."leg_id")) ON (b1."trip_id" = b0."trip_id")"#), r#"b0."rider_id""#),
        (format!(r#"{trips} LEFT JOIN "public"."riders" AS b1 ON (b0."rider_id" = b1."rider_id") JOIN "public"."devices" AS b2 ON (b2."rider_id" = b0."rider_id")"#), r#"b2."rider_id""#),
        (r#""public"."visits" AS b0 JOIN "public"."riders" AS b1 ON (b1."rider_id" = b0."rider_id")"#.to_owned(), r#"b0."rider_id""#),
        (r#"((SELECT b1."rider_id" FROM "public"."trips" AS b1) UNION ALL (SELECT b2."rider_id" FROM "public"."riders" AS b2)) AS b0(c0)"#.to_owned(), r#"b0."c0""#),
    ] {
        assert_eq!(linf(&accept(&counted(&from, unit))), [20], "{from}");
    }
    for (name, from) in [
        ("two units", format!(r#"{trips} JOIN "public"."trips" AS b1 ON (b0."station" = b1."station")"#)),
        (
            "by a public column between",
            format!(
                r#"{trips} JOIN "public"."zones" AS b1 ON (b0."rider_id" = b1."area") JOIN "public"."trips" AS b2 ON (b2."minutes" = b1."area")"#
            ),
        ),
        // It would follow from the key, or from what an outer join leaves out: the text must say it.
        ("by a key", format!(r#"{trips} JOIN "public"."trips" AS b1 ON (b0."trip_id" = b1."trip_id")"#)),
        (
            "by what may be left out",
            format!(
                r#"{trips} LEFT JOIN "public"."riders" AS b1 ON (b0."rider_id" = b1."rider_id") JOIN "public"."devices" AS b2 ON (b2."rider_id" = b1."rider_id")"#
            ),
        ),
        ("no path", format!(r#"{trips} CROSS JOIN "public"."legs" AS b1"#)),
    ] {
        refused(name, &counted(&from, r#"b0."rider_id""#), "different units");
    }
    let constants =
        r#"((SELECT b1."rider_id" FROM "public"."trips" AS b1) UNION ALL (VALUES (7::P.int4))) AS b0(c0)"#;
    refused("constants for units", &counted(constants, r#"b0."c0""#), "unit at the same place");
    // Units that are equal to one public column are equal.
    accept(&counted(
        &format!(
            r#"{trips} JOIN "public"."zones" AS b1 ON (b0."rider_id" = b1."area") JOIN "public"."payments" AS b2 ON (b2."rider_id" = b1."area")"#
        ),
        r#"b0."rider_id""#,
    ));
}

/// Keys that are the same in all rows of a unit make one group; others, as many as nobody knows.
#[test]
fn keys_of_the_unit_make_one_group() {
    let of = |key: &str, from: &str, filter: &str| {
        format!(
            "WITH c AS (SELECT b0.\"rider_id\" AS u, {key} AS k0, P.count(*) AS n0 FROM {from}{filter} GROUP BY 1, 2), g AS (SELECT c.k0, P.count(*) AS units, COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0 FROM c GROUP BY 1) SELECT g.k0, g.units, g.a0 FROM g"
        )
    };
    let riders = r#""public"."trips" AS b0 JOIN "public"."riders" AS b1 ON (b0."rider_id" = b1."rider_id")"#;
    let zones = format!(r#"{riders} JOIN "public"."zones" AS b2 ON (b2."zone" = b1."plan")"#);
    let left = r#""public"."trips" AS b0 LEFT JOIN "public"."riders" AS b1 ON ((b0."rider_id" = b1."rider_id") AND (b0."minutes" > 5))"#;
    let outer = format!(r#"{riders} LEFT JOIN "public"."fixes" AS b2 ON (b2."fix_id" = b1."birth_year")"#);
    for (key, from, filter) in [
        (r#"b1."plan""#, riders, ""),
        (r#"((b1."birth_year" / 10))::P.int4"#, riders, ""),
        (r#"b2."area""#, zones.as_str(), ""),
        // Conditions hold for all rows that count.
        (
            r#"b2."area""#,
            &format!(r#"{riders} CROSS JOIN "public"."zones" AS b2"#),
            r#" WHERE (b2."zone" = b1."plan")"#,
        ),
    ] {
        let c = accept(&of(key, from, filter));
        assert_eq!((c.l0, linf(&c), c.seeded), (1, vec![20], false), "{key}");
    }
    for (name, key, from) in [
        ("a row of many", r#"b0."stars""#, riders),
        ("both", r#"((b0."stars" + b1."birth_year"))::P.int4"#, riders),
        ("a partner that only some rows have", r#"b1."plan""#, left),
        ("another column than the key", r#"b2."area""#, &zones.replace(r#"b2."zone" ="#, r#"b2."area" ="#)),
        ("a key of the rows of many", r#"b2."area""#, &zones.replace(r#"b1."plan""#, r#"b0."note""#)),
        ("an inequality", r#"b2."area""#, &zones.replace(r#"b2."zone" ="#, r#"b2."zone" <>"#)),
        (
            "what a row asks others",
            r#"(EXISTS (SELECT 1 FROM "public"."trips" AS b3 WHERE ((b3."rider_id" = b0."rider_id") AND (b3."trip_id" < b0."trip_id"))))::P.bool"#,
            riders,
        ),
    ] {
        refused(name, &of(key, from, ""), "nothing bounds the groups");
    }
    refused("rows of others", &of(r#"b2."cost""#, &outer, ""), "different units");
}

#[test]
fn equal_keys_look_the_same() {
    let of = |key: &str, from: &str| {
        let order = match key {
            r#"b0."minutes""# => "P.hashint8extended(COALESCE(c.k0, 0), ",
            r#"b0."version""# => "P.hashtextextended(COALESCE(P.trim_scale(c.k0)::P.text, ''), ",
            _ if key.contains("battery") => "P.hashfloat8extended(COALESCE(c.k0, 0), ",
            _ => "P.hashtextextended(COALESCE(c.k0::P.text, ''), ",
        };
        format!(
            "WITH c AS (SELECT b0.\"rider_id\" AS u, {key} AS k0 FROM {from} WHERE b0.\"rider_id\" IS NOT NULL GROUP BY 1, 2), e AS (SELECT c.*, P.row_number() OVER (PARTITION BY c.u ORDER BY {order}P.hashint8extended(c.u, $1::P.int8)), c.k0) AS r FROM c), g AS (SELECT e.k0, P.count(*) AS units FROM e WHERE e.r <= 2 GROUP BY 1) SELECT g.k0, g.units FROM g"
        )
    };
    let (visits, devices) = (r#""public"."visits" AS b0"#, r#""public"."devices" AS b0"#);
    let c = accept(&of(r#"b0."minutes""#, visits));
    assert_eq!((c.l0, c.selects, c.parts.len(), c.seeded), (2, true, 0, true));
    accept(&of(r#"P.trim_scale(b0."version")"#, devices));
    accept(&of(
        r#"((EXISTS (SELECT 1 FROM "public"."trips" AS b1 WHERE (b1."rider_id" = b0."rider_id"))))::P.bool"#,
        devices,
    ));
    let canonical = r#"(CASE WHEN b0."battery" = 0 THEN 0::P.float8 WHEN b0."battery" = 'NaN' THEN 'NaN'::P.float8 ELSE b0."battery" END)::P.float8"#;
    accept(&of(canonical, devices));
    for (from, to) in [
        (r#"ELSE b0."battery""#, r#"ELSE b0."signal""#),
        ("THEN 0::", "THEN (- 0)::"),
        ("= 0 ", "> 0 "),
        ("'NaN'::P.float8 ", "1::P.float8 "),
        ("END)::P.float8", "END)::P.float4"),
        ("END)::P.float8", "END)"),
    ] {
        refused(to, &of(&canonical.replacen(from, to, 1), devices), "look different");
    }
    accept(&of(r#"P.round((b0."battery")::P.numeric, 3)::P.float8"#, devices));
    refused("computed", &of(r#"P.round(b0."battery")::P.float8"#, devices), "look different");
    refused("of no known type", &of(r#"P.cbrt(b0."minutes")"#, visits), "stages that are not");
    refused("spellings", &of(r#"b0."place""#, visits), "nondeterministic");
    refused("digits", &of(r#"b0."version""#, devices), "look different");
    refused("-0", &of(r#"b0."battery""#, devices), "look different");
    refused("blanks", &of(r#"b0."code""#, devices), "stages that are not");
}

#[test]
fn keys_bound_rows() {
    for (rows, from) in [
        (1, r#""public"."riders" AS b0"#),
        (3, r#""public"."devices" AS b0"#),
        (
            1,
            r#""public"."devices" AS b0 JOIN "public"."riders" AS b1 ON (b0."rider_id" = b1."rider_id") WHERE (b0."slot" = 1)"#,
        ),
        (3, r#""public"."devices" AS b0 JOIN "public"."riders" AS b1 ON (b0."rider_id" = b1."rider_id")"#),
        (9, r#""public"."devices" AS b0 JOIN "public"."devices" AS b1 ON (b0."rider_id" = b1."rider_id")"#),
        (
            3,
            r#""public"."devices" AS b0 JOIN "public"."devices" AS b1 ON (b0."rider_id" = b1."rider_id") AND (b0."slot" = b1."slot")"#,
        ),
        (
            3,
            r#""public"."riders" AS b0 LEFT JOIN "public"."devices" AS b1 ON (b0."rider_id" = b1."rider_id")"#,
        ),
        (1, r#""public"."riders" AS b0 LEFT JOIN "public"."stations" AS b1 ON (b0."city" = b1."station")"#),
        (1, r#""public"."trips" AS b0 WHERE (b0."trip_id" = 5)"#),
        (1, r#""public"."trips" AS b0 WHERE (b0."trip_id" = (-0.5))"#),
        (
            1,
            r#""public"."legs" AS b0 JOIN "public"."trips" AS b1 ON (b0."trip_id" = b1."trip_id") WHERE (b0."leg_id" = 5)"#,
        ),
        (
            4,
            r#""public"."riders" AS b0 FULL JOIN "public"."devices" AS b1 ON (b0."rider_id" = b1."rider_id")"#,
        ),
    ] {
        assert_eq!(linf(&accept(&direct(from))), [rows], "{from}");
    }
    for from in [
        r#""public"."trips" AS b0"#,
        r#""public"."trips" AS b0 WHERE (b0."minutes" = 5)"#,
        r#""public"."trips" AS b0 WHERE ((b0."trip_id")::P.text = '5')"#,
        r#""public"."riders" AS b0 CROSS JOIN "public"."stations" AS b1"#,
        r#""public"."riders" AS b0 JOIN "public"."stations" AS b1 ON (b0."city" = b1."city")"#,
        r#""public"."riders" AS b0 JOIN "public"."stations" AS b1 ON (b1."station" >= b0."city")"#,
        r#""public"."riders" AS b0 JOIN "public"."trips" AS b1 ON (b0."rider_id" = b1."rider_id")"#,
    ] {
        refused(from, &direct(from), "no key");
    }
}

#[test]
fn clamps_bound_values() {
    let x = r#"b0."birth_year""#;
    for (most, value) in [
        (2010, format!("LEAST(GREATEST({x}, 1920), 2010)::P.int4")),
        (2010, format!("(LEAST(GREATEST({x}, (-2)), 2010))::P.int8")),
        (3000, format!("P.int8smaller(P.int8larger(({x})::P.int8 - 3000, (-3000)), 3000)::P.int4")),
        (
            5000,
            format!(
                "P.numeric_smaller(P.numeric_larger(P.round(({x})::P.numeric * 100) - 5000, (-5000)), 5000)::P.int4"
            ),
        ),
        (
            5000,
            format!(
                "P.numeric_smaller(P.numeric_larger((({x})::P.numeric / 7) - 5000, (-5000)), 5000)::P.int4"
            ),
        ),
        (5, format!("LEAST(GREATEST(({x})::P.float8, 0), 5)::P.int4")),
        (
            10_000_000_000_000_000_000,
            format!("P.round(LEAST(GREATEST({x}, 0), 10000000000000000000))::P.numeric"),
        ),
    ] {
        assert_eq!(linf(&accept(&summed(&value))), [most], "{value}");
    }
    for value in [
        x.to_owned(),
        format!("LEAST({x}, 5)"),
        format!("GREATEST({x}, 5)"),
        format!("(LEAST(GREATEST({x}, 0), 5) * 2)"),
        format!("(LEAST(GREATEST({x}, 0), 5) + {x})"),
        format!("({x} - LEAST(GREATEST({x}, 0), 5))"),
        format!("LEAST(GREATEST({x}, NULL), 5)"),
        format!("LEAST(GREATEST({x}, 0), NULL)"),
        format!("LEAST(GREATEST({x}, 0), CASE WHEN ({x} > 3) THEN 5 END)"),
        format!("LEAST(GREATEST({x}, 0), {x})"),
        format!("LEAST(GREATEST({x}, 0.5), 5)"),
        format!("LEAST(GREATEST(({x})::P.float8, 0), 5)"),
        format!("P.numeric_smaller(P.numeric_larger((({x})::P.numeric / 7), 0), 5)"),
        format!("P.int4smaller(P.int4larger({x}, 0), 5)::P.float8::P.text"),
        format!("LEAST(GREATEST({x}, 0), 5)"),
        format!("LEAST(GREATEST({x}, 0), 5)::P.float8"),
        format!("LEAST(GREATEST({x}, 0), 5)::P.numeric"),
        format!("LEAST({x}, 5)::P.int4"),
        format!("GREATEST(LEAST({x}, 5), 0)::P.int4"),
        format!("(LEAST(GREATEST({x}, 0), 5) * 2)::P.int4"),
        format!("LEAST(GREATEST({x}, NULL), 5)::P.int4"),
        format!("LEAST(GREATEST({x}, 0.5), 5)::P.int4"),
        format!("LEAST(GREATEST({x}, 0), {x})::P.int4"),
        format!("P.round(LEAST(GREATEST({x}, 0), 5), 2)::P.numeric"),
        format!("P.trunc(LEAST(GREATEST({x}, 0), 5))::P.float8"),
        "NULL".to_owned(),
    ] {
        assert!(super::check(&summed(&value)).is_err(), "{value}");
    }
}

#[test]
fn domains_that_the_text_lists_bound_groups() {
    let number = r#"(b0."minutes")::P.int4"#;
    for (l0, domain, key) in [
        (2, "SELECT DISTINCT v.v FROM (VALUES ('1'::P.int4), ('2'::P.int4)) AS v(v)", number),
        (
            3,
            "SELECT DISTINCT v.v FROM (VALUES ('1'::P.int4), ('2'::P.int4)) AS v(v) UNION SELECT NULL::P.int4",
            number,
        ),
        (1, "SELECT DISTINCT NULL::P.int4 WHERE false", number),
        (2, "SELECT true UNION SELECT false", r#"((b0."minutes" > 3))::P.bool"#),
    ] {
        let null =
            if domain.contains("UNION SELECT NULL") { "ARRAY[g.k0] = ARRAY[d.k0]" } else { "g.k0 = d.k0" };
        let c = accept(&grouped(domain, key, null));
        assert_eq!((c.l0, c.public, c.keys), (l0, true, 1), "{domain}");
    }
    // The table may grow; how many moments there are hangs on the time zone; steps of a series are not counted.
    let moments = "SELECT DISTINCT P.date_trunc('day', g.g)::P.timestamp FROM P.generate_series('2024-01-01'::P.timestamp, '2024-02-01'::P.timestamp, '1 day'::P.interval) AS g(g)";
    let table = r#"SELECT DISTINCT t."area" FROM "public"."zones" AS t WHERE t."area" IS NOT NULL"#;
    let series = "SELECT DISTINCT g.g::P.numeric FROM P.generate_series(2023::P.numeric, 2025::P.numeric, 1::P.numeric) AS g(g)";
    for (domain, key) in
        [(table, number), (series, number), (moments, r#"P.date_trunc('day', b0."started_at")::P.timestamp"#)]
    {
        assert_eq!(accept(&grouped(domain, key, "g.k0 = d.k0")).l0, u64::MAX, "{domain}");
    }
    for (name, domain, key, words) in [
        (
            "steps twice",
            "SELECT g.g::P.int4 FROM P.generate_series(1::P.numeric, 3::P.numeric, 0.5::P.numeric) AS g(g)",
            number,
            "twice",
        ),
        ("NULL twice", "SELECT true UNION SELECT false UNION ALL SELECT NULL::P.bool", number, ""),
        (
            "another type",
            "SELECT DISTINCT v.v FROM (VALUES ('1'::P.float8), ('2'::P.float8)) AS v(v)",
            number,
            "of one type",
        ),
        (
            "several types",
            "SELECT DISTINCT v.v FROM (VALUES ('1'::P.int4), ('2'::P.float8)) AS v(v)",
            number,
            "of one type",
        ),
        ("no type", "SELECT DISTINCT v.v FROM (VALUES (P.cbrt(1))) AS v(v)", number, "of one type"),
        (
            "units",
            r#"SELECT t."rider_id" FROM "public"."trips" AS t UNION SELECT r."rider_id" FROM "public"."riders" AS r"#,
            number,
            "private table",
        ),
        (
            "private values",
            r#"SELECT DISTINCT t."minutes" FROM "public"."trips" AS t"#,
            number,
            "private rows",
        ),
        (
            "rows that private ones choose",
            r#"SELECT DISTINCT t."area" FROM "public"."zones" AS t WHERE (EXISTS (SELECT 1 FROM "public"."trips" AS b8))"#,
            number,
            "not tied",
        ),
        (
            "no constants",
            r#"SELECT DISTINCT g.g::P.numeric FROM P.generate_series(1::P.numeric, b0."minutes"::P.numeric, 1::P.numeric) AS g(g)"#,
            number,
            "column",
        ),
    ] {
        refused(name, &grouped(domain, key, "g.k0 = d.k0"), words);
    }
}

/// Values that come together are one set of several columns: each tuple once, and all of it shown.
#[test]
fn domains_have_tuples() {
    let text = |shown: &str, set: &str, columns: &str| {
        let equal = "ARRAY[g.k0] = ARRAY[d.k0] AND ARRAY[g.k1] = ARRAY[d.k1]";
        format!(
            r#"WITH d AS MATERIALIZED (SELECT {shown} FROM ({set}) AS x0({columns})), c AS (SELECT b0."rider_id" AS u, (b0."minutes")::P.int4 AS k0, (b0."minutes" > 3)::P.bool AS k1, P.count(*) AS n0 FROM "public"."trips" AS b0 GROUP BY 1, 2, 3), g AS (SELECT c.k0, c.k1, COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0 FROM c GROUP BY 1, 2) SELECT d.k0, d.k1, COALESCE(g.a0, 0) AS a0 FROM d LEFT JOIN g ON {equal} ORDER BY 1, 2"#
        )
    };
    let values = "(VALUES ('1'::P.int4), ('2'::P.int4), ('5'::P.int4)) AS v(v)";
    let set = format!(
        "SELECT DISTINCT (y0.k)::P.int4, (y0.k > 3)::P.bool FROM (SELECT DISTINCT v.v FROM {values}) AS y0(k)"
    );
    let both = "x0.k AS k0, x0.k1 AS k1";
    let c = accept(&text(both, &set, "k, k1"));
    assert_eq!((c.l0, c.public, c.keys), (3, true, 2));
    for (name, shown, set, columns) in [
        ("tuples that come twice", both, set.replacen("SELECT DISTINCT (", "SELECT (", 1), "k, k1"),
        ("a part of a tuple", "x0.k AS k0", set.clone(), "k, k1"),
        ("one column twice", "x0.k AS k0, x0.k AS k1", set.clone(), "k, k1"),
        ("a constant beside", "x0.k AS k0, x0.k1 AS k1, '1'::P.int4 AS k2", set.clone(), "k, k1"),
        ("other names", "x0.k AS k1, x0.k1 AS k0", set.clone(), "k, k1"),
        ("a column that has no name", both, set.replace("::P.int4, (", "::P.int4, 7, ("), "k, k1"),
    ] {
        refused(name, &text(shown, &set, columns), "");
    }
    // Without NULL a row that has it meets no tuple; that is said of both sides, or of neither.
    let plain = text(both, &set, "k, k1").replace("ARRAY[g.k1] = ARRAY[d.k1]", "g.k1 = d.k1");
    refused("NULL that one side does not meet", &plain, "");
    refused(
        "a private table",
        &text(
            both,
            r#"SELECT DISTINCT t."minutes", (t."minutes" > 3)::P.bool FROM "public"."trips" AS t"#,
            "k, k1",
        ),
        "",
    );
}

#[test]
fn several_rows_are_of_one_unit() {
    let trips = r#"FROM "public"."trips" AS b0"#;
    let devices = r#"FROM "public"."devices" AS b0"#;
    let over = |select: &str| format!("(SELECT {select}) AS b1(c0, c1)");
    let unit = r#"b0."rider_id""#;
    for (name, select, rows) in [
        ("groups of the unit", format!("{unit}, (P.count(*))::P.int8 {trips} GROUP BY 1"), Some(1)),
        ("the unit in another place", format!("b0.\"station\", {unit} {trips} GROUP BY 1, 2"), None),
        ("more than the unit", format!("{unit}, b0.\"station\" {trips} GROUP BY 1, 2"), None),
        (
            "a window of the unit",
            format!(
                "{unit}, (P.lag(b0.\"fare\", 2) OVER (PARTITION BY {unit} ORDER BY b0.\"minutes\" DESC NULLS LAST, b0.\"fare\"))::P.numeric {trips}"
            ),
            None,
        ),
        (
            "rows that tie in their rank",
            format!("{unit}, (P.rank() OVER (PARTITION BY {unit} ORDER BY b0.\"minutes\"))::P.int8 {trips}"),
            None,
        ),
        (
            "equal values by their text",
            format!(
                "{unit}, (P.lag(b0.\"version\") OVER (PARTITION BY {unit} ORDER BY b0.\"version\", b0.\"version\"::P.text))::P.numeric {devices}"
            ),
            Some(3),
        ),
        (
            "a frame",
            format!(
                "{unit}, (P.sum((b0.\"fare\")::P.numeric) OVER (PARTITION BY {unit}, b0.\"station\" ORDER BY b0.\"fare\" ROWS BETWEEN 2 PRECEDING AND CURRENT ROW))::P.numeric {trips}"
            ),
            None,
        ),
    ] {
        let column = if name == "the unit in another place" { r#"b1."c1""# } else { r#"b1."c0""# };
        assert_eq!(linf(&accept(&counted(&over(&select), column))), [20], "{name}");
        match rows {
            Some(n) => assert_eq!(linf(&accept(&direct(&over(&select)))), [n], "{name}"),
            None => refused(name, &direct(&over(&select)), "no key shows to be few"),
        }
    }
    let one = over(&format!("{unit}, (P.count(*))::P.int8 {trips} GROUP BY 1"));
    // All that is private and meets is of one unit, of which there is one row.
    for from in [
        format!(r#""public"."riders" AS b2 JOIN {one} ON (b1."c0" = b2."rider_id")"#),
        format!(r#""public"."riders" AS b2 LEFT JOIN {one} ON (b1."c0" = b2."rider_id") AND (b1."c1" > 3)"#),
    ] {
        assert_eq!(linf(&accept(&direct(&from))), [1], "{from}");
    }
    for (name, select, why) in [
        (
            "groups of several units",
            format!("b0.\"station\", (P.count(*))::P.int8 {trips} GROUP BY 1"),
            "without their unit",
        ),
        ("the greatest unit", format!("(P.max({unit}))::P.int4, b0.\"station\" {trips}"), "no place here"),
        (
            "a group's greatest unit",
            format!("b0.\"station\", (P.max({unit}))::P.int4 {trips} GROUP BY 1"),
            "without their unit",
        ),
        (
            "a window of several units",
            format!(
                "{unit}, (P.row_number() OVER (PARTITION BY b0.\"station\", {unit} ORDER BY b0.\"fare\"))::P.int8 {trips}"
            ),
            "several units",
        ),
        (
            "rows that tie",
            format!(
                "{unit}, b0.\"station\", (P.row_number() OVER (PARTITION BY {unit} ORDER BY b0.\"minutes\"))::P.int8 {trips}"
            ),
            "leaves rows of a unit open",
        ),
        (
            "rows that tie in a frame",
            format!(
                "{unit}, (P.sum(b0.\"minutes\") OVER (PARTITION BY {unit} ORDER BY b0.\"day\" ROWS BETWEEN 2 PRECEDING AND CURRENT ROW))::P.numeric {trips}"
            ),
            "leaves rows of a unit open",
        ),
        (
            "rows that another window tells apart",
            format!(
                "{unit}, (P.row_number() OVER (PARTITION BY {unit} ORDER BY b0.\"day\"))::P.int8, (P.rank() OVER (PARTITION BY {unit} ORDER BY b0.\"fare\"))::P.int8 {trips}"
            ),
            "leaves rows of a unit open",
        ),
        (
            "equal values that are not the same",
            format!(
                "{unit}, P.length((b0.\"version\")::P.text), (P.row_number() OVER (PARTITION BY {unit} ORDER BY b0.\"version\"))::P.int8 {devices}"
            ),
            "look different",
        ),
        (
            "equal texts that are not the same",
            format!(
                "{unit}, b0.\"place\", (P.row_number() OVER (PARTITION BY {unit} ORDER BY b0.\"place\"))::P.int8 FROM \"public\".\"visits\" AS b0"
            ),
            "leaves rows of a unit open",
        ),
        ("a window without a call", format!("{unit}, (P.row_number())::P.int8 {trips}"), "no place here"),
        (
            "a window in an expression",
            format!("{unit}, (P.row_number() OVER (PARTITION BY {unit})) + 1 {trips}"),
            "no place here",
        ),
        (
            "an aggregate of an aggregate",
            format!("{unit}, (P.sum(P.count(*)))::P.numeric {trips} GROUP BY 1"),
            "no place here",
        ),
        (
            "public rows in groups",
            "b0.\"station\", (P.count(*))::P.int8 FROM \"public\".\"stations\" AS b0 GROUP BY 1".to_owned(),
            "groups public rows",
        ),
    ] {
        refused(name, &counted(&over(&select), r#"b1."c0""#), why);
    }
}

/// What is believed must be short enough to be read in one sitting, and must not ask those that it checks.
#[test]
fn rule_46_the_kernel_is_short_and_imports_no_planner() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let own = sources.filter(|f| f.extension().is_some_and(|e| e == "rs") && !f.ends_with("tests.rs"));
    let lines: usize = own.map(|f| std::fs::read_to_string(f).unwrap().lines().count()).sum();
    assert!(lines > 500 && lines < 2_200, "{lines} lines, with comments");
    for (package, may) in [("kernel", "grammar policy schema"), ("grammar", "policy schema thiserror")] {
        let manifest = std::fs::read_to_string(folder.join("..").join(package).join("Cargo.toml")).unwrap();
        let (_, rest) = manifest.split_once("\n[dependencies]\n").unwrap();
        let names = rest.lines().take_while(|l| !l.is_empty()).map(|l| l.split(['.', ' ']).next().unwrap());
        assert_eq!(names.collect::<Vec<_>>().join(" "), may, "{package}");
    }
}

/// What is computed once for each row is that row's: its unit, its keys and how many rows a unit has are seen through it.
#[test]
fn a_derived_table_that_ends_in_an_offset_is_all_of_its_rows() {
    let over = |offset: &str| {
        format!(
            r#"(SELECT b1."rider_id", (LEAST(GREATEST(b1."fare", 0), 60) * 100)::P.int8 FROM "public"."trips" AS b1 WHERE b1."minutes" > 3{offset}) AS o(c0, c1)"#
        )
    };
    let sum = |offset: &str| {
        format!(
            "WITH c AS (SELECT o.c0 AS u, P.count(*) AS n0, COALESCE(P.sum(P.int8smaller(P.int8larger(o.c1 - 3000, (-3000)), 3000)::P.int4), 0) AS s1 FROM {} GROUP BY 1), g AS (SELECT COALESCE(P.sum((LEAST(GREATEST(c.s1, (-60000)), 60000))::P.int4), 0) AS a0 FROM c) SELECT g.a0 FROM g",
            over(offset)
        )
    };
    assert_eq!(linf(&accept(&sum(" OFFSET 0"))), [60_000]);
    for other in [" OFFSET 1", " OFFSET 00", " OFFSET b1.\"minutes\"", " OFFSET (0)", " OFFSET"] {
        refused(other, &sum(other), "OFFSET that leaves rows out");
    }
    // One row of a unit is one row of it behind.
    let riders =
        r#"(SELECT b1."rider_id", b1."birth_year" FROM "public"."riders" AS b1 OFFSET 0) AS o(c0, c1)"#;
    assert_eq!(linf(&accept(&direct(riders))), [1]);
    let without = r#"(SELECT b1."birth_year" FROM "public"."riders" AS b1 OFFSET 0) AS o(c0)"#;
    refused("no unit", &direct(without), "without their unit");
}

/// Which tables a text reads is all that stand in it, in whatever part; and a part that a unit only adds to says so.
#[test]
fn rule_49_a_certificate_names_its_tables_and_the_direction_of_change() {
    let named = |sql: &str| {
        let certified = accept(sql);
        certified.tables.iter().map(|t| super::policy().tables[*t].name.clone()).collect::<Vec<_>>()
    };
    let over = |value: &str, filter: &str| {
        format!(
            r#"WITH g AS (SELECT COALESCE(P.sum({value}), 0) AS a0 FROM "public"."devices" AS b0 WHERE (b0."rider_id" = 1) AND (b0."slot" = 1){filter}) SELECT g.a0 FROM g"#
        )
    };
    let slot = |low: &str| format!(r#"(LEAST(GREATEST(b0."slot", {low}), 5))::P.int4"#);
    assert_eq!(named(&over(&slot("0"), "")), ["devices"]);
    let within = r#" AND EXISTS (SELECT 1 FROM "public"."stations" AS b1 WHERE b1."station" IS NOT NULL)"#;
    let certified = accept(&over(&slot("0"), within));
    assert_eq!(certified.tables.len(), 2);
    let rises = |sql: &str| accept(sql).parts[0].rises;
    assert!(rises(&over(&slot("0"), "")) && rises(&over(&slot("2"), "")));
    assert!(!rises(&over(&slot("(-1)"), "")), "a value below 0 lowers a sum");
    assert!(rises(&over("1", "").replace("COALESCE(P.sum(1), 0)", "P.count(*)")));
}
