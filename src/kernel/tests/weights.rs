//! Groups by weights of their units: one fault in a text at a time.

use super::{accept, check};
use crate::Weights;

/// A later round, by squares; of two keys, one of them a text.
const SQUARES: &str = r#"WITH c AS (SELECT b0."rider_id" AS u, b0."note" AS k0, b0."stars" AS k1 FROM "public"."trips" AS b0 GROUP BY 1, 2, 3), x AS MATERIALIZED (SELECT x0.* FROM ROWS FROM (P.unnest($2::P.text[]), P.unnest($3::P.int2[])) AS x0(k0, k1)), e AS (SELECT c.*, P.row_number() OVER w AS r, P.count(*) OVER v AS t FROM c WHERE NOT EXISTS (SELECT 1 FROM x WHERE ARRAY[c.k0 COLLATE P."default"] = ARRAY[x.k0 COLLATE P."default"] AND ARRAY[c.k1] = ARRAY[x.k1]) WINDOW v AS (PARTITION BY c.u), w AS (PARTITION BY c.u ORDER BY P.hashint8extended(COALESCE(c.k1, 0), P.hashtextextended(COALESCE(c.k0::P.text, ''), P.hashint8extended(c.u, $1::P.int8))), c.k0, c.k1)), g AS (SELECT e.k0, e.k1, COALESCE(P.sum(P.floor(1000000::P.float8 / P.sqrt(LEAST(e.t, 4)::P.float8))::P.int4), 0) AS weight FROM e WHERE e.r <= 4 GROUP BY 1, 2) SELECT g.k0, g.k1, g.weight FROM g"#;

/// A first round, by their sum.
const SUM: &str = r#"WITH c AS (SELECT b0."rider_id" AS u, b0."note" AS k0 FROM "public"."trips" AS b0 GROUP BY 1, 2), e AS (SELECT c.*, P.row_number() OVER w AS r, P.count(*) OVER v AS t FROM c WINDOW v AS (PARTITION BY c.u), w AS (PARTITION BY c.u ORDER BY P.hashtextextended(COALESCE(c.k0::P.text, ''), P.hashint8extended(c.u, $1::P.int8)), c.k0)), g AS (SELECT e.k0, COALESCE(P.sum((1000000 / LEAST(e.t, 4))::P.int4), 0) AS weight FROM e WHERE e.r <= 4 GROUP BY 1) SELECT g.k0, g.weight FROM g"#;

#[test]
fn weights_are_those_of_the_texts() {
    for (sql, keys, weights) in [(SQUARES, 2, Weights::Squares(1_000_000)), (SUM, 1, Weights::Sum(1_000_000))]
    {
        let c = accept(sql);
        assert_eq!((c.keys, c.l0, c.weights), (keys, 4, weights));
        assert!(c.selects && c.seeded && !c.public && c.parts.is_empty());
        // As many groups as are kept.
        let more = accept(&sql.replace(", 4)", ", 70)").replace("<= 4 ", "<= 70 "));
        assert_eq!((more.l0, more.weights), (70, weights));
    }
    // Whichever values were released before, and behind whichever others.
    accept(&SQUARES.replace("$3::", "$8::").replace("$2::", "$7::"));
}

