#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::loss::PrivacyLoss;

const ORDERS: [f64; 7] = [1.000_01, 1.5, 2.0, 4.0, 16.0, 64.0, 500.0];

/// ln Σ P^α Q^(1-α)/(α-1), from the losses: Σ P·e^((α-1)L).
fn plainly(loss: &PrivacyLoss, order: f64) -> f64 {
    let exponents: Vec<f64> =
        loss.atoms().iter().map(|a| a.mass.hi().ln() + (order - 1.0) * a.loss.hi()).collect();
    let top = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (exponents.iter().map(|x| (x - top).exp()).sum::<f64>().ln() + top) / (order - 1.0)
}

#[test]
fn rule_19_curves_are_those_of_the_mass_functions() {
    for (scale, shift) in [(1.0, 1u128), (10.0, 1), (2.0, 2), (3.0, 5), (50.0, 20), (1.0, 10)] {
        let rate = Interval::from(1.0) / scale;
        let curve = Curve::DiscreteLaplace { sensitivity: (shift as f64).into(), rate };
        let loss = PrivacyLoss::discrete_laplace(shift, rate).unwrap();
        for order in ORDERS {
            let (ours, exact) = (curve.divergence(order), plainly(&loss, order));
            let rounding = 1e-14 / (order - 1.0) + 1e-13;
            assert!(ours.hi() >= exact - rounding, "b = {scale}, Δ = {shift}, α = {order}: {ours:?} {exact}");
            assert!(ours.lo() <= exact + rounding, "b = {scale}, Δ = {shift}, α = {order}: {ours:?} {exact}");
            assert!(order < 1.1 || ours.hi() - exact <= 1e-9 * exact + 1e-12);
        }
        let kl = loss.kl();
        assert!(curve.kl().hi() >= kl.lo() && (curve.kl().hi() / kl.hi() - 1.0).abs() < 1e-8);
        assert!((curve.max_divergence().hi() - shift as f64 / scale).abs() < 1e-12);
    }
    for (variance, shift) in [(0.25, 1u128), (1.0, 1), (4.0, 3), (50.0, 7)] {
        let curve = Curve::Gaussian { square: Interval::from((shift * shift) as f64) / variance };
        let loss = PrivacyLoss::discrete_gaussian(shift, variance.into()).unwrap();
        for order in [1.5, 2.0, 4.0] {
            assert!(curve.divergence(order).hi() >= plainly(&loss, order) - 1e-12);
        }
        // Equality at integer orders: the sum is over a shifted lattice.
        assert!((curve.divergence(2.0).hi() / plainly(&loss, 2.0) - 1.0).abs() < 1e-9);
    }
}

/// Curves rise in the order, from KL to max divergence.
#[test]
fn curves_rise_from_kl_to_max_divergence() {
    let curves = [
        Curve::Pure { epsilon: 0.7.into() },
        Curve::DiscreteLaplace { sensitivity: 4.0.into(), rate: 0.3.into() },
        Curve::ContinuousLaplace { epsilon: 0.7.into() },
        Curve::Gaussian { square: 0.49.into() },
        Curve::BoundedRange { epsilon: 0.7.into() },
    ];
    for curve in curves {
        let mut last = 0.0;
        for order in [1.0, 1.000_001, 1.01, 1.5, 2.0, 8.0, 100.0, 1e4, 1e8, f64::INFINITY] {
            let r = curve.divergence(order).hi();
            assert!(r >= last * (1.0 - 1e-7), "{curve:?} at {order}: {r} after {last}");
            last = last.max(r);
        }
        assert!(curve.divergence(1.000_001).hi() / curve.kl().hi() - 1.0 < 1e-4, "{curve:?}");
        assert!(curve.max_divergence().hi() >= curve.divergence(1e6).lo());
        assert_eq!(curve.divergence(0.5), Interval::ALL);
    }
}

