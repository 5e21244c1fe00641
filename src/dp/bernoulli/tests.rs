#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::decision_tree::enumerate;
use crate::exp::{exp_neg, one};
use crate::testing::SeededRng;

#[test]
fn uniform_is_exactly_uniform() {
    for n in 1u64..=70 {
        let (masses, open) = enumerate(14, |rng| uniform_below(n, rng));
        assert_eq!(masses.len() as u64, n);
        assert!(masses.values().all(|m| *m == masses[&0]), "{n}");
        assert!(open < 1 << 13);
        let (wide, _) = enumerate(14, |rng| uniform_below(u128::from(n), rng));
        assert!(wide.into_iter().map(|(k, v)| (k as u64, v)).eq(masses), "both words draw alike");
    }
}

/// The decision tree of Algorithm 1: what is decided as true is at most e^-γ, and with what is still open at least.
#[test]
fn bernoulli_exp_is_exactly_exponential() {
    for (n, d) in [(0u64, 1u64), (1, 1), (1, 2), (1, 3), (2, 3), (3, 4), (1, 7), (5, 7), (7, 8)] {
        let depth = 22;
        let (masses, open) = enumerate(depth, |rng| bernoulli_exp(n, d, rng));
        let hit = *masses.get(&true).unwrap_or(&0);
        let (low, high) = exp_neg(&n.into(), &d.into());
        assert!(BigUint::from(hit) * one() <= high << depth, "e^-{n}/{d} is drawn too often");
        assert!(BigUint::from(hit + open) * one() >= low << depth, "e^-{n}/{d} is drawn too rarely");
        assert!(open < 1 << (depth - 3), "{n}/{d}: {open} of 2^{depth} undecided");
        let (wide, _) = enumerate(depth, |rng| bernoulli_exp(u128::from(n), u128::from(d), rng));
        assert_eq!(wide, masses);
    }
}

/// The branch for products that do not fit gives the same probabilities as the one for those that do.
#[test]
fn bernoulli_exp_cannot_overflow() {
    let mut rng = SeededRng::new(5);
    for (n, d) in [(u64::MAX / 2, u64::MAX), (u64::MAX, u64::MAX), (u64::MAX / 10, u64::MAX - 1)] {
        let draws = 200_000;
        let hits = (0..draws).filter(|_| bernoulli_exp(n, d, &mut rng).unwrap()).count();
        let p = (-(n as f64 / d as f64)).exp();
        let sigma = (p * (1.0 - p) * f64::from(draws)).sqrt();
        assert!((hits as f64 - p * f64::from(draws)).abs() < 5.0 * sigma, "{n}/{d}: {hits}");
    }
}

/// Digits of any width decide n/d: exactly where it is a dyadic fraction, between its two bounds elsewhere.
#[test]
fn wide_bernoulli_is_exact() {
    for width in 1..=3 {
        for d in 1u64..=24 {
            for n in 0..=d {
                let depth = 12;
                let (masses, open) = enumerate(depth, |rng| bernoulli_wide(&n.into(), &d.into(), width, rng));
                let hit = *masses.get(&true).unwrap_or(&0);
                assert!(hit * d <= n << depth, "{n}/{d} in digits of {width} bits");
                assert!((hit + open) * d >= n << depth, "{n}/{d} in digits of {width} bits");
                assert!(open <= 1 << width, "{n}/{d}: {open} undecided");
                if d.is_power_of_two() {
                    assert_eq!((hit * d, open), (n << depth, 0), "{n}/{d}");
                }
            }
        }
    }
}

#[test]
fn wide_bernoulli_exp_is_exactly_exponential() {
    for (n, d) in [(0u64, 1u64), (1, 1), (1, 3), (2, 3), (5, 7)] {
        let depth = 20;
        let (masses, open) = enumerate(depth, |rng| bernoulli_exp_wide(&n.into(), &d.into(), 2, rng));
        let hit = *masses.get(&true).unwrap_or(&0);
        let (low, high) = exp_neg(&n.into(), &d.into());
        assert!(BigUint::from(hit) * one() <= high << depth, "e^-{n}/{d} is drawn too often");
        assert!(BigUint::from(hit + open) * one() >= low << depth, "e^-{n}/{d} is drawn too rarely");
        assert!(open < 1 << (depth - 8), "{n}/{d}: {open} undecided");
    }
}

#[test]
fn whole_exponents_multiply() {
    let mut rng = SeededRng::new(8);
    for count in 0..4u64 {
        let draws = 200_000;
        let hits = (0..draws).filter(|_| bernoulli_exp_times(count, &mut rng).unwrap()).count();
        let p = (-(count as f64)).exp();
        let sigma = (p * (1.0 - p) * f64::from(draws)).sqrt();
        assert!((hits as f64 - p * f64::from(draws)).abs() <= 5.0 * sigma, "e^-{count}: {hits}");
    }
}

/// Bounds that are tight, loose or useless lead to the same probability: what they leave open is decided exactly.
#[test]
fn bernoulli_exp_within_bounds_is_exactly_exponential() {
    let depth = 20;
    for (n, d) in [(0u64, 1u64), (1, 1), (1, 3), (2, 3), (5, 7)] {
        let x = (u128::from(n) << 64) / u128::from(d);
        let (low, high) = exp_neg(&n.into(), &d.into());
        for width in [1, 2, 5] {
            for slack in [1u128, 1 << 62, 1 << 64] {
                let bounds = Bounds { low: x.saturating_sub(slack), high: (x + slack).min(1 << 64) };
                let exact = || (n.into(), d.into());
                let (masses, open) = enumerate(depth, |rng| bernoulli_exp_within(bounds, exact, width, rng));
                let hit = *masses.get(&true).unwrap_or(&0);
                assert!(BigUint::from(hit) * one() <= high.clone() << depth, "e^-{n}/{d} too often");
                assert!(BigUint::from(hit + open) * one() >= low.clone() << depth, "e^-{n}/{d} too rarely");
                assert!(open < 1 << (depth - 4), "{n}/{d} by {width}: {open} undecided");
            }
        }
    }
}
