//! Units of few rows, told from others: one fault in a text at a time.

use super::mutations::caught;
use super::{accept, check, linf};

/// Of a listed domain, where no unit with at most twenty rows is cut.
const EXACT: &str = r#"WITH d AS MATERIALIZED (SELECT x0.k AS k0 FROM (SELECT DISTINCT v.v FROM (VALUES ('day'::P.text), ('month'::P.text), ('year'::P.text)) AS v(v)) AS x0(k)), h AS (SELECT b0."rider_id" AS u, P.count(*) AS n FROM "public"."trips" AS b0 WHERE (b0."minutes" > 5) GROUP BY 1), c AS (SELECT h.u AS u, b0."note" AS k0, P.count(*) AS n0, COALESCE(P.sum(((LEAST(GREATEST(b0."fare", 0), 60)) * 100)::P.int4), 0) AS s1, COALESCE(P.sum(P.int8smaller(P.int8larger((b0."fare" * 100)::P.int8 - 3000, (-3000)), 3000)::P.int4), 0) AS s2 FROM "public"."trips" AS b0 LEFT JOIN h ON h.u = b0."rider_id" AND h.n > 20 WHERE (b0."minutes" > 5) GROUP BY 1, 2), g AS (SELECT c.k0, COALESCE(P.sum((CASE WHEN c.u IS NULL THEN c.n0 * 1 ELSE LEAST(c.n0, 20)::P.int4 END)::P.int8), 0) AS a0, COALESCE(P.sum((CASE WHEN c.u IS NULL THEN c.s2 * 1 ELSE (LEAST(GREATEST(CASE WHEN c.n0 > 20 THEN (c.s2 / c.n0) * 20 + (c.s2 % c.n0) * 20 / c.n0 ELSE c.s2 END, (-60000)), 60000))::P.int4 END)::P.int8), 0) AS a1 FROM c GROUP BY 1) SELECT d.k0, COALESCE(g.a0, 0) AS a0, COALESCE(g.a1, 0) AS a1 FROM d LEFT JOIN g ON g.k0 COLLATE P."default" = d.k0 COLLATE P."default" ORDER BY 1"#;

/// Of rows that are spread over groups, 80 of a unit in all, and whose values are computed once.
const SPREAD: &str = r#"WITH d AS MATERIALIZED (SELECT x0.k AS k0 FROM (SELECT DISTINCT t."station"::P.text FROM "public"."stations" AS t WHERE t."station" IS NOT NULL) AS x0(k)), h AS (SELECT o.c0 AS u, P.count(*) AS n FROM (SELECT b0."rider_id", b0."station", b0."fare" FROM "public"."trips" AS b0 OFFSET 0) AS o(c0, c1, c2) GROUP BY 1), c AS (SELECT h.u AS u, o.c1 AS k0, P.count(*) AS n0, COALESCE(P.sum(((LEAST(GREATEST(o.c2, (-60)), 60)) * 100)::P.int4), 0) AS s0, COALESCE(P.sum(P.int8smaller(P.int8larger((o.c2 * 100)::P.int8 - 3000, (-3000)), 3000)::P.int4), 0) AS s1 FROM (SELECT b0."rider_id", b0."station", b0."fare" FROM "public"."trips" AS b0 OFFSET 0) AS o(c0, c1, c2) LEFT JOIN h ON h.u = o.c0 AND h.n > 80 GROUP BY 1, 2), e AS (SELECT c.*, CASE WHEN P.sum(P.abs(LEAST(c.n0, 1000000)::P.int4)) OVER v > 80 THEN P.div(LEAST(c.n0, 1000000)::P.int4::P.numeric * 5120, P.sum(P.abs(LEAST(c.n0, 1000000)::P.int4)) OVER v)::P.int8 ELSE LEAST(c.n0, 1000000)::P.int4::P.int8 * 64 END AS m0 FROM c JOIN d ON c.k0 COLLATE P."default" = d.k0 COLLATE P."default" WINDOW v AS (PARTITION BY c.u)), g AS (SELECT e.k0, COALESCE(P.sum((CASE WHEN e.u IS NULL THEN e.n0 * 64 ELSE e.m0::P.int4 END)::P.int8), 0) AS a0, COALESCE(P.sum((CASE WHEN e.u IS NULL THEN e.s1 * 64 ELSE (LEAST(GREATEST(CASE WHEN e.n0 * 64 > e.m0 THEN (e.s1 / e.n0) * e.m0 + (e.s1 % e.n0) * e.m0 / e.n0 ELSE e.s1 * 64 END, e.m0 * (-3000)), e.m0 * 3000))::P.int4 END)::P.int8), 0) AS a1 FROM e GROUP BY 1) SELECT d.k0, COALESCE(g.a0, 0) AS a0, COALESCE(g.a1, 0) AS a1 FROM d LEFT JOIN g ON g.k0 COLLATE P."default" = d.k0 COLLATE P."default" ORDER BY 1"#;