#[test]
fn faults_of_weights_are_refused() {
    let changes: &[(&str, &str, &str)] = &[
        ("more groups than weigh", "e.r <= 4", "e.r <= 5"),
        ("any number of groups", "WHERE e.r <= 4 ", ""),
        ("none", "<= 4", "<= 0"),
        ("weights of fewer groups", "LEAST(e.t, 4)", "LEAST(e.t, 3)"),
        ("weights of one group", "LEAST(e.t, 4)", "1"),
        ("weights by a rank", "LEAST(e.t, 4)", "LEAST(e.r, 4)"),
        ("weights of another whole", "1000000", "2000000"),
        ("rounded up", "P.floor", "P.ceil"),
        ("no root", "P.sqrt(LEAST(e.t, 4)::P.float8)", "LEAST(e.t, 4)::P.float8"),
        ("the square", "P.sqrt(", "P.exp("),
        ("ranks of several units", "w AS (PARTITION BY c.u ORDER BY", "w AS (ORDER BY"),
        ("counts of several units", "v AS (PARTITION BY c.u)", "v AS (PARTITION BY c.k0)"),
        ("counts of all", "P.count(*) OVER v", "1"),
        ("ranks in another window", "OVER w AS r", "OVER v AS r"),
        ("an order that others choose", "ORDER BY P.hash", "ORDER BY c.k0, P.hash"),
        ("an order of no secret", "$1::P.int8", "7::P.int8"),
        ("ties", ", c.k0", ""),
        ("keys left out", "SELECT e.k0, ", "SELECT "),
        ("rows of others", "FROM c WHERE", "FROM c CROSS JOIN c WHERE"),
        (
            "groups that private rows leave out",
            "AS x0(k0, k1))",
            r#"AS x0(k0, k1) JOIN "public"."trips" AS b9 ON true)"#,
        ),
        (
            "groups of private rows",
            "SELECT x0.* FROM ROWS FROM (P.unnest($2::P.text[]), P.unnest($3::P.int2[])) AS x0(k0, k1)",
            r#"SELECT b9."note" AS k0, b9."stars" AS k1 FROM "public"."trips" AS b9"#,
        ),
        ("the seed as groups", "$2::", "$1::"),
        ("groups of another type", "$3::P.int2[]", "$3::P.int8[]"),
        ("parameters out of order", "$3::P.int2[]", "$2::P.int2[]"),
        ("other rows are left out", "WHERE NOT EXISTS (SELECT 1 FROM x", "WHERE NOT EXISTS (SELECT 1 FROM c"),
        ("rows of a unit are left out", "ARRAY[c.k1] = ARRAY[x.k1]", "c.u = x.k1"),
        ("only those that were found", "NOT EXISTS", "EXISTS"),
        ("one key of two", " AND ARRAY[c.k1] = ARRAY[x.k1]", ""),
        ("a number of rows as a weight", "GROUP BY 1, 2, 3)", "GROUP BY 1, 2)"),
        ("another sum", "::P.int4), 0) AS weight", "::P.int4), 0) AS units"),
        ("more comes back", "g.weight FROM g", "g.weight, g.weight FROM g"),
        ("an order", "FROM g", "FROM g ORDER BY 3"),
        ("rows that are not the unit's", r#"SELECT b0."rider_id" AS u"#, r#"SELECT b0."minutes" AS u"#),
    ];
    let mut tried = 0;
    for base in [SQUARES, SUM] {
        for (name, from, to) in changes.iter().filter(|(_, from, _)| base.contains(from)) {
            assert!(check(&base.replacen(from, to, 1)).is_err(), "{name}");
            tried += 1;
        }
    }
    for (name, from, _) in changes {
        assert!(SQUARES.contains(from) || SUM.contains(from), "{name}: no {from}");
    }
    assert!(tried > 45, "{tried}");
    // The same stages beside a domain, or over units that are told apart, have no such meaning.
    let with_domain = SUM.replacen("WITH c", "WITH d AS MATERIALIZED (SELECT x0.k AS k0 FROM (SELECT DISTINCT v.v FROM (VALUES ('day'::P.text)) AS v(v)) AS x0(k)), c", 1);
    assert!(check(&with_domain).is_err());
    // A key whose equals may look different would tell whose spelling comes back.
    let spelled = SUM.replace(r#"b0."note" AS k0"#, r#"b0."fare"::P.numeric AS k0"#);
    assert!(check(&spelled).is_err());
}

/// ⌊w/√s⌋ in double precision is what it is in numbers, and weights keep to their norm, for as many groups as anybody bounds.
#[test]
fn roots_in_double_precision_are_exact() {
    const W: u64 = 1_000_000;
    for s in (1..2_000_000u64).chain([W * W, W * W - 1, (W - 1) * (W - 1), 1 << 39, 3 << 30]) {
        let root = (W as f64 / (s as f64).sqrt()).floor() as u64;
        assert_eq!(root, (W * W / s).isqrt(), "{s}");
        assert!(root * root * s <= W * W && (W / s) * s <= W);
    }
}
