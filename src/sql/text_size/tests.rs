#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use crate::Kind;

/// What a statement may take, and whether that is refused with the usual limits.
fn size(sql: &str, parameters: Option<&[usize]>) -> Result<(), String> {
    let limits = Limits::default();
    let parsed = crate::parse::parse(sql, &limits).unwrap_or_else(|e| panic!("{sql}: {e:?}")).pop().unwrap();
    let Kind::Query(query, lines) = crate::classify(parsed).unwrap().kind else { panic!("{sql}") };
    check(&query, &lines, parameters, &limits).map_err(|e| e.message)
}

/// `replace` of `replace` …, so many times.
fn nested(times: usize) -> String {
    let many = "a".repeat(40);
    (0..times).fold(format!("'{many}'"), |text, _| format!("replace({text}, 'a', '{many}')"))
}

#[test]
fn what_people_write_is_taken() {
    for sql in [
        "SELECT 1",
        "SELECT replace(station, 'Station', 'Stop') || ' in ' || upper(city) FROM stations",
        "SELECT string_agg(station, ', ' ORDER BY station) FROM stations",
        "SELECT string_agg(t.names, E'\\n') FROM (SELECT city, string_agg(station, ', ') AS names FROM stations GROUP BY city) t",
        "SELECT city, count(*), round(avg(capacity), 2), power(avg(capacity), 2) FROM stations GROUP BY 1 ORDER BY 2 DESC",
        "SELECT to_char(now(), 'YYYY-MM-DD HH24:MI:SS'), 'x'::char(10), 'y'::varchar(200)",
        "SELECT format('%s is %5s of %I', a, b, c) FROM (VALUES ('x', 'y', 'z')) AS v(a, b, c)",
        "WITH RECURSIVE t(n, path) AS (SELECT 1, 'a' UNION ALL SELECT n + 1, path || '/' || n FROM t WHERE n < 9) SELECT * FROM t",
        "WITH RECURSIVE t(a, b) AS (SELECT 'a', 'b' UNION ALL SELECT b || 'c', a FROM t) SELECT a FROM t",
        "WITH a AS (SELECT station || city AS x FROM stations) SELECT x || x FROM a",
        "SELECT quote_literal(quote_ident(station)) FROM stations",
        "SELECT string_agg(n::text, ',') FROM generate_series(1, 10000) AS n",
        "SELECT string_agg(a.attname, ', ') FROM x, generate_series(0, array_upper(x.prattrs::int2[], 1)) s, a",
        "SELECT string_agg(d::text, ',') FROM generate_series(date '2024-01-01', date '2024-12-31', '1 day') AS d",
        "SELECT array_to_string(array_agg(station), ', ') FROM stations",
    ] {
        size(sql, None).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let long = (0..300).map(|_| "station").collect::<Vec<_>>().join(" || ");
    size(&format!("SELECT {long} FROM stations"), None).unwrap();
    let sum = (0..950).map(|_| "capacity").collect::<Vec<_>>().join(" + ");
    size(&format!("SELECT {sum} FROM stations"), None).unwrap();
}

#[test]
fn what_grows_is_refused() {
    let doubled =
        (0..30).fold("SELECT 'a' AS s".to_owned(), |q, _| format!("SELECT s || s AS s FROM ({q}) t"));
    let quoted = (0..30).fold("'a'''".to_owned(), |text, _| format!("quote_literal({text})"));
    let with = (1..30).fold("WITH t0 AS (SELECT 'a' AS s)".to_owned(), |q, n| {
        format!("{q}, t{n} AS (SELECT concat(s, s) AS s FROM t{})", n - 1)
    });
    for sql in [
        format!("SELECT {}", nested(4)),
        format!("SELECT length({})", nested(4)),
        format!("SELECT count(*) FROM stations WHERE {} = city", nested(4)),
        format!("SELECT city, count(*) FROM stations GROUP BY city HAVING count(*) > length({})", nested(4)),
        format!("SELECT (SELECT {})", nested(4)),
        format!("SELECT 1 ORDER BY {}", nested(4)),
        format!("SELECT 1 LIMIT length({})", nested(4)),
        format!("SELECT x FROM generate_series(1, length({})) AS x", nested(4)),
        format!("VALUES ({})", nested(4)),
        format!("SELECT 1 FROM stations GROUP BY ROLLUP ({}, 1)", nested(4)),
        format!("SELECT sum(length({})) OVER (PARTITION BY {}) FROM stations", nested(1), nested(4)),
        format!("SELECT CASE WHEN true THEN {} ELSE '' END", nested(4)),
        format!("SELECT a.b FROM (SELECT {} AS b) AS a(c) CROSS JOIN (SELECT {} AS b) AS d", nested(2), nested(4)),
        // Through what is computed further in, by other names.
        format!("SELECT replace(z, 'a', z) FROM (SELECT {} AS x) AS t(z)", nested(2)),
        format!("SELECT replace(t.x, 'a', t.x) FROM (SELECT *, 1 FROM (SELECT {} AS x) s) AS t", nested(2)),
        format!("SELECT replace(t.column1, 'a', column1) FROM (VALUES ({})) AS t", nested(2)),
        format!("SELECT replace(a, 'a', a) FROM unnest(ARRAY[{}]) AS a", nested(2)),
        format!("WITH a AS (SELECT {} AS x) SELECT replace(x, 'a', x) FROM a UNION SELECT ''", nested(2)),
        doubled,
        format!("SELECT {quoted}"),
        format!("{with} SELECT s FROM t29"),
        "SELECT format('%100000000s', 'a')".into(),
        "SELECT format('%*s', 100000000, 'a')".into(),
        "SELECT format(f, 'a') FROM (SELECT '%100000000s' AS f) t".into(),
        "SELECT 'a'::char(50000000)".into(),
        format!("SELECT ARRAY[{}1]::char(60000)[]", "1, ".repeat(200)),
        "WITH RECURSIVE t(s) AS (SELECT 'a' UNION ALL SELECT s || s FROM t) SELECT max(length(s)) FROM t".into(),
        "WITH RECURSIVE t(a, b) AS (SELECT 'a', 'b' UNION ALL SELECT b || 'c', a || a FROM t) SELECT a FROM t".into(),
        "WITH RECURSIVE t AS (SELECT 'a' AS s UNION ALL SELECT concat(x.s, y.s) FROM t x, t y) SELECT s FROM t".into(),
        "SELECT string_agg(replace('aaaaaaaaaa', 'a', 'aaaaaaaaaa'), '') FROM generate_series(1, 200000)".into(),
        "SELECT string_agg('aaaaaaaaaa', '') FROM generate_series(1, '1000000000'::int)".into(),
        "SELECT string_agg('aaaaaaaaaa', '') FROM generate_series(1, 1000 * 1000)".into(),
        "SELECT string_agg('aaaaaaaaaa', '') FROM generate_series(1, $1)".into(),
        "SELECT string_agg('aaaaaaaaaa', '') FROM stations, generate_series(1, abs(capacity * 1000))".into(),
        "SELECT string_agg(s, '') FROM (SELECT 'aaaaaaaaaaaaaaaaaaaa' AS s FROM generate_series(1, 1000) a, \
         generate_series(-500, 500) b) t"
            .into(),
        "SELECT string_agg(s, '') FROM (SELECT string_agg(s, '') AS s FROM (SELECT string_agg(s, '') AS s FROM \
         (SELECT string_agg(station, '') AS s FROM stations) a, stations) b, stations) c, stations"
            .into(),
    ] {
        let refused = size(&sql, None).expect_err(&sql);
        let grown = refused.starts_with("the texts of ") || refused.contains("max_expressions");
        assert!(grown, "{sql}: {refused}");
    }
}

#[test]
fn values_of_parameters_count_by_their_length() {
    let sql = "SELECT replace($1, 'a', $2)";
    size(sql, None).unwrap();
    size(sql, Some(&[100, 100])).unwrap();
    size(sql, Some(&[100_000, 100_000])).unwrap_err();
}

#[test]
fn what_grows_where_subqueries_are_put_into_each_other_is_refused() {
    let nested = |pattern: &str, times: usize| {
        (0..times).fold("SELECT capacity AS x FROM stations".to_owned(), |q, _| {
            pattern.replace("(q)", &format!("({q})"))
        })
    };
    for pattern in [
        "SELECT x * 0 + x * 0 AS x FROM (q) t",
        "SELECT x BETWEEN x AND x AS x FROM (q) t",
        "SELECT CASE x WHEN 1 THEN 1 WHEN 2 THEN 2 END AS x FROM (q) t",
        "SELECT CASE WHEN x = 1 THEN x ELSE 0 END AS x FROM (q) t",
        "SELECT coalesce(x, x) AS x FROM (q) t",
        "SELECT x = ANY (ARRAY[x]) AS x FROM (q) t",
        "SELECT x IN (x, 1) AS x FROM (q) t",
        "SELECT (SELECT x + x) AS x FROM (q) t",
        "SELECT t.x || t.x AS x FROM (q) AS t(x)",
        "SELECT (t.x, t.x)::text AS x FROM (q) t",
        "SELECT t::text AS x FROM (SELECT x, x AS y FROM (q) s) t",
        "WITH w AS (q) SELECT x + x AS x FROM w",
        "SELECT *, * FROM (q) t",
        "SELECT t.*, t.* FROM (q) t",
    ] {
        size(&nested(pattern, 3), None).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        let refused = size(&nested(pattern, 24), None).expect_err(pattern);
        assert!(refused.contains("max_expressions"), "{pattern}: {refused}");
    }
    let between = (0..24).fold("1".to_owned(), |e, _| format!("({e} BETWEEN 0 AND 1)"));
    assert!(size(&format!("SELECT {between}"), None).unwrap_err().contains("max_expressions"));
    // A condition above many branches stands in each of them.
    let union = vec!["SELECT station FROM stations"; 300].join(" UNION ALL ");
    let condition = vec!["station = 'a'"; 100].join(" OR ");
    let refused = size(&format!("SELECT 1 FROM ({union}) t WHERE {condition}"), None).unwrap_err();
    assert!(refused.contains("max_expressions"), "{refused}");
    size(&format!("SELECT 1 FROM ({union}) t WHERE station = 'a'"), None).unwrap();
}
