//! What analysts write.

use crate::functions::statements;
use crate::fuzz;
use crate::input::{Corpus, files, kept};

/// The statements of the scripts: lines that begin with `>`, and those that go on behind them.
fn scripts() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for file in files("tests/scripts", &[]) {
        for line in String::from_utf8_lossy(&file).lines() {
            if let Some((kind, sql)) = line.split_once("> ")
                && (kind.is_empty() || kind.starts_with('[') || kind == "!")
            {
                found.push(sql.trim_end_matches('\\').as_bytes().to_vec());
            }
        }
    }
    assert!(found.len() > 300, "{}", found.len());
    found
}

#[test]
fn statements_to_plans_to_proofs() {
    let mut inputs = kept("statements");
    inputs.extend(scripts());
    let words = [
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP BY",
        "HAVING",
        "ORDER BY",
        "LIMIT 1",
        "trips",
        "riders",
        "stations",
        "station",
        "rider_id",
        "fare",
        "minutes",
        "started_at",
        "count(*)",
        "sum(fare)",
        "avg(minutes)",
        "count(DISTINCT rider_id)",
        "max(fare)",
        "NULL",
        "0",
        "-1",
        "1e308",
        "9223372036854775807",
        "''",
        "'a'",
        "AND",
        "OR",
        "NOT",
        "IN (1, 2)",
        "BETWEEN 1 AND 2",
        "CASE WHEN true THEN 1 END",
        "(SELECT count(*) FROM trips)",
        "JOIN riders USING (rider_id)",
        "LEFT JOIN stations USING (station)",
        "UNION ALL",
        "WITH x AS (SELECT 1)",
        "FILTER (WHERE fare > 1)",
        "OVER ()",
        "DISTINCT",
        "::text",
        "::int",
        "||",
        "/",
        "%",
        "*",
        "(",
        ")",
        ",",
        "coalesce(fare, 0)",
        "date_trunc('month', started_at)",
        "extract(dow FROM started_at)",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY fare)",
        "GROUPING SETS ((station), ())",
        "ROLLUP (station)",
        "EXISTS (SELECT 1 FROM trips)",
        "LATERAL",
        "AS t(a, b)",
        "now()",
        "interval '1 day'",
    ];
    let words = words.iter().map(|w| w.as_bytes().to_vec()).collect();
    // As deep as limits.max_depth allows, a statement takes more stack than a test has.
    let fuzzed = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(|| fuzz("statements", Corpus { inputs, words, text: true }, statements));
    let (tried, meant) = fuzzed.unwrap().join().unwrap();
    assert!(meant * 100 > tried, "only {meant} of {tried} statements read private rows");
}
