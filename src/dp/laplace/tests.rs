#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
use super::*;
use crate::decision_tree::{Script, enumerate};
use crate::exp::{exp_neg, one};
use crate::testing::SeededRng;
use crate::{DpError, Ratio};
use num_bigint::BigUint;
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::collections::BTreeMap;

/// The whole sampler: each outcome's decided mass is at most its probability, and open paths make up the rest.
#[test]
fn the_decision_tree_has_the_exact_probabilities() {
    for (t, s) in [(1u128, 1u128), (1, 2), (2, 1), (2, 3)] {
        let noise = DiscreteLaplace::new(&Ratio::new(t, s)).unwrap();
        let depth = 20;
        let (masses, open) = enumerate(depth, |rng| noise.sample(rng));
        let (q_low, q_high) = exp_neg(&s.into(), &t.into());
        for (x, mass) in &masses {
            assert_eq!(masses.get(&-x), Some(mass), "symmetry");
            // P(x) = q^|x|·(1-q)/(1+q)
            let (tail_low, tail_high) = exp_neg(&(BigUint::from(x.unsigned_abs()) * s), &t.into());
            let high = tail_high * (one() - &q_low) / (one() + &q_low) + 1u8;
            let low = tail_low * (one() - &q_high) / (one() + &q_high);
            assert!(BigUint::from(*mass) * one() <= high << depth, "{x} at scale {t}/{s}");
            assert!(BigUint::from(mass + open) * one() >= low << depth, "{x} at scale {t}/{s}");
        }
        assert!(masses.len() >= 3 && open < 1 << (depth - 2), "{t}/{s}: {open} open");
    }
}

/// P(X >= k) for k >= 1.
fn tail(b: f64, k: f64) -> f64 {
    (-k / b).exp() / (1.0 + (-1.0 / b).exp())
}

/// Chi-square of `draws` against the exact probabilities: bins of about equal mass on either side, and zero.
pub(super) fn p_value(b: f64, draws: &[i128]) -> f64 {
    let n = draws.len() as f64;
    // Upper edges of |x|: 1 <= x < edge, and the rest.
    let mut edges = vec![1i128];
    while edges.len() < 40 {
        let last = edges[edges.len() - 1];
        let next = (last + 1).max((last as f64 + b * 0.12).ceil() as i128);
        if tail(b, next as f64) * n < 20.0 {
            break;
        }
        edges.push(next);
    }
    let mut observed = vec![0f64; 2 * edges.len() + 1];
    for x in draws {
        let bin = edges.partition_point(|e| *e <= x.abs());
        observed[if *x < 0 { edges.len() + bin } else { bin }] += 1.0;
    }
    let zero = 1.0 - 2.0 * tail(b, 1.0);
    let mut expected = vec![zero];
    for _ in 0..2 {
        for (i, low) in edges.iter().enumerate() {
            let above = edges.get(i + 1).map_or(0.0, |high| tail(b, *high as f64));
            expected.push(tail(b, *low as f64) - above);
        }
    }
    let bins: Vec<(f64, f64)> =
        observed.iter().zip(&expected).map(|(o, e)| (*o, e * n)).filter(|(_, e)| *e >= 5.0).collect();
    let statistic: f64 = bins.iter().map(|(o, e)| (o - e).powi(2) / e).sum();
    ChiSquared::new(bins.len() as f64 - 1.0).unwrap().sf(statistic)
}

fn sample(noise: &DiscreteLaplace, n: usize, seed: u64) -> Vec<i128> {
    let mut rng = SeededRng::new(seed);
    (0..n).map(|_| noise.sample(&mut rng).unwrap()).collect()
}

/// Scales of every size.
pub(super) fn scales() -> [Ratio; 10] {
    let wide = 1u128 << 80;
    [
        Ratio::new(1, 10),
        Ratio::new(1, 2),
        Ratio::new_raw(6, 12),
        Ratio::new(1, 1),
        Ratio::new(7, 3),
        Ratio::new(1000, 1),
        Ratio::new(1_000_000, 7),
        // The u128 path, at a scale near 10 and at one beyond u64.
        Ratio::new(10 * wide + 1, wide),
        Ratio::new(wide, 3),
        // The largest that is accepted.
        Ratio::new(DiscreteLaplace::MAX_TERM - 1, 1),
    ]
}

