//! The sensitivity recorder: what one unit really changes, against what the plan says it can.
//!
//! Schemas of one family, rows made to hurt, and generated statements. Each statement's fetch runs, without noise, on
//! a database and on its neighbours: in a transaction all rows of one unit are deleted, the fetch runs again, and the
//! deletion is undone. A unit may change each released integer by its declared l∞ in at most l0 groups, and no fetch
//! may fail on any of these databases. In the neighbours rows lie in another order on disk, and are read by other plans
//! (`ways`); the same rows in another order must give the same answer.
//!
//! Expressions of statements are drawn from the samples of the allow-list (`samples`), their constants from ties of grids,
//! ends of types and of ranges, and days on which zones jump.
//!
//! `certified` has the kernel alone judge the same statements, without their rows. `questions` are those of streams, and of choices among
//! groups; `huge` has a unit with more rows than all others together.
//!
//! `NOISEGATE_RECORDER_PAIRS` sets how many query–neighbour pairs are tried, `NOISEGATE_RECORDER_SEED` what they are
//! drawn from, and `NOISEGATE_RECORDER_CASE` runs one case of a failure again. `NOISEGATE_RECORDER_FAILURES` is after how
//! many failures the search ends, and `NOISEGATE_RECORDER_SHRINK=off` leaves their statements as they are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod canonical;
mod certified;
mod chosen_bounds;
mod data;
mod entries;
mod exact;
mod found;
mod harness;
mod huge;
mod light;
mod mutants;
#[path = "../plans/mod.rs"]
mod plans;
mod profiles;
mod query;
mod questions;
mod rng;
mod rounds;
mod samples;
#[path = "../support/mod.rs"]
mod support;
mod ways;
#[path = "../worst/mod.rs"]
mod worst;
mod written_down;

use data::Variant;
use harness::{Claim, Lab, Refusal, Use, settings};
use noisegate::plan::Settings;
use rng::Rng;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use ways::{Ways, shows_texts};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|v| v.parse().unwrap_or_else(|e| panic!("{name}={v}: {e}")))
}

/// Pairs in all, of which each of the four variants takes its part.
fn pairs() -> u64 {
    number("NOISEGATE_RECORDER_PAIRS").unwrap_or(20_000).div_ceil(4)
}

/// What is drawn from, unless it is said.
const SEED: u64 = 20_260_401;

fn seed() -> u64 {
    number("NOISEGATE_RECORDER_SEED").unwrap_or(SEED)
}

/// Of the last, see [`query::jumping`].
const ZONES: [&str; 12] = [
    "UTC",
    "UTC",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Europe/Berlin",
    "Pacific/Kiritimati",
    "America/New_York",
    "Asia/Kathmandu",
    "Antarctica/Troll",
    "+15:59",
    "-15:59",
    query::JUMPS,
];

/// One of the variants has found as many failures as were asked for: the others need not go on.
static ENOUGH: AtomicBool = AtomicBool::new(false);

/// Statements that are recorded together: in one zone, over the same neighbours.
const BATCH: u64 = 20;
/// Fetches that are sent at once.
const AT_ONCE: usize = 24;

/// A statement and how it is run.
struct Case {
    number: u64,
    query: query::Query,
    groups: u32,
    rows: u32,
}

impl Case {
    fn drawn(seed: u64, number: u64, zone: &str, samples: &samples::Samples) -> Self {
        let mut rng = Rng::of_case(seed, number);
        let (groups, rows) = (rng.between(1, 5) as u32, rng.between(1, 6) as u32);
        // Some with bounds that many units keep to, so that these are told from others.
        let rows = if number % 3 == 2 { rows * 8 } else { rows };
        let query = match zone {
            query::JUMPS => query::jumping(&mut rng, samples),
            _ => query::query(&mut rng, samples, false),
        };
        Self { number, query, groups, rows }
    }

    /// What went wrong, and how it is run again. `tests/mutations` reads this.
    fn told(&self, what: &str, done: u64, v: Variant, around: &str) -> String {
        format!(
            "{what}\n  after {done} pairs of {v:?}\n  case: NOISEGATE_RECORDER_SEED={} NOISEGATE_RECORDER_CASE={} \
             (max_groups {}, max_rows {}, {around})\n  statement: {}\n",
            seed(),
            self.number,
            self.groups,
            self.rows,
            self.query.sql
        )
    }
}

