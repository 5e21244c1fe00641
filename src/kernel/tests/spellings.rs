//! Rule 48: what a unit adds follows from the bytes of its rows, and equal is not the same.

use super::{accept, check, long, refused};

/// Adds up a column of a derived table, clamped to 100, over one row for each unit or many.
fn summed(of: &str, x: &str) -> String {
    format!(
        "WITH c AS (SELECT b9.c0 AS u, P.count(*) AS n0, COALESCE(P.sum((LEAST(GREATEST(P.round(({x})::P.numeric), 0), 100))::P.int4), 0) AS s0 FROM ({of}) AS b9(c0, c1) GROUP BY 1), g AS (SELECT COALESCE(P.sum((LEAST(GREATEST(c.s0, 0), 100))::P.int4), 0) AS a0 FROM c) SELECT g.a0 FROM g"
    )
}

/// A column of `devices` by an aggregate over each unit.
fn over_unit(call: &str) -> String {
    format!(r#"SELECT b0."rider_id", {call} FROM "public"."devices" AS b0 GROUP BY 1"#)
}

/// A window over the rows of each unit, and what stands beside it.
fn windowed(item: &str, call: &str, order: &str) -> String {
    format!(
        r#"SELECT b0."rider_id", {item}, ({call} OVER (PARTITION BY b0."rider_id" ORDER BY {order}))::P.int8 FROM "public"."devices" AS b0"#
    )
}

/// Counts the first rows by a window; `x` is looked at besides.
fn first(item: &str, order: &str, x: &str) -> String {
    let of = windowed(item, "P.row_number()", order);
    format!(
        "WITH c AS (SELECT b9.c0 AS u, P.count(*) AS n0, COALESCE(P.sum((LEAST(GREATEST(P.round(({x})::P.numeric), 0), 100))::P.int4), 0) AS s0 FROM ({of}) AS b9(c0, c1, c2) WHERE (b9.c2 <= 3) GROUP BY 1), g AS (SELECT COALESCE(P.sum((LEAST(GREATEST(c.s0, 0), 100))::P.int4), 0) AS a0 FROM c) SELECT g.a0 FROM g"
    )
}

#[test]
fn rule_48_sums_of_a_unit_are_exact() {
    for call in [
        r#"P.sum(b0."battery")"#,
        r#"P.avg(b0."battery")"#,
        r#"P.sum(b0."signal")"#,
        r#"P.stddev((b0."slot")::P.float8)"#,
        r#"P.var_pop(b0."battery")"#,
        r#"P.sum((b0."slot" * 0.5::P.float8))"#,
        r#"P.sum(P.age('2024-01-01'::P.timestamp, '2023-01-01'::P.timestamp))"#,
    ] {
        refused(call, &summed(&over_unit(call), "b9.c1"), "in another order");
    }
    // Equal values count once, and which of them does shows in the digits of a quotient.
    refused("avg", &summed(&over_unit(r#"P.avg(DISTINCT b0."version")"#), "b9.c1"), "look different");
    for call in [
        r#"P.sum((b0."battery")::P.numeric)"#,
        r#"P.avg((b0."battery")::P.numeric)"#,
        r#"P.sum(b0."version")"#,
        r#"P.stddev(b0."slot")"#,
        r#"P.avg(DISTINCT P.trim_scale(b0."version"))"#,
        r#"P.avg(DISTINCT b0."slot")"#,
        r#"P.max(b0."battery")"#,
        r#"P.min(b0."version")"#,
    ] {
        accept(&summed(&over_unit(call), "b9.c1"));
    }
    // So do windows.
    let window = |call: &str| {
        format!(
            r#"SELECT b0."rider_id", {call} OVER (PARTITION BY b0."rider_id" ORDER BY b0."slot") FROM "public"."devices" AS b0"#
        )
    };
    refused("a window", &summed(&window(r#"P.sum(b0."battery")"#), "b9.c1"), "in another order");
    accept(&summed(&window(r#"P.sum((b0."battery")::P.numeric)"#), "b9.c1"));
}

#[test]
fn rule_48_one_of_several_spellings_is_not_looked_at() {
    let maximum = |x: &str| over_unit(&format!("P.max({x})"));
    let (version, battery) = (maximum(r#"b0."version""#), maximum(r#"b0."battery""#));
    let grouped = r#"SELECT b0."rider_id", b0."version" FROM "public"."devices" AS b0 GROUP BY 1, 2"#;
    let union = r#"(SELECT b0."rider_id", b0."version" FROM "public"."devices" AS b0) UNION (SELECT b1."rider_id", (b1."slot")::P.numeric FROM "public"."devices" AS b1)"#;
    for of in [
        version.as_str(),
        grouped,
        union,
        &union.replace("UNION", "EXCEPT"),
        &union.replace("UNION", "INTERSECT ALL"),
    ] {
        for x in [
            "P.length((b9.c1)::P.text)",
            "b9.c1 / 3",
            "P.sqrt(b9.c1)",
            "P.power(b9.c1, 2)",
            "P.width_bucket(b9.c1, 0, 10, 5)",
            "CASE WHEN b9.c1 > 0 THEN b9.c1 ELSE 1 END / 7",
            "(b9.c1 * 2 + 1) / 7",
            "P.pg_column_size(b9.c1)",
        ] {
            refused(x, &summed(of, x), "look different");
        }
        for x in [
            "b9.c1",
            "b9.c1 * 2 + 1",
            "P.trim_scale(b9.c1) / 3",
            "P.round(b9.c1, 4) / 3",
            "P.floor(b9.c1) / 3",
            "CASE WHEN b9.c1 IN (1, 2) THEN 1 ELSE 0 END",
            "P.length((P.trim_scale(b9.c1))::P.text)",
            "(b9.c1)::P.int4 / 3",
        ] {
            accept(&summed(of, x));
        }
    }
    // In one form from the beginning, or since nothing is merged.
    for of in [
        maximum(r#"P.trim_scale(b0."version")"#),
        grouped.replace(r#"b0."version""#, r#"P.trim_scale(b0."version")"#),
        union.replace("UNION", "UNION ALL"),
    ] {
        accept(&summed(&of, "b9.c1 / 3"));
    }
    // Branches each in one form, and in two.
    let both = r#"(SELECT b0."rider_id", P.trim_scale(b0."version") FROM "public"."devices" AS b0) UNION (SELECT b1."rider_id", P.round(b1."version", 2) FROM "public"."devices" AS b1)"#;
    refused("two forms", &summed(both, "b9.c1 / 3"), "look different");
    for x in ["P.length((b9.c1)::P.text)", "P.atan2(b9.c1, (-1)::P.float8)"] {
        refused(x, &summed(&battery, x), "look different");
    }
    accept(&summed(&battery, "P.float8smaller(P.float8larger(NULLIF((b9.c1)::P.float8, 'NaN'), 0), 5)"));
    accept(&summed(&battery, "(b9.c1)::P.numeric / 3"));
    refused(
        "as it is stored",
        &summed(
            r#"SELECT b0."rider_id", b0."version" FROM "public"."devices" AS b0"#,
            "P.pg_column_size(b9.c1)",
        ),
        "look different",
    );
    // Types of which nothing is known, and collations: such a value is not looked at in any way.
    let payload = r#"SELECT b0."rider_id", b0."payload" FROM "public"."app_events" AS b0 GROUP BY 1, 2"#;
    let place = r#"SELECT b0."rider_id", b0."place" FROM "public"."visits" AS b0 WHERE b0."rider_id" IS NOT NULL GROUP BY 1, 2"#;
    let code = r#"SELECT b0."rider_id", b0."code" FROM "public"."devices" AS b0 GROUP BY 1, 2"#;
    for (of, x) in [
        (payload, "P.length((b9.c1)::P.text)"),
        (payload, "P.pg_column_size(b9.c1)"),
        (place, "P.length(b9.c1)"),
        (place, "CASE WHEN b9.c1 = 'a'::P.text THEN 1 ELSE 0 END"),
        (code, "P.octet_length(b9.c1)"),
        (code, "P.length((b9.c1)::P.text)"),
    ] {
        refused(x, &summed(of, x), "look different");
    }
    accept(&summed(code, "CASE WHEN b9.c1 = 'a'::P.bpchar THEN 1 ELSE 0 END"));
}

/// A private key that shows the spelling, which whoever comes first decides.
#[test]
fn rule_48_keys_do_not_show_a_spelling() {
    let of = |key: &str| {
        format!(
            r#"WITH c AS (SELECT b9.c0 AS u, {key} AS k0, P.count(*) AS n0 FROM ({}) AS b9(c0, c1) GROUP BY 1, 2), g AS (SELECT c.k0, P.count(*) AS units, COALESCE(P.sum(LEAST(c.n0, 20)::P.int4), 0) AS a0 FROM c GROUP BY 1) SELECT g.k0, g.units, g.a0 FROM g"#,
            over_unit(r#"P.max(b0."version")"#)
        )
    };
    refused("max as text", &of("(b9.c1)::P.text"), "look different");
    accept(&of("(P.trim_scale(b9.c1))::P.text"));
    accept(&of("CASE WHEN b9.c1 > 3 THEN 'a'::P.text ELSE 'b'::P.text END"));
    accept(&of("P.trim_scale(b9.c1)"));
}

#[test]
fn rule_48_ties_are_told_apart_by_bytes() {
    let devices = |order: &str| format!(r#"b0."slot", {order}"#);
    for (item, order, x) in [
        // A text of a float may have any number of digits.
        (r#"b0."battery""#, r#"b0."battery"::P.text"#, "b9.c1"),
        (r#"b0."signal""#, r#"(b0."signal")::P.text"#, "b9.c1"),
        // Blanks at the end are cut off.
        (r#"P.octet_length(b0."code")"#, r#"(b0."code")::P.text"#, "b9.c1"),
        // 1.0 and 1.00 tie.
        (r#"P.length((b0."version")::P.text)"#, r#"b0."version""#, "b9.c1"),
        (r#"b0."version""#, r#"b0."version""#, "b9.c1 / 3"),
        (r#"b0."version""#, r#"b0."battery""#, "b9.c1"),
        (r#"P.length((b0."battery")::P.text)"#, r#"b0."battery""#, "b9.c1"),
    ] {
        let sql = first(item, &devices(order), x);
        assert!(check(&sql).is_err(), "{item} by {order}: {}", long(&sql));
    }
    for (item, order, x) in [
        (r#"b0."battery""#, r#"b0."battery""#, "b9.c1"),
        (r#"b0."version""#, r#"b0."version""#, "b9.c1"),
        (r#"b0."version""#, r#"b0."version"::P.text"#, "b9.c1 / 3"),
        (r#"P.trim_scale(b0."version")"#, r#"b0."version""#, "b9.c1 / 3"),
        (r#"b0."serial""#, r#"b0."serial""#, "b9.c1 / 3"),
        (r#"CASE WHEN b0."code" = 'a'::P.bpchar THEN 1 ELSE 0 END"#, r#"b0."code""#, "b9.c1"),
    ] {
        accept(&first(item, &devices(order), x));
    }
    // Texts that a collation takes for equal have texts that it takes for equal.
    let visits = |order: &str| {
        first(r#"P.length(b0."place")"#, order, "b9.c1")
            .replace(r#""devices" AS b0"#, r#""visits" AS b0 WHERE b0."rider_id" IS NOT NULL"#)
    };
    for order in [r#"b0."place""#, r#"b0."place"::P.text"#, r#"P.lower(b0."place")"#] {
        refused(order, &visits(order), "leaves rows of a unit open");
    }
    accept(&visits(r#"b0."place" COLLATE P."default""#));
    // Sums over frames of rows, and what is counted there.
    let framed = |call: &str, order: &str| {
        format!(
            r#"SELECT b0."rider_id", ({call} OVER (PARTITION BY b0."rider_id" ORDER BY {order} ROWS 1 PRECEDING))::P.numeric FROM "public"."devices" AS b0"#
        )
    };
    refused(
        "an average",
        &summed(&framed(r#"P.avg(b0."version")"#, r#"b0."version""#), "b9.c1"),
        "look different",
    );
    accept(&summed(&framed(r#"P.sum(b0."version")"#, r#"b0."version""#), "b9.c1"));
    accept(&summed(&framed(r#"P.avg(b0."version")"#, r#"b0."version"::P.text"#), "b9.c1 / 3"));
    accept(&summed(&framed(r#"P.count(b0."code")"#, r#"(b0."code" IS NULL)"#), "b9.c1"));
    refused("another", &summed(&framed(r#"P.count(b0."code")"#, r#"(b0."kind" IS NULL)"#), "b9.c1"), "open");
}

/// A key tells its row under its own collation: another finds several.
#[test]
fn rule_48_equalities_that_a_proof_rests_on_are_of_bytes() {
    let of = |on: &str| {
        format!(
            r#"WITH g AS (SELECT P.count(*) AS a0 FROM "public"."homes" AS b2 JOIN "public"."riders" AS b0 ON (b2."rider_id" = b0."rider_id") JOIN "public"."stations" AS b1 ON ({on})) SELECT g.a0 FROM g"#
        )
    };
    for on in [
        r#"b1."station" = b2."place""#,
        r#"b2."place" = b1."station""#,
        r#"b1."station" = P.lower(b2."place")"#,
        r#"b1."station" = CASE WHEN (b0."birth_year" > 3) THEN b2."place" ELSE 'a'::P.text END"#,
        r#"b1."station" = COALESCE(b2."place", 'a'::P.text)"#,
        r#"b1."station" = (b2."place")::P.text"#,
    ] {
        refused(on, &of(on), "few for each unit");
    }
    accept(&of(r#"b1."station" = b2."place" COLLATE P."default""#));
    accept(&of(r#"b1."station" = b0."plan""#));
}

/// A char(n) is its text without the blanks at the end: a key of such values finds one row by that text, and by no other.
#[test]
fn rule_48_padded_keys_are_found_by_their_text() {
    let of = |table: &str, on: &str| {
        format!(
            r#"WITH g AS (SELECT P.count(*) AS a0 FROM "public"."devices" AS b0 JOIN "public"."{table}" AS b1 ON ({on}) WHERE (b0."rider_id" = 1) AND (b0."slot" = 1)) SELECT g.a0 FROM g"#
        )
    };
    let text = r#"(b0."code")::P.text = (b1."code")::P.text"#;
    accept(&of("codes", text));
    accept(&of("codes", r#"(b1."code")::P.text = 'a1'::P.text"#));
    for (table, on) in [
        ("labels", text),
        ("codes", r#"(b0."code")::P.text = P.lower((b1."code")::P.text)"#),
        ("codes", r#"P.left((b0."code")::P.text, 1) = P.left((b1."code")::P.text, 1)"#),
    ] {
        assert!(check(&of(table, on)).is_err(), "{table}: {on}");
    }
}

/// Which groups of a unit are kept follows from what a key equals, and not from how it is written.
#[test]
fn rule_48_ranks_are_of_values() {
    let of = |key: &str, hash: &str, domain: &str| {
        format!(
            r#"WITH d AS MATERIALIZED (SELECT x0.k AS k0 FROM ({domain}) AS x0(k)), c AS (SELECT b0."rider_id" AS u, {key} AS k0, P.count(*) AS n0 FROM "public"."devices" AS b0 GROUP BY 1, 2), e AS (SELECT c.*, P.row_number() OVER (PARTITION BY c.u ORDER BY {hash}, c.k0) AS r FROM c JOIN d ON c.k0 = d.k0), g AS (SELECT e.k0, COALESCE(P.sum(LEAST(e.n0, 20)::P.int4), 0) AS a0 FROM e WHERE e.r <= 4 GROUP BY 1) SELECT d.k0, COALESCE(g.a0, 0) AS a0 FROM d LEFT JOIN g ON g.k0 = d.k0 ORDER BY 1"#
        )
    };
    let text = "P.hashtextextended(COALESCE(c.k0::P.text, ''), P.hashint8extended(c.u, $1::P.int8))";
    let trimmed =
        "P.hashtextextended(COALESCE(P.trim_scale(c.k0)::P.text, ''), P.hashint8extended(c.u, $1::P.int8))";
    let float = "P.hashfloat8extended(COALESCE(c.k0, 0), P.hashint8extended(c.u, $1::P.int8))";
    let constants =
        |ty: &str| format!("SELECT DISTINCT v.v FROM (VALUES ('1'::P.{ty}), ('2'::P.{ty})) AS v(v)");
    let (version, battery) = (r#"b0."version""#, r#"b0."battery""#);
    assert!(check(&of(version, text, &constants("numeric"))).is_err());
    assert!(check(&of(battery, text, &constants("float8"))).is_err());
    assert_eq!(accept(&of(version, trimmed, &constants("numeric"))).l0, 2);
    assert_eq!(accept(&of(battery, float, &constants("float8"))).l0, 2);
    // Of such a type no key is ranked.
    let code = of(r#"b0."code""#, text, &constants("bpchar"));
    assert!(check(&code).is_err());
}

/// The ends of a clamp are those of its operand's type: 1000000033 is 1000000064 as a real.
#[test]
fn rule_48_ends_are_exact_in_the_type_of_what_is_clamped() {
    let of = |x: &str, high: &str| {
        format!(
            r#"WITH g AS (SELECT COALESCE(P.sum((LEAST(GREATEST({x}, 0), {high}))::P.int8), 0) AS a0 FROM "public"."devices" AS b0 WHERE (b0."rider_id" = 1) AND (b0."slot" = 1)) SELECT g.a0 FROM g"#
        )
    };
    let signal = r#"b0."signal""#;
    let battery = r#"b0."battery""#;
    for (x, high) in [
        (signal, "1000000033"),
        (signal, "16777217"),
        (battery, "9007199254740993"),
        (r#"COALESCE(b0."signal", b0."signal")"#, "1000000033"),
        (r#"CASE WHEN (b0."slot" > 1) THEN b0."signal" ELSE 3 END"#, "1000000033"),
        // Of a type that is not known.
        (r#"b0."kind""#, "5"),
    ] {
        refused(x, &of(x, high), "no clamp bounds");
    }
    for (x, high) in [
        (signal, "16777216"),
        (battery, "9007199254740992"),
        (r#"b0."serial""#, "1000000033"),
        (r#"b0."version""#, "1000000000000000001"),
        (r#"(b0."signal")::P.numeric"#, "1000000033"),
    ] {
        accept(&of(x, high));
    }
}