#[test]
fn a_million_draws_have_the_exact_probabilities() {
    for (seed, scale) in scales().iter().enumerate() {
        let noise = DiscreteLaplace::new(scale).unwrap();
        let draws = sample(&noise, 1_000_000, seed as u64);
        let b = *scale.numer() as f64 / *scale.denom() as f64;
        let p = p_value(b, &draws);
        assert!(p > 1e-5, "scale {scale}: p = {p}");
    }
}

/// The test above can fail: it rejects another scale, a doubled zero, and rounded continuous noise.
#[test]
fn chi_square_catches_wrong_noise() {
    let noise = DiscreteLaplace::new(&Ratio::from_integer(10)).unwrap();
    let draws = sample(&noise, 1_000_000, 77);
    assert!(p_value(10.0, &draws) > 1e-5);
    assert!(p_value(10.2, &draws) < 1e-5);
    // Without the rejection of (-, 0), one draw of zero in two would be added.
    let zeros = draws.iter().filter(|x| **x == 0).count();
    let doubled: Vec<i128> = draws.iter().copied().chain(std::iter::repeat_n(0, zeros)).collect();
    assert!(p_value(10.0, &doubled) < 1e-5);
    let mut rng = SeededRng::new(3);
    let rounded: Vec<i128> = (0..1_000_000)
        .map(|_| {
            let u = (rng.next_u64().unwrap() >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
            (-u.signum() * (1.0 - 2.0 * u.abs()).ln()).round() as i128
        })
        .collect();
    assert!(p_value(1.0, &rounded) < 1e-5);
}

/// Two samples of the same distribution, ours and the `opendp` crate's.
#[test]
fn agrees_with_opendp() {
    for (t, s) in [(1u128, 1u128), (10, 3), (1000, 1)] {
        let noise = DiscreteLaplace::new(&Ratio::new(t, s)).unwrap();
        let ours = sample(&noise, 60_000, 9);
        let scale = dashu::rational::RBig::from_parts(t.into(), s.into());
        let theirs: Vec<i128> = (0..60_000)
            .map(|_| {
                let x = opendp::traits::samplers::sample_discrete_laplace(scale.clone()).unwrap();
                i128::try_from(x).unwrap()
            })
            .collect();
        let b = t as f64 / s as f64;
        let width = (b / 4.0).ceil() as i128;
        let mut bins = BTreeMap::<i128, (f64, f64)>::new();
        let bin = |x: &i128| (x.div_euclid(width)).clamp(-16, 16);
        ours.iter().for_each(|x| bins.entry(bin(x)).or_default().0 += 1.0);
        theirs.iter().for_each(|x| bins.entry(bin(x)).or_default().1 += 1.0);
        bins.retain(|_, (a, b)| *a + *b >= 20.0);
        let statistic: f64 = bins.values().map(|(a, b)| (a - b).powi(2) / (a + b)).sum();
        // opendp's generator cannot be seeded: a threshold that a right sampler misses once in a billion runs.
        let p = ChiSquared::new(bins.len() as f64 - 1.0).unwrap().sf(statistic);
        assert!(p > 1e-9, "scale {t}/{s}: p = {p}");
        // And theirs is right by our exact probabilities too.
        assert!(p_value(b, &theirs) > 1e-9);
    }
}

#[test]
fn scales_out_of_range_are_refused() {
    let limit = DiscreteLaplace::MAX_TERM;
    for bad in [Ratio::new_raw(0, 1), Ratio::new_raw(1, 0), Ratio::new(limit, 1), Ratio::new(1, limit)] {
        assert!(matches!(DiscreteLaplace::new(&bad), Err(DpError::OutOfRange(_))), "{bad:?}");
    }
    // In lowest terms it fits.
    assert_eq!(
        DiscreteLaplace::new(&Ratio::new_raw(2 * limit, 2 * limit)),
        DiscreteLaplace::new(&Ratio::from_integer(1))
    );
}

#[test]
fn no_entropy_is_an_error() {
    let noise = DiscreteLaplace::new(&Ratio::from_integer(3)).unwrap();
    let mut dry = Script { draws: &[], next: 0, asked: None };
    assert_eq!(noise.sample(&mut dry), Err(EntropyError));
}