/// What a batch of cases has in common.
fn around(seed: u64, batch: u64) -> (&'static str, Vec<i64>) {
    let mut rng = Rng::of_case(seed, batch ^ 0xba7c_0000);
    let zone = *rng.pick(&ZONES);
    // One of each kind that is made to hurt, and one of the others.
    let extreme = rng.between(8, 10);
    let units = vec![
        rng.between(2, 3),
        rng.between(4, 5),
        rng.between(6, 7),
        extreme,
        if extreme == 10 { 8 } else { extreme + 1 },
        *rng.pick(&[1, 11, 12]),
        rng.between(data::HOSTILE + 1, data::UNITS),
    ];
    (zone, units)
}

/// The smallest statement that is found to fail as well, with its failure.
async fn shrunk(lab: &mut Lab, case: &Case, units: &[i64], ways: &Ways) -> Option<(query::Query, String)> {
    let mut best: Option<(query::Query, String)> = None;
    let mut tries = 0;
    loop {
        let now = best.as_ref().map_or(&case.query, |(q, _)| q).clone();
        let mut found = None;
        for q in now.smaller() {
            tries += 1;
            if tries > 80 {
                return best;
            }
            let Ok(plan) = lab.plan(&q.sql, &settings(case.groups, case.rows)).await else { continue };
            for (release, sql) in lab.paying(&plan) {
                if let Err(e) = lab.record_by(sql, &Claim::of(release), units, ways).await {
                    found = Some((q.clone(), format!("{e}\n  fetch: {sql}")));
                }
            }
            if found.is_some() {
                break;
            }
        }
        match found {
            Some(smaller) => best = Some(smaller),
            None => return best,
        }
    }
}

