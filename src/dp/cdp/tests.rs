#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn conversions_invert_each_other() {
    for rho in [0.001, 0.1, 0.5, 2.0] {
        for d in [1e-3, 1e-6, 1e-9] {
            let e = epsilon(rho, d);
            assert!(e <= epsilon_loosely(rho, d));
            let back = delta(rho, e);
            assert!((back / d - 1.0).abs() < 1e-6, "ρ = {rho}: {back} against {d}");
            let most = super::rho(e, d);
            assert!(delta(most, e) <= d && (most / rho - 1.0).abs() < 1e-7);
        }
    }
    assert_eq!(super::rho(1.0, 0.0), 0.0);
}

/// No ρ that is a millionth larger is valid at any of many orders, and the one reported is, by the formula in plain floats.
#[test]
fn rule_22_the_limit_is_valid_and_tight() {
    let at = |rho: f64, e: f64, log: f64| {
        let (excess, a) = (log.exp(), 1.0 + log.exp());
        (excess * (a * rho - e) - log - a * (1.0 / excess).ln_1p()).exp()
    };
    for e in [0.01, 0.1, 1.0, 8.0, 50.0, 1000.0] {
        for exponent in [1, 3, 6, 9, 15, 30] {
            let d = 10f64.powi(-exponent);
            let rho = super::rho(e, d);
            let best =
                |rho: f64| (-40_000..40_000).map(|i| at(rho, e, f64::from(i) / 1000.0)).fold(1.0, f64::min);
            assert!(rho > 0.0 && best(rho) <= d * (1.0 + 1e-4), "({e}, {d}): {rho} gives {}", best(rho));
            assert!(best(rho * 1.000_01) > d, "({e}, {d}): {rho} is too small");
        }
    }
}

/// Gaussian noise is ρ-zCDP, so its exact δ is below what ρ implies.
#[test]
fn a_gaussian_is_within_its_rho() {
    for mu in [0.1, 1.0, 2.0] {
        for e in [0.5, 1.0, 4.0] {
            assert!(crate::gdp::profile(mu.into(), e.into()).lo() <= delta(mu * mu / 2.0, e));
        }
    }
}

/// Mutation: continuous-Laplace prices for discrete noise.
#[test]
fn rule_19_rho_of_continuous_laplace_is_too_small_for_discrete() {
    for e in [0.1, 1.0, 3.0] {
        let loss = crate::loss::PrivacyLoss::randomised_response(e.into());
        assert!(of_continuous_laplace(e) < loss.kl().lo() && of_pure(e) >= loss.kl().lo());
        assert!(of_pure(e) < of_pure_loosely(e));
    }
}

/// Mutation: ε²/8 for permute-and-flip. The median with two candidates at ranks 4 and 6 of 10, and one person added below
/// both: scores are -|rank - 5| before, and -|rank - 5.5| after, in a mechanism of ε = 1.
#[test]
fn rule_20_permute_and_flip_is_not_bounded_range() {
    // Two candidates: each comes first with probability 1/2, and is taken with e^(ε(score - best)/2Δ).
    let first = |a: f64, b: f64| {
        let best = a.max(b);
        let (a, b) = (((a - best) / 2.0).exp(), ((b - best) / 2.0).exp());
        // a first and taken, or b first, refused, then a taken (one of the two is always taken).
        let tried = a / 2.0 + (1.0 - b) / 2.0 * a;
        let other = b / 2.0 + (1.0 - a) / 2.0 * b;
        tried / (tried + other)
    };
    // Utilities with sensitivity 1/2, scaled to ε = 1: 2·ε·score.
    let (p, q) = (first(-2.0, -2.0), first(-1.0, -3.0));
    let kl = p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
    assert!((kl - 0.255).abs() < 1e-3, "{kl}");
    assert!(kl > 1.0 / 8.0 && kl <= of_pure(1.0));
    // The exponential mechanism with the same scores is within it.
    let choose = |a: f64, b: f64| (a / 2.0).exp() / ((a / 2.0).exp() + (b / 2.0).exp());
    let (p, q) = (choose(-2.0, -2.0), choose(-1.0, -3.0));
    let kl = p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
    assert!(kl <= 1.0 / 8.0, "{kl}");
}
