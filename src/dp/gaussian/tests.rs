#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::*;
use crate::decision_tree::{Script, enumerate};
use crate::exp::{exp_neg, one};
use crate::testing::SeededRng;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::BTreeMap;

fn gaussian(n: u128, d: u128) -> DiscreteGaussian {
    DiscreteGaussian::new(&Ratio::new_raw(n, d)).unwrap()
}

/// e^(-x²/(2σ²)) for σ² = n/d, between two bounds.
fn mass(x: u64, n: u64, d: u64) -> (BigUint, BigUint) {
    exp_neg(&(BigUint::from(x) * x * d), &BigUint::from(2 * n))
}

/// Every outcome's decided mass is at most its probability, and the open paths make up the rest; with digits of one and
/// two bits, so that bounds often do not tell, and without any bounds.
#[test]
fn the_decision_tree_has_the_exact_probabilities() {
    let depth = 20;
    for (n, d) in [(1u64, 1u64), (1, 4), (2, 1), (1, 3), (5, 2)] {
        let noise = gaussian(n.into(), d.into());
        let by = |width, bounds| {
            move |rng: &mut Script| loop {
                let y = noise.proposal.sample(rng)?;
                let y_abs = y.unsigned_abs();
                let keep =
                    if bounds { noise.keep(y_abs, width, rng) } else { noise.keep_wide(y_abs, width, rng) };
                if keep? {
                    return Ok(y);
                }
            }
        };
        let (mut low, mut high) = (one(), one());
        for x in 1..60 {
            let (l, h) = mass(x, n, d);
            low += l * 2u8;
            high += h * 2u8;
        }
        for (width, bounds) in [(1, true), (2, true), (1, false)] {
            let (masses, open) = enumerate(depth, by(width, bounds));
            for (x, decided) in &masses {
                assert_eq!(masses.get(&-x), Some(decided), "symmetry");
                let (l, h) = mass(u64::try_from(x.unsigned_abs()).unwrap(), n, d);
                assert!(BigUint::from(*decided) * &low <= h << depth, "{x} at {n}/{d}, {width} bits");
                assert!(BigUint::from(decided + open) * &high >= l << depth, "{x} at {n}/{d}, {width} bits");
            }
            assert!(masses.len() >= 3 && open < 7 << (depth - 3), "{n}/{d}, {width} bits: {open} open");
        }
    }
}

/// P(low <= X < high), by the sum of the exact masses or, where σ is large, by the integral (the sum over integers is
/// the integral to more digits than a double has).
fn probability(sigma: f64, low: i128, high: i128, total: f64) -> f64 {
    if sigma > 3000.0 {
        let cdf = |x: i128| libm::erfc(-(x as f64 - 0.5) / sigma / std::f64::consts::SQRT_2) / 2.0;
        return cdf(high) - cdf(low);
    }
    (low..high).map(|x| (-(x as f64).powi(2) / (2.0 * sigma * sigma)).exp()).sum::<f64>() / total
}

/// Chi-square of `draws` against the exact probabilities.
fn p_value(sigma: f64, draws: &[i128]) -> f64 {
    let n = draws.len() as f64;
    let reach = (sigma * 12.0).ceil() as i128 + 1;
    let total = if sigma > 3000.0 { 1.0 } else { probability(sigma, -reach, reach + 1, 1.0) };
    let step = ((sigma * 0.15).ceil() as i128).max(1);
    let side = (4.5 * sigma / step as f64).ceil() as i128 + 1;
    let edges: Vec<i128> = (-side..=side + 1).map(|i| i * step).collect();
    let mut observed = vec![0f64; edges.len() + 1];
    for x in draws {
        observed[edges.partition_point(|e| e <= x)] += 1.0;
    }
    let mut bins: Vec<(f64, f64)> =
        vec![(observed[0], n * probability(sigma, -reach - step * side, edges[0], total))];
    for i in 1..edges.len() {
        bins.push((observed[i], n * probability(sigma, edges[i - 1], edges[i], total)));
    }
    bins.push((
        observed[edges.len()],
        n * probability(sigma, edges[edges.len() - 1], reach + step * side, total),
    ));
    // Rare bins are counted as one.
    let (rare, mut kept): (Vec<_>, Vec<_>) = bins.into_iter().partition(|(_, e)| *e < 10.0);
    let rest = rare.iter().fold((0.0, 0.0), |(o, e), (a, b)| (o + a, e + b));
    kept.push(rest);
    let statistic: f64 = kept.iter().filter(|(_, e)| *e > 1e-3).map(|(o, e)| (o - e).powi(2) / e).sum();
    ChiSquared::new((kept.len() - 1).max(1) as f64).unwrap().sf(statistic)
}

fn sample(noise: &DiscreteGaussian, n: usize, seed: u64) -> Vec<i128> {
    let mut rng = SeededRng::new(seed);
    (0..n).map(|_| noise.sample(&mut rng).unwrap()).collect()
}