#[test]
fn bounds_are_those_of_heavy_units() {
    let c = accept(EXACT);
    assert_eq!((linf(&c), c.l0, c.seeded), (vec![20, 60_000], 3, false));
    assert_eq!(c.parts[0].l1, Some(60));
    let c = accept(SPREAD);
    // In steps of 1/64.
    assert_eq!((linf(&c), c.seeded), (vec![80 * 64, 240_000 * 64], false));
    assert_eq!(c.parts[1].l1, Some(240_000 * 64));
}

/// Whoever is light by more rows than count adds as many.
#[test]
fn a_light_unit_adds_all_of_its_rows() {
    for (base, from, to, most) in [
        (EXACT, "h.n > 20", "h.n > 21", [21, 63_000]),
        (SPREAD, "h.n > 80", "h.n > 800", [800 * 64, 2_400_000 * 64]),
    ] {
        assert_eq!(linf(&accept(&base.replacen(from, to, 1))), most);
    }
}

#[test]
fn faults_of_light_units() {
    const TRIPS: &str = r#"FROM "public"."trips" AS b0 LEFT JOIN h"#;
    let both = EXACT.replace(r#"(b0."minutes" > 5)"#, r#"(b0."rider_id" IN (SELECT b9.c0 FROM (SELECT b8."rider_id", P.row_number() OVER (PARTITION BY b8."rider_id" ORDER BY b8."trip_id") FROM "public"."trips" AS b8) AS b9(c0, c1) WHERE (b9.c1 = 1) AND (b9.c0 = b0."rider_id")))"#);
    assert!(check(&both).is_err(), "what a tree does not tell apart");
    let changes: Vec<(&str, &str, &str)> = vec![
        ("a higher bound", "h.n > 20", "h.n > 21"),
        ("at least", "h.n > 20", "h.n >= 20"),
        ("the light are heavy", "h.n > 20", "h.n < 20"),
        ("no bound", " AND h.n > 20", ""),
        ("a bound that rows choose", "h.n > 20", r#"h.n > b0."minutes""#),
        ("a bound or nothing", "AND h.n > 20", "AND (h.n > 20 OR true)"),
        (
            "other rows are counted",
            r#"WHERE (b0."minutes" > 5) GROUP BY 1)"#,
            r#"WHERE (b0."minutes" > 50) GROUP BY 1)"#,
        ),
        ("more rows are added up", r#"h.n > 20 WHERE (b0."minutes" > 5)"#, "h.n > 20"),
        (
            "rows of another table are counted",
            r#"AS n FROM "public"."trips""#,
            r#"AS n FROM "public"."payments""#,
        ),
        ("values are counted", "P.count(*) AS n FROM", r#"P.count(b0."note") AS n FROM"#),
        ("not of units", r#"h AS (SELECT b0."rider_id" AS u"#, r#"h AS (SELECT b0."trip_id" AS u"#),
        ("not of units, either", r#"b0."rider_id""#, r#"b0."trip_id""#),
        ("of more than units", "GROUP BY 1), c AS", "GROUP BY 1, 2), c AS"),
        ("of all units together", "GROUP BY 1), c AS", "), c AS"),
        ("met by another column", r#"h.u = b0."rider_id""#, r#"h.u = b0."minutes""#),
        ("met by an inequality", r#"h.u = b0."rider_id""#, r#"h.u <> b0."rider_id""#),
        ("met through a float", r#"h.u = b0."rider_id""#, r#"h.u = (b0."rider_id")::P.float8"#),
        ("the join drops rows", TRIPS, r#"FROM "public"."trips" AS b0 JOIN h"#),
        ("the join adds rows", TRIPS, r#"FROM "public"."trips" AS b0 FULL JOIN h"#),
        ("no join", r#" LEFT JOIN h ON h.u = b0."rider_id" AND h.n > 20"#, ""),
        ("another stage", "LEFT JOIN h ON", "LEFT JOIN d ON"),
        ("all are light", "SELECT h.u AS u", "SELECT NULL AS u"),
        ("none is light", "SELECT h.u AS u", r#"SELECT b0."rider_id" AS u"#),
        (
            "its number of rows is a key",
            r#"b0."note" AS k0, P.count(*) AS n0"#,
            "h.n AS k0, P.count(*) AS n0",
        ),
        (
            "its number of rows is added up",
            r#"LEAST(GREATEST(b0."fare", 0), 60)"#,
            "LEAST(GREATEST(h.n, 0), 60)",
        ),
        (
            "values of light units are not clamped",
            "COALESCE(P.sum(P.int8smaller(P.int8larger((b0.\"fare\" * 100)::P.int8 - 3000, (-3000)), 3000)::P.int4), 0) AS s2",
            "COALESCE(P.sum((b0.\"fare\" * 100)::P.int8), 0) AS s2",
        ),
        ("clamped to more", "- 3000, (-3000)), 3000)", "- 3000, (-3000)), 4000)"),
        ("a heavy unit's count is not bounded", "ELSE LEAST(c.n0, 20)::P.int4 END", "ELSE c.n0 END"),
        (
            "nor its sum",
            "CASE WHEN c.u IS NULL THEN c.s2 * 1 ELSE (LEAST",
            "CASE WHEN c.u IS NOT NULL THEN c.s2 * 1 ELSE (LEAST",
        ),
        ("light by its count", "CASE WHEN c.u IS NULL THEN c.n0", "CASE WHEN c.n0 < 20 THEN c.n0"),
        ("light by another stage", "CASE WHEN c.u IS NULL THEN c.n0", "CASE WHEN d.k0 IS NULL THEN c.n0"),
        ("twice", "THEN c.n0 * 1 ELSE", "THEN c.n0 * 2 ELSE"),
        ("something that no row bounds", "THEN c.n0 * 1 ELSE", "THEN c.k0 * 1 ELSE"),
        ("a sum of larger values", "THEN c.s2 * 1 ELSE", "THEN c.s1 * 10 ELSE"),
        (
            "each value once",
            "P.sum((CASE WHEN c.u IS NULL THEN c.n0",
            "P.sum(DISTINCT (CASE WHEN c.u IS NULL THEN c.n0",
        ),
        (
            "the count of units",
            "COALESCE(P.sum((CASE WHEN c.u IS NULL THEN c.n0 * 1 ELSE LEAST(c.n0, 20)::P.int4 END)::P.int8), 0) AS a0",
            "P.count(*) AS a0",
        ),
        (
            "bounded as one unit",
            "COALESCE(P.sum((CASE WHEN c.u IS NULL THEN c.n0 * 1 ELSE LEAST(c.n0, 20)::P.int4 END)::P.int8), 0) AS a0",
            "COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0",
        ),
    ];
    caught(EXACT, &changes);
    caught(
        SPREAD,
        &[
            ("a higher bound", "h.n > 80", "h.n > 81"),
            ("a share of nobody", "THEN e.n0 * 64 ELSE", "THEN e.m0 * 64 ELSE"),
            ("no share", "ELSE e.m0::P.int4 END", "ELSE e.n0::P.int4 END"),
            (
                "others are counted",
                r#"AS n FROM (SELECT b0."rider_id", b0."station""#,
                r#"AS n FROM (SELECT b0."trip_id", b0."station""#,
            ),
            ("sums of larger values", "THEN e.s1 * 64 ELSE", "THEN e.s0 * 64 ELSE"),
        ],
    );
}

/// Which groups of light units would be kept hangs on all of them.
#[test]
fn light_units_are_not_ranked() {
    let (head, rest) = SPREAD.split_once("e AS (").unwrap();
    let (_, tail) = rest.split_once("g AS (").unwrap();
    let tail = tail.replacen("ELSE e.m0::P.int4 END", "ELSE LEAST(e.n0, 80)::P.int4 END", 1);
    let (counted, rest) = tail.split_once(", COALESCE(P.sum((CASE WHEN e.u IS NULL THEN e.s1").unwrap();
    let last = rest.split_once(" AS a1 FROM e").unwrap().1.replace(", COALESCE(g.a1, 0) AS a1", "");
    let ranked = |kept: &str| {
        let order =
            r#"P.hashtextextended(COALESCE(c.k0::P.text, ''), P.hashint8extended(c.u, $1::P.int8)), c.k0"#;
        let rank = format!(
            r#"e AS (SELECT c.*, P.row_number() OVER (PARTITION BY c.u ORDER BY {order}) AS r FROM c JOIN d ON c.k0 COLLATE P."default" = d.k0 COLLATE P."default"), "#
        );
        format!("{head}{rank}g AS ({counted} FROM e{kept}{last}")
    };
    for kept in ["", " WHERE e.r <= 4"] {
        check(&ranked(kept)).unwrap_err();
    }
    // It is the light units that are in the way.
    let own = ranked(" WHERE e.r <= 4").replacen("SELECT h.u AS u", "SELECT o.c0 AS u", 1);
    let own = own.replacen(" LEFT JOIN h ON h.u = o.c0 AND h.n > 80", "", 1);
    let (d, c) = (own.split_once("h AS (").unwrap().0, own.split_once("c AS (").unwrap().1);
    let own = format!("{d}c AS ({c}").replacen(
        "(CASE WHEN e.u IS NULL THEN e.n0 * 64 ELSE LEAST(e.n0, 80)::P.int4 END)::P.int8",
        "LEAST(e.n0, 80)::P.int4",
        1,
    );
    assert_eq!((linf(&accept(&own)), accept(&own).l0), (vec![80], 4));
}
