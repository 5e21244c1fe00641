//! Time of planning alone: of every statement of tests, scripts, documents and the fuzzer's corpus that has a plan over the
//! bicycles, and of one with 120 averages of ages. Prints percentiles, of medians of nine.
//!
//! `cargo bench --bench planning`.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot start should say so and stop")]

#[path = "../tests/plans/mod.rs"]
mod plans;

use noisegate::dp::Ratio;
use noisegate::plan::{self, Settings, Size};
use noisegate::policy::{self, Policy};
use noisegate::schema::Schema;
use noisegate::sql::ast::Statement;
use noisegate::sql::{Kind, classify, parse, resolve};
use std::path::Path;
use std::time::{Duration, Instant};

fn main() {
    let text = include_str!("../config/bikes.toml");
    let raw = policy::parse(text, "config/bikes.toml", Path::new("config")).expect("the policy parses");
    let schema: Schema =
        serde_json::from_str(include_str!("../tests/policy/schema.json")).expect("a snapshot");
    let policy = raw.check(&schema).expect("the policy fits the schema");
    let settings = settings();
    let sizes = sizes(&policy);
    let mut times = Vec::new();
    for sql in plans::statements() {
        let Some(statement) = resolved(&sql, &policy) else { continue };
        let spend = statement.spend.taken();
        let once = || {
            let mut statement = statement.clone();
            statement.spend.back_to(spend);
            let begun = Instant::now();
            let planned = plan::plan(&mut statement, &policy, &settings, &sizes);
            planned.ok().map(|_| begun.elapsed())
        };
        let nine: Option<Vec<Duration>> = (0..9).map(|_| once()).collect();
        times.extend(nine.map(median));
    }
    times.sort_unstable();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    println!("{} statements: p50 {:?}, p90 {:?}, p99 {:?}", times.len(), at(0.5), at(0.9), at(0.99));
    let ages = (0..120)
        .map(|i| format!("avg(age(started_at, timestamp '2000-01-01')) FILTER (WHERE minutes > {i})"));
    let sql = format!("SELECT {} FROM trips", ages.collect::<Vec<_>>().join(", "));
    let statement = resolved(&sql, &policy).expect("resolves");
    let once = || {
        let mut statement = statement.clone();
        let begun = Instant::now();
        let planned = plan::plan(&mut statement, &policy, &settings, &sizes);
        assert!(planned.is_ok(), "{planned:?}");
        begun.elapsed()
    };
    println!("120 averages of ages: {:?}", median((0..9).map(|_| once()).collect()));
}

fn median(mut of: Vec<Duration>) -> Duration {
    of.sort_unstable();
    of.get(of.len() / 2).copied().unwrap_or_default()
}

fn resolved(sql: &str, policy: &Policy) -> Option<Statement> {
    let parsed = parse::parse(sql, &policy.limits).ok()?.pop()?;
    let Kind::Query(query, lines) = classify(parsed).ok()?.kind else { return None };
    resolve::resolve(&query, &lines, policy, &policy.limits).ok()
}

fn settings() -> Settings {
    Settings {
        budgets: vec![("bench".into(), noisegate::dp::Notion::Approx)],
        ..Settings::new(Ratio::new(1, 2), Ratio::new(1, 100_000_000), 4, 8)
    }
}

/// All numbers that a plan may look at.
fn sizes(policy: &Policy) -> plan::Sizes {
    let of_table = |(i, t): (usize, &policy::Table)| {
        let of_column = move |c: &policy::Column| {
            [Size::Distinct(i, c.name.clone()), Size::PerValue(i, c.name.clone())].map(|size| (size, 60))
        };
        t.columns.iter().flat_map(of_column).chain([(Size::Rows(i), 60)]).collect::<Vec<_>>()
    };
    policy.tables.iter().enumerate().flat_map(of_table).collect()
}
