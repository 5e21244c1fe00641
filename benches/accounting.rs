//! Numerical composition: how long it takes, how near it is, and the ratio to Google's `dp_accounting` in the same run.
//!
//! `cargo bench --bench accounting` prints a line per workload. Where `python3` has the package `dp_accounting`, it is asked for
//! the same ε with ever finer grids until its upper bound is no worse than ours, and that run is timed; otherwise its columns
//! stay empty.
#![allow(clippy::unwrap_used, missing_docs)]

use noisegate::dp::pld::{Pld, Source};
use noisegate::dp::tradeoff::TradeOff;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

/// Noise, its parameter, uses, δ.
const WORKLOADS: [(&str, f64, u32, f64); 6] = [
    ("laplace", 0.1, 100, 1e-6),
    ("laplace", 0.1, 1_000, 1e-6),
    ("laplace", 0.01, 10_000, 1e-6),
    ("laplace", 0.01, 100_000, 1e-6),
    ("gaussian", 0.1, 100, 1e-6),
    ("gaussian", 0.01, 10_000, 1e-6),
];

/// Prints seconds and ε of the coarsest grid whose ε is at most the bound, twice as fine each time.
const THEIRS: &str = "
import sys, time
from dp_accounting.pld import privacy_loss_distribution as pld
kind, size, uses, delta, bound = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
make = pld.from_laplace_mechanism if kind == 'laplace' else pld.from_gaussian_mechanism
step = size
for _ in range(14):
    start = time.perf_counter()
    epsilon = make(1 / size, value_discretization_interval=step).self_compose(uses).get_epsilon_for_delta(delta)
    seconds = time.perf_counter() - start
    if epsilon <= bound:
        break
    step /= 2
print(seconds, epsilon)
";

/// The least of some runs.
fn fastest(mut f: impl FnMut() -> f64) -> (Duration, f64) {
    let run = |f: &mut dyn FnMut() -> f64| {
        let start = Instant::now();
        let value = black_box(f());
        (start.elapsed(), value)
    };
    (0..3).map(|_| run(&mut f)).min_by_key(|r| r.0).unwrap()
}

fn theirs(kind: &str, size: f64, uses: u32, delta: f64, bound: f64) -> Option<(f64, f64)> {
    let numbers = [size.to_string(), uses.to_string(), delta.to_string(), bound.to_string()];
    let output = Command::new("python3").args(["-c", THEIRS, kind]).args(numbers).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (seconds, epsilon) = text.trim().split_once(' ')?;
    Some((seconds.parse().ok()?, epsilon.parse().ok()?))
}

fn main() {
    println!(
        "workload                     delta      epsilon    seconds   dp_accounting: epsilon   seconds   ratio"
    );
    for (kind, size, uses, delta) in WORKLOADS {
        let curve = match kind {
            "laplace" => TradeOff::Laplace { epsilon: size },
            _ => TradeOff::Gaussian { mu: size },
        };
        let pld = Pld::new(vec![(Source::Curve(curve), uses)]);
        let (time, epsilon) = fastest(|| pld.epsilon(delta).unwrap());
        let seconds = time.as_secs_f64();
        let name = format!("{uses} x {kind} {size}");
        let other = match theirs(kind, size, uses, delta, epsilon) {
            Some((s, e)) => format!("{e:14.6} {s:9.3} {:7.1}", s / seconds),
            None => "             - (dp_accounting is not installed)".into(),
        };
        println!("{name:<28} {delta:e} {epsilon:12.6} {seconds:10.3}   {other}");
    }
}
