#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::testing::SeededRng;

fn float(r: &Ratio) -> f64 {
    *r.numer() as f64 / *r.denom() as f64
}

fn ratio(text: &str) -> Ratio {
    crate::ratio(&text.parse().unwrap()).unwrap()
}

/// P(X >= t) of the discrete Gaussian, summed.
fn discrete_tail(variance: f64, t: i64) -> f64 {
    let mass = |x: i64| (-(x as f64).powi(2) / (2.0 * variance)).exp();
    let reach = (variance.sqrt() * 40.0) as i64 + t.abs();
    let total: f64 = (-reach..=reach).rev().map(mass).sum();
    (t..=reach).rev().map(mass).sum::<f64>() / total
}

fn any_of(p: f64, l0: u32) -> f64 {
    -libm::expm1(f64::from(l0) * libm::log1p(-p))
}

#[test]
fn the_threshold_is_the_least_that_keeps_delta() {
    for sigma in [1u128, 3, 10, 250] {
        for l0 in [1u32, 5, 100, 10_000] {
            for delta in ["0.1", "1e-3", "1e-6", "1e-12"] {
                let delta = ratio(delta);
                let variance = Ratio::from_integer(sigma * sigma);
                let s = GaussianSelection::discrete(l0, &variance, &delta, 1).unwrap();
                let r = GaussianSelection::rounded(l0, &Ratio::from_integer(sigma), &delta, 1).unwrap();
                assert_eq!((s.threshold, s.delta), (r.threshold, r.delta));
                let t = i64::try_from(s.threshold).unwrap() - 1;
                // The stated δ is above the true one of both kinds of noise, and exact for the rounded one.
                let discrete = any_of(discrete_tail((sigma * sigma) as f64, t), l0);
                let x = (t as f64 - 0.5) / sigma as f64;
                let rounded = any_of(libm::erfc(x / std::f64::consts::SQRT_2) / 2.0, l0);
                let stated = float(&s.delta);
                assert!(s.delta <= delta && discrete <= stated * (1.0 + 1e-9), "σ = {sigma}, l0 = {l0}");
                assert!((rounded / stated - 1.0).abs() < 1e-9, "σ = {sigma}, l0 = {l0}");
                // One less would be too much, or is below the range of the bound.
                let x = (t as f64 - 1.5) / sigma as f64;
                let less = any_of(libm::erfc(x / std::f64::consts::SQRT_2) / 2.0, l0);
                assert!(less > float(&delta) || t as f64 - 2.5 <= sigma as f64, "σ = {sigma}, l0 = {l0}");
            }
        }
    }
}

/// Mutation: a threshold without l0.
#[test]
fn rule_23_a_gaussian_threshold_without_l0_is_caught() {
    let (variance, delta) = (Ratio::from_integer(64), ratio("1e-6"));
    let alone = GaussianSelection::discrete(1, &variance, &delta, 1).unwrap();
    let many = GaussianSelection::discrete(50, &variance, &delta, 1).unwrap();
    assert!(alone.threshold < many.threshold);
    let leak = leak(50, &exact(&variance), alone.threshold).to_u128().unwrap();
    assert!(Ratio::new(leak, 1 << DELTA_BITS) > delta * 25);
    assert_eq!(many.guarantee(), Guarantee::Concentrated { rho: exact(&Ratio::new(50, 128)) });
    let rounded = GaussianSelection::rounded(50, &Ratio::from_integer(8), &delta, 1).unwrap();
    assert_eq!(rounded.guarantee(), Guarantee::Gaussian { square: exact(&Ratio::new(50, 64)) });
}

/// The sampler itself passes groups of one unit as stated.
#[test]
fn the_sampler_passes_one_unit_groups_as_stated() {
    let s = GaussianSelection::rounded(3, &Ratio::from_integer(4), &ratio("0.05"), 1).unwrap();
    let mut rng = SeededRng::new(21);
    let rounds = 100_000;
    let kept = (0..rounds)
        .filter(|_| s.draw(3, &mut rng).unwrap().into_iter().fold(false, |any, x| any | s.keeps(1, x)))
        .count() as f64;
    let stated = float(&s.delta) * f64::from(rounds);
    assert!((kept - stated).abs() < 5.0 * stated.sqrt(), "{kept} against {stated}");
}

/// The minimum shifts the number of units, for every noise.
#[test]
fn rule_05_a_minimum_shifts_a_gaussian_threshold() {
    let (variance, delta) = (Ratio::from_integer(9), ratio("1e-4"));
    let plain = GaussianSelection::discrete(2, &variance, &delta, 1).unwrap();
    let shifted = GaussianSelection::discrete(2, &variance, &delta, 10).unwrap();
    assert_eq!(plain.threshold, shifted.threshold);
    assert!(shifted.delta < plain.delta);
    for units in 9..40u64 {
        for noise in -30..30 {
            assert_eq!(shifted.keeps(units, noise), plain.keeps(units - 9, noise));
        }
    }
    assert!(shifted.keeps(0, i128::MAX) && !shifted.keeps(u64::MAX, i128::MIN));
}

#[test]
fn extreme_parameters_are_safe_or_refused() {
    let delta = ratio("1e-6");
    let tiny = GaussianSelection::discrete(1, &Ratio::new(1, 1 << 60), &delta, 1).unwrap();
    assert!(tiny.threshold <= 3 && *tiny.delta.numer() <= 1);
    let huge = GaussianSelection::discrete(u32::MAX, &Ratio::from_integer(1 << 119), &delta, 1).unwrap();
    assert!(huge.threshold > 1 << 61 && huge.delta <= delta);
    assert!(GaussianSelection::discrete(0, &Ratio::from_integer(1), &delta, 1).is_err());
    assert!(GaussianSelection::discrete(1, &Ratio::from_integer(0), &delta, 1).is_err());
    assert!(GaussianSelection::discrete(1, &Ratio::from_integer(1), &ratio("0.6"), 1).is_err());
    assert!(GaussianSelection::discrete(1, &Ratio::from_integer(1), &delta, 0).is_err());
}
