//! Numerical composition: how long it takes, how near it is, and the ratio to Google's `dp_accounting` in the same run.
//!
//! `cargo bench -p noisegate-dp --bench accounting` prints a line per workload: medians. Where `python3` (or what `PYTHON` names)
//! has the package `dp_accounting`, it is asked for the same ε with ever finer grids until its upper bound is within a millionth
//! of ours, and that grid is timed; where no grid that fits reaches it, the finest is. Otherwise its columns stay empty.
#![allow(clippy::unwrap_used, missing_docs)]

use noisegate_dp::interval::Interval;
use noisegate_dp::loss::PrivacyLoss;
use noisegate_dp::pld::{Pld, Source};
use noisegate_dp::tradeoff::TradeOff;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// Noise, its parameter, uses, δ.
const WORKLOADS: [(&str, f64, u32, f64); 13] = [
    ("laplace", 0.5, 10, 1e-3),
    ("laplace", 0.5, 20, 1e-6),
    ("laplace", 0.1, 100, 1e-6),
    ("laplace", 0.1, 1_000, 1e-6),
    ("laplace", 0.01, 10_000, 1e-6),
    ("laplace", 0.01, 100_000, 1e-6),
    ("gaussian", 0.1, 100, 1e-6),
    ("gaussian", 0.01, 10_000, 1e-6),
    ("response", 0.1, 100, 1e-6),
    ("response", 0.1, 1_000, 1e-6),
    ("discrete-laplace", 0.1, 100, 1e-6),
    ("discrete-gaussian", 0.1, 100, 1e-6),
    ("laplace+gaussian", 0.1, 100, 1e-6),
];

/// Prints the median of the seconds and ε of the coarsest grid whose ε is near the bound, twice as fine each time.
const THEIRS: &str = "
import math, sys, time
from dp_accounting.pld import privacy_loss_distribution as pld
kind, size, uses, delta, bound = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
def make(kind, step):
    if kind == 'laplace': return pld.from_laplace_mechanism(1 / size, value_discretization_interval=step)
    if kind == 'gaussian': return pld.from_gaussian_mechanism(1 / size, value_discretization_interval=step)
    if kind == 'response': return pld.from_randomized_response(2 / (1 + math.exp(size)), 2, value_discretization_interval=step)
    if kind == 'discrete-laplace': return pld.from_discrete_laplace_mechanism(size, 3, value_discretization_interval=step)
    if kind == 'discrete-gaussian': return pld.from_discrete_gaussian_mechanism(1 / size, value_discretization_interval=step)
def run(step):
    if '+' in kind:
        both = [make(k, step).self_compose(uses) for k in kind.split('+')]
        return both[0].compose(both[1]).get_epsilon_for_delta(delta)
    return make(kind, step).self_compose(uses).get_epsilon_for_delta(delta)
step = size
for _ in range(13):
    start = time.perf_counter()
    epsilon = run(step)
    seconds = time.perf_counter() - start
    if epsilon <= bound + 1e-6 or seconds > 5:
        break
    step /= 2
all = [seconds]
for _ in range(4 if seconds < 1 else 0):
    start = time.perf_counter()
    run(step)
    all.append(time.perf_counter() - start)
print(sorted(all)[len(all) // 2], epsilon)
";

/// The median time of nine runs, and the value.
fn median(mut f: impl FnMut() -> f64) -> (f64, f64) {
    let run = |f: &mut dyn FnMut() -> f64| {
        let start = Instant::now();
        let value = black_box(f());
        (start.elapsed().as_secs_f64(), value)
    };
    let mut runs: Vec<(f64, f64)> = (0..9).map(|_| run(&mut f)).collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    runs.into_iter().nth(4).unwrap()
}

fn theirs(kind: &str, size: f64, uses: u32, delta: f64, bound: f64) -> Option<(f64, f64)> {
    let numbers = [size.to_string(), uses.to_string(), delta.to_string(), bound.to_string()];
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
    let output = Command::new(python).args(["-c", THEIRS, kind]).args(numbers).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (seconds, epsilon) = text.trim().split_once(' ')?;
    Some((seconds.parse().ok()?, epsilon.parse().ok()?))
}

fn source(kind: &str, size: f64) -> Source {
    match kind {
        "laplace" => Source::Curve(TradeOff::Laplace { epsilon: size }),
        "gaussian" => Source::Curve(TradeOff::Gaussian { mu: size }),
        "discrete-laplace" => Source::Loss(PrivacyLoss::discrete_laplace(3, size.into()).unwrap()),
        "discrete-gaussian" => {
            let variance = (Interval::from(1.0) / size).square();
            Source::Loss(PrivacyLoss::discrete_gaussian(1, variance).unwrap())
        }
        _ => Source::Loss(PrivacyLoss::randomised_response(size.into())),
    }
}

fn main() {
    println!(
        "workload                        delta         epsilon    milliseconds   dp_accounting: epsilon, milliseconds, ratio"
    );
    for (kind, size, uses, delta) in WORKLOADS {
        let (time, epsilon) = median(|| {
            let parts = kind.split('+').map(|k| (source(k, size), uses)).collect();
            Pld::new(parts).epsilon(delta).unwrap()
        });
        let name = format!("{uses} x {kind} {size}");
        let other = match theirs(kind, size, uses, delta, epsilon) {
            Some((s, e)) => format!("{e:14.7} {:9.1} {:9.1}", s * 1e3, s / time),
            None => "             - (dp_accounting is not installed)".into(),
        };
        println!("{name:<31} {delta:e} {epsilon:15.7} {:12.3}   {other}", time * 1e3);
    }
}
