#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;

/// The profile as Balle and Wang write it, in floats without care for rounding.
fn plainly(mu: f64, epsilon: f64) -> f64 {
    let phi = |x: f64| libm::erfc(-x / std::f64::consts::SQRT_2) / 2.0;
    phi(mu / 2.0 - epsilon / mu) - epsilon.exp() * phi(-mu / 2.0 - epsilon / mu)
}

#[test]
fn the_profile_is_that_of_balle_and_wang_from_above() {
    for mu in [0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0] {
        for epsilon in [0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0] {
            let (ours, theirs) = (delta(mu, epsilon), plainly(mu, epsilon));
            let rounding = 1e-14 / mu;
            assert!(
                ours >= theirs - rounding * theirs.abs() - 1e-16,
                "μ = {mu}, ε = {epsilon}: {ours}, {theirs}"
            );
            assert!(
                (ours - theirs).abs() <= 1e-10 * theirs + 1e-15,
                "μ = {mu}, ε = {epsilon}: {ours}, {theirs}"
            );
        }
    }
}

#[test]
fn the_profile_holds_at_extremes() {
    // e^ε overflows, and the tails are below any double.
    for (mu, epsilon) in [(50.0, 1300.0), (1.0, 40.0), (1e-3, 0.04), (100.0, 1.0)] {
        let p = profile(mu.into(), epsilon.into());
        assert!(p.lo() >= 0.0 && p.hi() <= 1.0 && p.hi() > 0.0, "{p:?}");
        assert!(p.hi() <= 1e-300 || p.hi() / p.lo() < 1.0 + 1e-6, "{p:?}");
    }
    assert_eq!(delta(0.0, 0.0), 0.0);
    assert_eq!(delta(f64::NAN, 1.0), 1.0);
    // The other order of the neighbours: δ(-ε) = 1 - e^-ε + e^-ε·δ(ε).
    let below = profile(1.0.into(), (-1.0).into());
    assert!((below.hi() - (1.0 - (-1f64).exp() * (1.0 - 0.126_936_737_506_643_95))).abs() < 1e-14);
}

#[test]
fn roots_hold_and_are_tight() {
    for mu in [0.05, 0.5, 1.0, 3.0] {
        for d in [1e-3, 1e-6, 1e-9] {
            let e = epsilon(mu, d);
            assert!(delta(mu, e) <= d);
            assert!(e == 0.0 || delta(mu, e * (1.0 - 1e-9)) > d, "μ = {mu}, δ = {d}");
            let back = super::mu(e, d);
            assert!(delta(back, e) <= d && (e == 0.0 || back >= mu * (1.0 - 1e-9)));
            if e > 0.0 {
                let s = sigma(e, d, 7.0).unwrap();
                assert!(profile(Interval::from(7.0) / s, e.into()).hi() <= d);
                assert!((s * mu / 7.0 - 1.0).abs() < 1e-8);
            }
        }
    }
    assert_eq!(epsilon(1.0, 0.0), f64::INFINITY);
    assert_eq!(sigma(0.0, 1e-6, 1.0), None);
    assert_eq!(sigma(1.0, 0.0, 1.0), None);
    assert_eq!(sigma(1.0, f64::NAN, 1.0), None);
}

/// The classical σ = √(2 ln(1.25/δ))/ε costs more where it is valid (ε < 1), and breaks its promise where it is not.
#[test]
fn analytic_calibration_beats_the_classical_one() {
    let classical = |e: f64, d: f64| (2.0 * (1.25 / d).ln()).sqrt() / e;
    for d in [1e-3, 1e-5, 1e-9] {
        for e in [0.1, 0.5, 0.99] {
            assert!(sigma(e, d, 1.0).unwrap() < classical(e, d));
        }
    }
    let (e, d) = (20.0, 1e-3);
    assert!(delta(1.0 / classical(e, d), e) > d, "the classical formula would be valid at ε = 20");
}

#[test]
fn composition_and_groups_add_up() {
    assert!((compose([0.3, 0.4]) - 0.5).abs() < 1e-15 && compose([0.3, 0.4]) >= 0.5);
    assert!((group(0.5, 3) - 1.5).abs() < 1e-15);
    // ε-DP: the profile of randomised response lies below that of the μ it is charged.
    for e in [0.01, 0.1, 1.0, 3.0, 8.0] {
        let mu = of_pure(e);
        for i in 0..100 {
            let at = e * f64::from(i) / 100.0;
            let response = (e.exp() - at.exp()) / (1.0 + e.exp());
            assert!(delta(mu, at) >= response - 1e-15, "ε = {e} at {at}");
        }
    }
}