/// Records one member of the family.
async fn record(v: Variant) {
    let (seed, wanted, only) = (seed(), pairs(), number("NOISEGATE_RECORDER_CASE"));
    let most = number("NOISEGATE_RECORDER_FAILURES").unwrap_or(8) as usize;
    let shrinking = std::env::var("NOISEGATE_RECORDER_SHRINK").as_deref() != Ok("off");
    let mut lab = Lab::new(v).await;
    let samples = samples::Samples::of_lab(&mut lab).await;
    let (mut done, mut statements, mut planned) = (0u64, 0u32, 0u32);
    let mut batch = only.map_or(0, |n| n / BATCH);
    let (mut full, mut half, mut all_groups, mut recorded, mut told) = (0u32, 0u32, 0u32, 0u32, 0u32);
    let mut slowest = (Duration::ZERO, 0);
    let mut failures: Vec<String> = Vec::new();
    let mut refusals: std::collections::BTreeMap<String, u32> = std::collections::BTreeMap::new();
    while done < wanted && failures.len() < most && !ENOUGH.load(Ordering::Relaxed) {
        let (zone, units) = around(seed ^ v.seed, batch);
        let ways = Ways::drawn(&mut Rng::of_case(seed ^ v.seed, batch ^ 0x3a75_0000), lab.version);
        lab.client.batch_execute(&format!("SET timezone = '{zone}'")).await.unwrap();
        let mut cases = Vec::new();
        let (mut jobs, mut owners) = (Vec::new(), Vec::new());
        for number in only.map_or(batch * BATCH..(batch + 1) * BATCH, |n| n..n + 1) {
            let case = Case::drawn(seed ^ v.seed, number, zone, &samples);
            statements += 1;
            let settings = Settings { zone: zone.into(), ..settings(case.groups, case.rows) };
            match lab.plan(&case.query.sql, &settings).await {
                Ok(plan) => {
                    planned += 1;
                    for (release, sql) in lab.paying(&plan) {
                        told += u32::from(release.light().is_some());
                        jobs.push((sql.to_owned(), Claim::of(release)));
                        owners.push(cases.len());
                    }
                }
                Err(Refusal::Plan(why) | Refusal::Type(why)) => {
                    *refusals.entry(why.chars().take(60).collect()).or_default() += 1;
                    if only.is_some() {
                        panic!("refused: {why}\n{}", case.query.sql);
                    }
                }
                Err(Refusal::Defect(what)) => failures.push(case.told(&what, done, v, zone)),
            }
            cases.push(case);
        }
        let (texts, others): (Vec<_>, Vec<_>) =
            jobs.into_iter().zip(owners).partition(|((sql, _), _)| shows_texts(sql));
        for chunk in texts.chunks(AT_ONCE).chain(others.chunks(AT_ONCE)) {
            let started = Instant::now();
            let (jobs, owners): (Vec<_>, Vec<_>) = chunk.iter().cloned().unzip();
            let results = lab.record_all(&jobs, &units, &ways).await;
            slowest = slowest.max((started.elapsed(), batch));
            for ((outcome, (sql, _)), owner) in results.into_iter().zip(&jobs).zip(&owners) {
                done += units.len() as u64;
                match outcome {
                    Ok(Use { linf, l0 }) => {
                        recorded += 1;
                        full += u32::from(linf > 0.999);
                        half += u32::from(linf > 0.499);
                        all_groups += u32::from(l0 > 0.999);
                    }
                    Err(e) if failures.len() < most => {
                        let case = &cases[*owner];
                        // The first few; looking for a small one takes as long as many pairs.
                        let small = match failures.len() < 2 && shrinking {
                            true => shrunk(&mut lab, case, &units, &ways).await,
                            false => None,
                        };
                        let small =
                            small.map_or_else(String::new, |(q, e)| format!("\n  smaller: {}\n  {e}", q.sql));
                        let around = format!("{zone}, units {units:?}, {ways:?}");
                        let told = case.told(&e, done, v, &around);
                        failures.push(format!("{told}  fetch: {sql}{small}\n"));
                    }
                    Err(_) => {}
                }
            }
        }
        batch += 1;
        if only.is_some() {
            break;
        }
    }
    println!(
        "{v:?}, seed {seed}: {done} pairs; {planned} of {statements} statements planned; {recorded} releases, of which a unit \
         used all of l0 in {all_groups}, all of a part's linf in {full}, half in {half}; {told} tell light units from others; the slowest batch, {}, took {:?}",
        slowest.1, slowest.0
    );
    let stopped = ENOUGH.load(Ordering::Relaxed);
    ENOUGH.fetch_or(failures.len() >= most, Ordering::Relaxed);
    if failures.is_empty() {
        let mut list: Vec<_> = refusals.iter().collect();
        list.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
        for (why, n) in list.iter().take(12) {
            println!("  refused {n}: {why}");
        }
    }
    assert!(failures.is_empty(), "{} failures, of which:\n{}", failures.len(), failures.join("\n"));
    // Shares of a few statements are chance.
    if only.is_none() && !stopped && statements >= 500 {
        assert!(planned * 100 >= statements * 60, "only {planned} of {statements} statements planned");
        // A recorder whose units never come near the limits would not see them broken.
        assert!(told > 0, "no release tells light units from others");
        assert!(full * 5 >= recorded, "a unit uses all of a limit in only {full} of {recorded} releases");
        assert!(
            all_groups * 4 >= recorded,
            "a unit uses all of l0 in only {all_groups} of {recorded} releases"
        );
    }
}

#[tokio::test]
async fn rule_12_a_unit_changes_no_more_than_declared() {
    record(Variant { dirty: false, nullable_unit: false, tied: 0, seed: 1 }).await;
}

#[tokio::test]
async fn rule_12_declared_ranges_may_be_false_in_the_data() {
    record(Variant { dirty: true, nullable_unit: false, tied: 0, seed: 2 }).await;
}

#[tokio::test]
async fn rule_12_rows_without_a_unit_change_nothing() {
    record(Variant { dirty: true, nullable_unit: true, tied: 0, seed: 3 }).await;
}

#[tokio::test]
async fn rule_48_rows_that_tie_and_values_that_equal_change_nothing() {
    record(Variant { dirty: false, nullable_unit: false, tied: data::TIED, seed: 8 }).await;
}