/// Mirrors Mironov's Proposition 1: the second noise depends on the first answer, and the joint divergence, integrated
/// numerically over both, is within the sum of the two.
#[test]
fn adaptive_composition_is_within_the_sum() {
    let normal =
        |x: f64, mean: f64, s: f64| -((x - mean) / s).powi(2) / 2.0 - s.ln() - 0.918_938_533_204_672_7;
    let laplace = |x: f64, mean: f64, b: f64| -(x - mean).abs() / b - (2.0 * b).ln();
    for order in [1.5f64, 2.0, 5.0] {
        // First: N(0, 2²) against N(1, 2²). Second: depends on the first answer, Laplace or Gaussian noise of two scales, all
        // within r₂ at this order.
        let second = |x: f64, y: f64, shifted: bool| {
            let centre = f64::from(u8::from(shifted)) * x.signum();
            if x > 0.5 {
                laplace(y, centre, 3.0)
            } else {
                normal(y, centre, if x < -1.0 { 2.5 } else { 4.0 })
            }
        };
        let first_bound = Curve::Gaussian { square: 0.25.into() }.divergence(order).hi();
        let second_bound = Curve::ContinuousLaplace { epsilon: Interval::from(1.0) / 3.0 }
            .divergence(order)
            .hi()
            .max(Curve::Gaussian { square: Interval::from(1.0) / 6.25 }.divergence(order).hi());
        let step = 0.02;
        let (mut joint, mut first_alone) = (0.0, 0.0);
        for i in -1000..=1000 {
            let x = (f64::from(i) + 0.5) * step;
            let first = order * normal(x, 0.0, 2.0) + (1.0 - order) * normal(x, 1.0, 2.0);
            let mut inner = 0.0;
            for j in -1500..=1500 {
                let y = (f64::from(j) + 0.5) * 2.0 * step;
                let exponent = order * second(x, y, false) + (1.0 - order) * second(x, y, true);
                inner += exponent.exp() * 2.0 * step;
            }
            joint += first.exp() * inner * step;
            first_alone += first.exp() * step;
        }
        let (joint, first_alone) = (joint.ln() / (order - 1.0), first_alone.ln() / (order - 1.0));
        assert!((first_alone / first_bound - 1.0).abs() < 1e-6, "the integral is right where it is known");
        assert!(joint <= first_bound + second_bound, "α = {order}: {joint}");
        assert!(joint > first_bound + 0.3 * second_bound, "α = {order}: the second answer counts");
    }
}

#[test]
fn conversions_hold_for_the_exact_profile() {
    for (epsilon, k) in [(0.1, 100u32), (1.0, 5)] {
        let exact = PrivacyLoss::repeated_response(epsilon.into(), k);
        let uses = [(Curve::Pure { epsilon: epsilon.into() }, k)];
        for d in [1e-3, 1e-6, 1e-9] {
            let (ours, order) = best_epsilon(&uses, &usual_orders(), d).unwrap();
            assert!(exact.delta(ours) <= d, "{ours} at {order}");
            let r = uses[0].0.divergence(order) * f64::from(k);
            assert!(ours <= epsilon_of_mironov(order, r.hi(), d));
            assert!(delta(order, r, ours) <= d * (1.0 + 1e-9));
        }
    }
    assert_eq!(super::epsilon(2.0, 1.0.into(), 0.0), f64::INFINITY);
    assert_eq!(super::epsilon(f64::INFINITY, 1.0.into(), 0.0), 1.0);
    assert_eq!(usual_orders().len(), 156);
}

/// Shifts below Δ cost less than Δ: the price at Δ covers them.
#[test]
fn smaller_shifts_cost_less() {
    for order in ORDERS {
        let at = |d: f64| {
            Curve::DiscreteLaplace { sensitivity: d.into(), rate: 0.2.into() }.divergence(order).hi()
        };
        assert!((1..20).all(|d| at(f64::from(d)) <= at(f64::from(d + 1)) * (1.0 + 1e-9)), "α = {order}");
    }
}
