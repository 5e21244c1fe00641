//! Parse, plan and emit time of ten statements, each on its own. Aim: under 200 µs each.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot start should say so and stop")]

use criterion::{Criterion, criterion_group, criterion_main};
use noisegate::dp::Ratio;
use noisegate::emit::fetch;
use noisegate::emit::print::{self, Constants};
use noisegate::plan::{self, Settings};
use noisegate::policy::{self, Policy};
use noisegate::schema::Schema;
use noisegate::sql::{Kind, classify, parse, resolve};
use std::hint::black_box;
use std::path::Path;

const STATEMENTS: [(&str, &str); 10] = [
    ("count", "SELECT count(*) FROM trips"),
    ("station", "SELECT station, count(*), avg(fare) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 5"),
    ("city", "SELECT city, count(*) FROM riders GROUP BY city HAVING count(*) > 100"),
    ("month", "SELECT date_trunc('month', started_at), sum(fare), count(*) FROM trips GROUP BY 1 ORDER BY 1"),
    (
        "join",
        "SELECT s.city, sum(t.fare), avg(t.minutes) FROM trips t JOIN stations s ON s.station = t.station WHERE t.minutes BETWEEN 5 AND 60 GROUP BY s.city",
    ),
    ("bins", "SELECT floor(fare / 5) * 5 AS bin, count(*) FROM trips GROUP BY bin"),
    (
        "case",
        "SELECT CASE WHEN minutes < 10 THEN 'short' WHEN minutes < 30 THEN 'medium' ELSE 'long' END AS kind, count(*), sum(fare * minutes) FROM trips GROUP BY kind",
    ),
    (
        "cte",
        "WITH m AS (SELECT date_trunc('month', started_at) AS m, count(*) AS n FROM trips GROUP BY 1) SELECT m, n, n - lag(n) OVER (ORDER BY m) FROM m",
    ),
    (
        "superset",
        "SELECT station AS \"station\", COUNT(*) AS \"count\", SUM(CASE WHEN fare > 10 THEN 1 ELSE 0 END) AS \"expensive\" FROM (SELECT * FROM trips WHERE started_at >= '2024-01-01') AS virtual_table WHERE station IN ('Alder Hill Harbour', 'Eastport Riverside', 'Norwick University') GROUP BY station ORDER BY \"count\" DESC LIMIT 1000",
    ),
    (
        "filter",
        "SELECT count(*) FILTER (WHERE extract(dow FROM started_at) IN (0, 6)), count(DISTINCT rider_id), avg(LEAST(GREATEST(minutes, 1), 120)) FROM trips WHERE station LIKE 'A%' OR station LIKE '%Harbour'",
    ),
];

fn way(sql: &str, policy: &Policy, settings: &Settings, sizes: &plan::Sizes, c: &Constants) -> usize {
    let mut length = 0;
    for parsed in parse::parse(sql, &policy.limits).expect("parses") {
        let Kind::Query(query, lines) = classify(parsed).expect("is a query").kind else {
            panic!("is a query")
        };
        let mut statement = resolve::resolve(&query, &lines, policy, &policy.limits).expect("resolves");
        let plan = plan::plan(&mut statement, policy, settings, sizes).expect("plans");
        length += print::typed(&plan.statement, policy, c).sql.len();
        length += plan.releases.iter().map(|r| fetch::fetch(r, policy).sql.len()).sum::<usize>();
        length += print::finish(&plan, policy, c, &[]).0.sql.len();
    }
    length
}

fn plan_and_emit(c: &mut Criterion) {
    let text = include_str!("../config/bikes.toml");
    let raw = policy::parse(text, "config/bikes.toml", Path::new("config")).expect("the policy parses");
    let schema: Schema =
        serde_json::from_str(include_str!("../tests/policy/schema.json")).expect("a snapshot");
    let policy = raw.check(&schema).expect("the policy fits the schema");
    let settings = Settings {
        budgets: vec![("bench".into(), noisegate::dp::Notion::Approx)],
        ..Settings::new(Ratio::new(1, 2), Ratio::new(1, 100_000_000), 4, 8)
    };
    let sizes: plan::Sizes = policy
        .tables
        .iter()
        .enumerate()
        .flat_map(|(i, t)| t.columns.iter().map(move |c| (plan::Size::Distinct(i, c.name.clone()), 60)))
        .collect();
    let constants = Constants {
        now: "2026-01-01 00:00:00+00".into(),
        user: "ada".into(),
        database: "bikes".into(),
        schema: Some("public".into()),
        own: Vec::new(),
    };
    let mut group = c.benchmark_group("parse+plan+emit");
    for (name, sql) in STATEMENTS {
        group
            .bench_function(name, |b| b.iter(|| way(black_box(sql), &policy, &settings, &sizes, &constants)));
    }
    group.finish();
}

criterion_group!(benches, plan_and_emit);
criterion_main!(benches);
