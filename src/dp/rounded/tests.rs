#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::decision_tree::{Script, enumerate};
use crate::testing::SeededRng;
use statrs::distribution::{ChiSquared, ContinuousCDF};

fn rounded(p: u128, q: u128) -> RoundedGaussian {
    RoundedGaussian::new(&Ratio::new_raw(p, q)).unwrap()
}

/// P(σZ < x).
fn cdf(x: f64, sigma: f64) -> f64 {
    libm::erfc(-x / sigma / std::f64::consts::SQRT_2) / 2.0
}

fn mass(x: i128, sigma: f64) -> f64 {
    // On the side where nothing is cancelled.
    let x = -(x.abs() as f64);
    cdf(x + 0.5, sigma) - cdf(x - 0.5, sigma)
}

/// Decided masses are at most the probabilities, and open paths make up the rest; digits of one and two bits, so that
/// every comparison asks for more.
#[test]
fn the_decision_tree_has_the_exact_probabilities() {
    let depth = 20;
    for (p, q) in [(1u128, 1u128), (1, 3), (5, 2), (2, 5)] {
        for width in [1, 2] {
            let noise = rounded(p, q);
            let (masses, open) = enumerate(depth, |rng| noise.sample_by(width, rng));
            let scale = f64::from(1u32 << depth);
            let sigma = p as f64 / q as f64;
            for (x, decided) in &masses {
                let (decided, open) = (*decided as f64 / scale, open as f64 / scale);
                assert!(decided <= mass(*x, sigma) + 1e-14, "{x} at {p}/{q}, {width} bits");
                assert!(decided + open >= mass(*x, sigma) - 1e-14, "{x} at {p}/{q}, {width} bits");
                assert_eq!(masses.get(&-x), masses.get(x), "symmetry");
            }
            assert!((open as f64) < scale * 0.6, "{p}/{q}, {width} bits: {open}");
        }
    }
}

fn p_value(sigma: f64, draws: &[i128]) -> f64 {
    let n = draws.len() as f64;
    let step = ((sigma * 0.15).ceil() as i128).max(1);
    let side = (4.0 * sigma / step as f64).ceil() as i128;
    let edges: Vec<i128> = (-side..=side + 1).map(|i| i * step).collect();
    let mut observed = vec![0f64; edges.len() + 1];
    draws.iter().for_each(|x| observed[edges.partition_point(|e| e <= x)] += 1.0);
    let at = |x: i128| cdf(x as f64 - 0.5, sigma);
    let mut expected = vec![at(edges[0])];
    expected.extend(edges.windows(2).map(|w| at(w[1]) - at(w[0])));
    expected.push(1.0 - at(edges[edges.len() - 1]));
    let (rare, mut kept): (Vec<_>, Vec<_>) =
        observed.into_iter().zip(expected.into_iter().map(|p| p * n)).partition(|(_, e)| *e < 10.0);
    kept.push(rare.iter().fold((0.0, 0.0), |(o, e), (a, b)| (o + a, e + b)));
    let statistic: f64 = kept.iter().filter(|(_, e)| *e > 1e-3).map(|(o, e)| (o - e).powi(2) / e).sum();
    ChiSquared::new((kept.len() - 1).max(1) as f64).unwrap().sf(statistic)
}

#[test]
fn a_million_draws_have_the_exact_probabilities() {
    let wide = 1u128 << 100;
    for (seed, (p, q)) in [
        (1u128, 3u128),
        (1, 1),
        (7, 3),
        (1000, 1),
        (1 << 50, 7),
        (10 * wide + 1, wide),
        (RoundedGaussian::MAX_TERM - 1, 1),
    ]
    .into_iter()
    .enumerate()
    {
        let mut draws = vec![0; 1_000_000];
        rounded(p, q).fill(&mut draws, &mut SeededRng::new(seed as u64)).unwrap();
        let sigma = p as f64 / q as f64;
        assert!(p_value(sigma, &draws) > 1e-5, "σ = {p}/{q}");
        if seed == 1 {
            assert!(p_value(1.01, &draws) < 1e-5, "another σ is seen");
            // The discrete Gaussian is another distribution: its variance is 1, not 1 + 1/12.
            let noise = crate::DiscreteGaussian::new(&Ratio::from_integer(1)).unwrap();
            noise.fill(&mut draws, &mut SeededRng::new(2)).unwrap();
            assert!(p_value(1.0, &draws) < 1e-5);
        }
    }
}

/// The word and the long way to round give the same number.
#[test]
fn long_and_short_rounding_agree() {
    let mut dry = Script { draws: &[], next: 0, asked: None };
    for (p, q) in [(1u128, 1u128), (7, 3), (1000, 7), (1 << 40, 1)] {
        let noise = rounded(p, q);
        for k in 0..4 {
            for first in [1u64, 12_345, 1 << 40, u64::MAX / 3, u64::MAX - 5] {
                if let Some(word) = noise.round_word(k, first, 64) {
                    let lazy = X::Lazy(Lazy { digits: first.into(), bits: 64 });
                    assert_eq!(noise.round(k, lazy, 64, &mut dry).unwrap(), word, "{p}/{q}, {k}, {first}");
                }
            }
        }
    }
}

#[test]
fn edges() {
    let limit = RoundedGaussian::MAX_TERM;
    for bad in [Ratio::new_raw(0, 1), Ratio::new_raw(1, 0), Ratio::new(limit, 1), Ratio::new(1, limit)] {
        assert!(matches!(RoundedGaussian::new(&bad), Err(DpError::OutOfRange(_))), "{bad:?}");
    }
    let mut rng = SeededRng::new(1);
    assert!((0..1000).all(|_| rounded(1, limit - 1).sample(&mut rng).unwrap() == 0));
    let mut dry = Script { draws: &[], next: 0, asked: None };
    assert_eq!(rounded(1, 1).sample(&mut dry), Err(EntropyError));
}
