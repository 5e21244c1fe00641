//! Many people answer one question: how wrong the counts are, and how many reports a second one thread makes. For
//! benches/collect/run: `survey ORACLE VALUES EPSILON PEOPLE SURVEYS` prints the root mean square error of the counts over all values,
//! what it was predicted as, reports a second by the randomiser alone, and randomised, sealed twice and written as text.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use dp::randomised::{Oracle, OracleKind};
use dp::{Ratio, SecureRng};
use noisegate_encode::{AnalyserKey, Answer, Collection, ShufflerKey};
use std::time::Instant;

// As the program has it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What person j says: the same in every program of the bench, and more often the lower values.
fn value(j: u64, values: u32) -> u32 {
    let u = j * 40_503 % 65_536;
    u32::try_from((u * u * u64::from(values)) >> 32).unwrap()
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let kind = OracleKind::parse(&given[0]).unwrap();
    let (values, people, surveys): (u32, u64, u32) =
        (given[1].parse().unwrap(), given[3].parse().unwrap(), given[4].parse().unwrap());
    let epsilon: Ratio = given[2].parse().unwrap();
    let oracle = Oracle::new(kind, values, &epsilon).unwrap();
    let mut rng = SecureRng::new().unwrap();
    let mut truth = vec![0u64; values as usize];
    (0..people).for_each(|j| truth[value(j, values) as usize] += 1);
    let (mut squares, mut seconds) = (0.0, 0.0);
    for _ in 0..surveys {
        let started = Instant::now();
        let reports: Vec<_> =
            (0..people).map(|j| oracle.randomise(value(j, values), &mut rng).unwrap()).collect();
        seconds += started.elapsed().as_secs_f64();
        for (value, count) in (0..values).zip(&truth) {
            let supports = reports.iter().filter(|report| oracle.supports(report, value)).count();
            squares += (oracle.estimate(supports as u64, people) - *count as f64).powi(2);
        }
    }
    let predicted: f64 = truth.iter().map(|count| oracle.deviation(people, *count).powi(2)).sum();
    let (keys, numbers) = (
        (
            ShufflerKey::generate(&mut rng).unwrap().public(),
            AnalyserKey::generate(&mut rng).unwrap().public(),
        ),
        (values - 1, kind.word()),
    );
    let collection = Collection::parse(&format!(
        r#"{{"collection": "bench", "shuffler_key": "{}", "analyser_key": "{}", "columns":
            [{{"name": "n", "kind": "count", "range": ["0", "{}"], "randomiser": "{}", "epsilon": "{epsilon}"}}]}}"#,
        keys.0, keys.1, numbers.0, numbers.1
    ))
    .unwrap();
    let (sealed, started) = (2000, Instant::now());
    let bytes: usize = (0..sealed)
        .map(|j| {
            let answer = value(j, values).to_string();
            collection.encode(&[Answer::One(&answer)], "", &mut rng).unwrap().line().len()
        })
        .sum();
    assert!(bytes > 0);
    println!(
        "{:.3} {:.3} {:.0} {:.0}",
        (squares / f64::from(surveys) / f64::from(values)).sqrt(),
        (predicted / f64::from(values)).sqrt(),
        f64::from(surveys) * people as f64 / seconds,
        sealed as f64 / started.elapsed().as_secs_f64()
    );
}