#[test]
fn a_million_draws_have_the_exact_probabilities() {
    let wide = 1u128 << 100;
    for (seed, (n, d)) in [
        (1u128, 10u128),
        (1, 3),
        (1, 2),
        (6, 12),
        (1, 1),
        (7, 3),
        (100, 1),
        (51_200, 1),
        (1_000_000, 7),
        // Long numbers: variances of 10 and of 2^120/3 (the largest is 2^120).
        (10 * wide + 1, wide),
        (DiscreteGaussian::MAX_TERM - 1, 3),
        (DiscreteGaussian::MAX_TERM - 1, 1),
    ]
    .into_iter()
    .enumerate()
    {
        let noise = gaussian(n, d);
        let sigma = (n as f64 / d as f64).sqrt();
        let mut draws = vec![0; 1_000_000];
        noise.fill(&mut draws, &mut SeededRng::new(seed as u64)).unwrap();
        let p = p_value(sigma, &draws);
        assert!(p > 1e-5, "variance {n}/{d}: p = {p}");
        // One by one.
        let p = p_value(sigma, &sample(&noise, 200_000, seed as u64));
        assert!(p > 1e-5, "variance {n}/{d}: p = {p}");
    }
}

/// The test above can fail: it rejects another variance, and rounded continuous noise (whose variance is 1/12 more).
#[test]
fn chi_square_catches_wrong_noise() {
    let draws = sample(&gaussian(9, 1), 1_000_000, 77);
    assert!(p_value(3.0, &draws) > 1e-5);
    assert!(p_value(3.03, &draws) < 1e-5);
    let rounded: Vec<i128> = sample(&gaussian(1 << 60, 1), 1_000_000, 78)
        .into_iter()
        .map(|x| (x as f64 / (1u64 << 30) as f64 * 1.5).round() as i128)
        .collect();
    assert!(p_value(1.5, &rounded) < 1e-5);
}

/// Two samples of the same distribution, ours and the `opendp` crate's.
#[test]
fn agrees_with_opendp() {
    for (t, s) in [(1u128, 1u128), (10, 3), (1000, 1)] {
        let noise = gaussian(t * t, s * s);
        let ours = sample(&noise, 40_000, 9);
        let sigma = t as f64 / s as f64;
        let scale = dashu::rational::RBig::from_parts(t.into(), s.into());
        let theirs: Vec<i128> = (0..40_000)
            .map(|_| {
                i128::try_from(opendp::traits::samplers::sample_discrete_gaussian(scale.clone()).unwrap())
                    .unwrap()
            })
            .collect();
        let width = (sigma / 4.0).ceil() as i128;
        let mut bins = BTreeMap::<i128, (f64, f64)>::new();
        let bin = |x: &i128| x.div_euclid(width).clamp(-16, 16);
        ours.iter().for_each(|x| bins.entry(bin(x)).or_default().0 += 1.0);
        theirs.iter().for_each(|x| bins.entry(bin(x)).or_default().1 += 1.0);
        bins.retain(|_, (a, b)| *a + *b >= 20.0);
        let statistic: f64 = bins.values().map(|(a, b)| (a - b).powi(2) / (a + b)).sum();
        // opendp's generator cannot be seeded: a threshold that a right sampler misses once in a billion runs.
        let p = ChiSquared::new(bins.len() as f64 - 1.0).unwrap().sf(statistic);
        assert!(p > 1e-9, "sigma {t}/{s}: p = {p}");
        assert!(p_value(sigma, &theirs) > 1e-9);
    }
}

/// The bounds enclose the exact exponent, are tight, and are there for nearly all that is proposed.
#[test]
fn bounds_enclose_the_exponent() {
    let mut rng = SeededRng::new(12);
    let max = DiscreteGaussian::MAX_TERM - 1;
    for (n, d) in [
        (1u128, 1u128),
        (7, 3),
        (51_200, 1),
        (1 << 50, 3),
        (1, 50),
        (max, 1),
        (max, max - 2),
        (3, 1 << 40),
        (1, max),
    ] {
        let noise = gaussian(n, d);
        let (mut told, mut asked) = (0, 0);
        for i in 0..3000u128 {
            let y = if i < 20 { i } else { noise.proposal.sample(&mut rng).unwrap().unsigned_abs() };
            let (whole, r, b) = noise.exponent(y);
            asked += 1;
            let Some((w, bounds)) = noise.fixed.exponent(y) else { continue };
            told += 1;
            assert_eq!(BigUint::from(w), whole, "{y} at {n}/{d}");
            assert!(BigUint::from(bounds.low) * &b <= &r << 64u8, "{y} at {n}/{d}");
            assert!(BigUint::from(bounds.high) * &b >= r << 64u8, "{y} at {n}/{d}");
            assert!(bounds.high - bounds.low < 1 << 12, "{y} at {n}/{d}");
        }
        assert!(told * 100 >= asked * 98 || n < d, "{n}/{d}: {told} of {asked}");
    }
}

#[test]
fn tiny_variances_give_zeros() {
    for variance in [Ratio::new(1, DiscreteGaussian::MAX_TERM - 1), Ratio::new(1, 1_000)] {
        let noise = DiscreteGaussian::new(&variance).unwrap();
        assert!(sample(&noise, 1000, 3).iter().all(|x| *x == 0));
        assert_eq!(noise.error95(), 0.0);
    }
}

#[test]
fn variances_out_of_range_are_refused() {
    let limit = DiscreteGaussian::MAX_TERM;
    for bad in [Ratio::new_raw(0, 1), Ratio::new_raw(1, 0), Ratio::new(limit, 1), Ratio::new(1, limit)] {
        assert!(matches!(DiscreteGaussian::new(&bad), Err(DpError::OutOfRange(_))), "{bad:?}");
    }
    assert_eq!(gaussian(2 * limit, 2 * limit), gaussian(1, 1));
}

#[test]
fn no_entropy_is_an_error() {
    let mut dry = Script { draws: &[], next: 0, asked: None };
    assert_eq!(gaussian(3, 1).sample(&mut dry), Err(EntropyError));
}
