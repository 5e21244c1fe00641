//! Noise samples per second, ours and the `opendp` crate's exact samplers, in one run on one core.
//!
//! `cargo bench --bench samplers` prints a table: our batches, our single draws, our draws in constant time, opendp's
//! single draws (it has no others), and the ratio of batches to opendp. Below it, how long single uses of mechanisms take.
#![allow(clippy::unwrap_used, missing_docs)]

use dashu::rational::RBig;
use noisegate::dp::quantile::{Quantile, Quantiles, Ranks, Selector};
use noisegate::dp::sparse::{Direction, Outcome, Plan, Stream};
use noisegate::dp::{DiscreteGaussian, DiscreteLaplace, Ratio, SecureRng};
use opendp::traits::samplers::{sample_discrete_gaussian, sample_discrete_laplace};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long one number is measured.
const LONG: Duration = Duration::from_millis(700);

/// Millions of samples per second, where one call of `f` gives `samples` of them.
fn rate(samples: usize, mut f: impl FnMut()) -> f64 {
    f();
    let (start, mut calls) = (Instant::now(), 0u32);
    while start.elapsed() < LONG {
        f();
        calls += 1;
    }
    f64::from(calls) * samples as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn main() {
    let mut rng = SecureRng::new().unwrap();
    let mut out = vec![0i128; 1 << 16];
    println!("million samples per second      batch   single   constant   opendp   batch/opendp");
    let line = |name: String, batch: f64, single: f64, constant: Option<f64>, opendp: f64| {
        let constant = constant.map_or_else(|| "       -".into(), |c| format!("{c:8.2}"));
        println!("{name:<28} {batch:8.2} {single:8.2}   {constant} {opendp:8.3}   {:10.0}", batch / opendp);
    };
    for scale in [1u32, 10, 1000, 1_000_000] {
        let noise = DiscreteLaplace::new(&Ratio::from_integer(scale.into())).unwrap();
        let batch = rate(out.len(), || noise.fill(black_box(&mut out), &mut rng).unwrap());
        let constant =
            rate(out.len(), || noise.fill_in_constant_time(black_box(&mut out), &mut rng).unwrap());
        let single = rate(1000, || (0..1000).for_each(|_| _ = black_box(noise.sample(&mut rng).unwrap())));
        let rational = RBig::from(scale);
        let theirs = rate(100, || {
            (0..100).for_each(|_| _ = black_box(sample_discrete_laplace(rational.clone()).unwrap()));
        });
        line(format!("discrete Laplace, b = {scale}"), batch, single, Some(constant), theirs);
    }
    for sigma in [1u32, 10, 1000, 1_000_000] {
        let noise = DiscreteGaussian::new(&Ratio::from_integer(u128::from(sigma).pow(2))).unwrap();
        let batch = rate(out.len(), || noise.fill(black_box(&mut out), &mut rng).unwrap());
        let single = rate(1000, || (0..1000).for_each(|_| _ = black_box(noise.sample(&mut rng).unwrap())));
        let rational = RBig::from(sigma);
        let theirs = rate(100, || {
            (0..100).for_each(|_| _ = black_box(sample_discrete_gaussian(rational.clone()).unwrap()));
        });
        line(format!("discrete Gaussian, σ = {sigma}"), batch, single, None, theirs);
    }
    mechanisms(&mut rng);
}

/// Microseconds per use.
fn mechanisms(rng: &mut SecureRng) {
    println!("\nmicroseconds per use");
    let line = |name: &str, per_second: f64| println!("{name:<48} {:10.1}", 1.0 / per_second);
    let (half, tenth) = (Ratio::new(1, 2), Ratio::new(1, 10));
    let ranks = Ranks::from_histogram((0..1000).map(|i| i * 7 % 13).collect()).unwrap();
    for (name, selector) in
        [("exponential", Selector::Exponential), ("permute-and-flip", Selector::PermuteAndFlip)]
    {
        let median = Quantile::new(&half, 1, &tenth, selector).unwrap();
        let name = format!("median of 1000 points, {name}");
        line(&name, rate(1, || _ = black_box(median.choose(&ranks, rng).unwrap())));
    }
    let deciles: Vec<Ratio> = (1..10).map(|i| Ratio::new(i, 10)).collect();
    let deciles = Quantiles::new(&deciles, 1, &tenth, Selector::Exponential).unwrap();
    line("deciles of 1000 points", rate(1, || _ = black_box(deciles.choose(&ranks, rng).unwrap())));
    let plan = Plan::improved(1, 1, &tenth, Direction::Any).unwrap();
    let mut stream = Some(Stream::open(plan.clone(), rng).unwrap());
    let ask = || {
        let open = stream.take().unwrap_or_else(|| Stream::open(plan.clone(), rng).unwrap());
        stream = match open.ask(0, 1000, rng).unwrap() {
            Outcome::Below(next) | Outcome::Above(next, _) => Some(next),
            Outcome::Last(_) => None,
        };
    };
    line("question to a sparse vector stream", rate(1, ask));
}
