#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use super::*;
use crate::interval::Interval;
use crate::loss::PrivacyLoss;

fn shapes() -> Vec<TradeOff> {
    vec![
        TradeOff::Gaussian { mu: 0.7 },
        TradeOff::Laplace { epsilon: 1.2 },
        TradeOff::Approximate { epsilon: 0.8, delta: 0.05 },
        TradeOff::randomised_response(0.5),
        TradeOff::Lines(Lines::from_loss(&PrivacyLoss::repeated_response(0.4.into(), 3))),
        TradeOff::Laplace { epsilon: 0.3 }.group(3),
    ]
}

const LEVELS: [f64; 9] = [0.0, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1.0];

#[test]
fn all_are_convex_falling_and_below_the_diagonal() {
    for f in shapes() {
        let at = |a: f64| f.at(a);
        for pair in LEVELS.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            assert!(at(a).hi() >= at(b).lo(), "{f:?} falls");
            let middle = at(f64::midpoint(a, b));
            assert!(middle.lo() <= f64::midpoint(at(a).hi(), at(b).hi()) + 1e-15, "{f:?} is convex at {a}");
            assert!(at(a).lo() <= 1.0 - a + 1e-15 && at(a).hi() - at(a).lo() < 1e-9, "{f:?} at {a}");
        }
        assert_eq!(f.at(1.5), Interval::new(0.0, 1.0));
    }
}

/// f(α) = sup over ε of max{0, 1 - δ(ε) - e^ε·α, e^-ε(1 - δ(ε) - α)}, and back.
#[test]
fn duality_goes_both_ways() {
    for f in shapes() {
        let points: Vec<(f64, f64)> =
            (0..500).map(|i| f64::from(i) / 50.0).map(|e| (e, f.profile(e).hi())).collect();
        let back = TradeOff::from_profile(&points);
        let coarse = if matches!(f, TradeOff::Group(..)) { 3e-3 } else { 1e-4 };
        for a in LEVELS {
            let (ours, dual) = (f.at(a), back.at(a));
            assert!(dual.lo() <= ours.hi() + 1e-12, "{f:?} at {a}: {dual:?} is above {ours:?}");
            assert!(dual.hi() >= ours.lo() - coarse, "{f:?} at {a}: {dual:?} is below {ours:?}");
        }
        for (e, d) in points.iter().step_by(7) {
            assert!((back.profile(*e).hi() - d).abs() < 1e-6 + 10.0 * coarse, "{f:?} at ε = {e}");
        }
    }
}

/// The profile in the negative is that of the neighbours in the other order.
#[test]
fn profiles_of_symmetric_functions_mirror() {
    for f in [
        TradeOff::Gaussian { mu: 1.0 },
        TradeOff::Laplace { epsilon: 1.0 },
        TradeOff::randomised_response(1.0),
    ] {
        for e in [0.0, 0.2, 0.7, 1.5] {
            let (left, right) = (f.profile(-e).hi(), 1.0 - (-e).exp() + (-e).exp() * f.profile(e).hi());
            assert!((left - right).abs() < 1e-14, "{f:?} at {e}: {left} {right}");
        }
    }
}

#[test]
fn inverses_are_reflections() {
    let skew = Lines::from_outcomes(vec![
        lines::Outcome { absent: 0.0, present: 0.125 },
        lines::Outcome { absent: 0.25, present: 0.625 },
        lines::Outcome { absent: 0.5, present: 0.25 },
        lines::Outcome { absent: 0.25, present: 0.0 },
    ]);
    assert_eq!(skew.points()[0], (0.0, 0.875));
    let f = TradeOff::Lines(skew);
    let g = f.inverse();
    for a in [0.05, 0.2, 0.4, 0.6, 0.85] {
        let b = g.at(a).hi();
        // f(f⁻¹(α)) = α where f is not flat.
        assert!(b <= 0.0 || (f.at(b).hi() - a).abs() < 1e-12, "{a}: {b}");
    }
    assert_eq!(g.at(0.0).hi(), 0.75, "0 is first reached at 0.75");
    assert!(g.at(0.95).hi() < 1e-300);
    // Symmetric ones are their own inverses.
    for f in shapes() {
        for a in [0.1, 0.3, 0.6] {
            assert!((f.at(a).hi() - f.inverse().at(a).hi()).abs() < 1e-9, "{f:?}");
        }
    }
}

#[test]
fn order() {
    let g = |mu| TradeOff::Gaussian { mu };
    assert_eq!(g(1.0).compare(&g(2.0)), Order::Above);
    assert_eq!(g(2.0).compare(&g(1.0)), Order::Below);
    let l = |epsilon| TradeOff::Laplace { epsilon };
    assert_eq!(l(0.5).compare(&l(1.0)), Order::Above);
    // Any ε-DP mechanism is above randomised response; Laplace is.
    assert_eq!(l(1.0).compare(&TradeOff::randomised_response(1.0)), Order::Above);
    assert_eq!(TradeOff::randomised_response(1.0).compare(&l(1.0)), Order::Below);
    // Laplace and Gaussian noise cross.
    assert_eq!(l(1.0).compare(&g(0.9)), Order::Crossing);
    assert_eq!(l(1.0).compare(&g(3.0)), Order::Above);
    // What an ε-DP mechanism is charged in μ lies below it.
    assert_eq!(TradeOff::randomised_response(1.0).compare(&g(crate::gdp::of_pure(1.0) + 1e-6)), Order::Above);
    assert_eq!(l(1.0).compare(&l(1.0)), Order::Equal);
}

#[test]
fn groups_of_k() {
    for mu in [0.2, 0.5] {
        let direct = TradeOff::Gaussian { mu }.group(3);
        let composed = TradeOff::Group(Box::new(TradeOff::Gaussian { mu }), 3);
        for a in LEVELS {
            assert!((direct.at(a).hi() - composed.at(a).hi()).abs() < 1e-9, "μ = {mu} at {a}");
        }
    }
    // Of Laplace noise, shifts add up: at sensitivity 3 the function is that of 3ε, and the group bound is exact for it.
    let (bound, exact) = (TradeOff::Laplace { epsilon: 0.4 }.group(3), TradeOff::Laplace { epsilon: 1.2 });
    for a in LEVELS {
        assert!((bound.at(a).hi() - exact.at(a).hi()).abs() < 1e-9, "{a}");
    }
    // (ε, δ): within the classical bound.
    let g = TradeOff::Approximate { epsilon: 0.5, delta: 1e-3 }.group(4);
    let (e, d) = crate::composition::group(0.5, 1e-3, 4);
    let classical = TradeOff::Approximate { epsilon: e, delta: d };
    assert!(LEVELS.iter().all(|&a| g.at(a).hi() >= classical.at(a).lo() - 1e-12));
}

#[test]
fn products_enclose_what_is_known_exactly() {
    // Gaussians.
    let bounds = Bounds::around(&TradeOff::Gaussian { mu: 0.6 })
        .tensor(&Bounds::around(&TradeOff::Gaussian { mu: 0.8 }));
    let exact = TradeOff::gaussians([0.6, 0.8]);
    let check = |bounds: &Bounds, exact: &TradeOff, wide: f64| {
        for a in LEVELS {
            let (low, high) = (bounds.lower.at(a), bounds.upper.at(a));
            assert!(
                low.lo() <= exact.at(a).hi() && high.hi() >= exact.at(a).lo(),
                "{exact:?} at {a}: {low:?} {high:?}"
            );
            assert!(high.hi() - low.lo() < wide, "{exact:?} at {a}: {low:?} {high:?}");
        }
    };
    check(&bounds, &exact, 2e-3);
    // Randomised response, 30 times.
    let many = Bounds::around(&TradeOff::randomised_response(0.2)).power(30);
    let loss = PrivacyLoss::repeated_response(0.2.into(), 30);
    check(&many, &TradeOff::Lines(Lines::from_loss(&loss)), 1e-2);
    // With δ: some outcomes are certain.
    let leaky = Bounds::around(&TradeOff::Approximate { epsilon: 0.0, delta: 0.1 }).power(2);
    check(&leaky, &TradeOff::Approximate { epsilon: 0.0, delta: 0.19 }, 1e-9);
    assert!((many.power(0).lower.at(0.3).hi() - 0.7).abs() < 1e-12);
}

/// Each functional by its definition: midpoint sums over the losses.
#[test]
fn functionals_are_moments_of_the_loss() {
    for e in [0.001f64, 0.03, 0.3, 1.0, 4.0, 20.0] {
        let f = TradeOff::Laplace { epsilon: e }.functionals().unwrap();
        let kl = e + (-e).exp_m1();
        let n = 40_000;
        let moment = |g: &dyn Fn(f64) -> f64| {
            let inner: f64 = (0..n)
                .map(|i| {
                    let v = -1.0 + (f64::from(i) + 0.5) * 2.0 / f64::from(n);
                    g(e * v) * (e * (v - 1.0) / 2.0).exp() * e / 4.0 * 2.0 / f64::from(n)
                })
                .sum();
            g(e) / 2.0 + g(-e) * (-e).exp() / 2.0 + inner
        };
        let near = |i: Interval, x: f64| {
            assert!((i.hi() / x - 1.0).abs() < 1e-6 && i.hi() - i.lo() < 1e-9 * x, "{e} {i:?} {x}")
        };
        near(f.kl, kl);
        near(f.kappa2, moment(&|l| l * l));
        near(f.kappa3, moment(&|l| l.abs().powi(3)));
        near(f.kappa3_bar, moment(&|l| (l - kl).abs().powi(3)));
    }
    // Gaussian: L is N(μ²/2, μ²).
    let f = TradeOff::Gaussian { mu: 1.3 }.functionals().unwrap();
    let mean = 1.3f64 * 1.3 / 2.0;
    let moment = |g: &dyn Fn(f64) -> f64| -> f64 {
        (-100_000..100_000)
            .map(|i| (f64::from(i) + 0.5) / 10_000.0)
            .map(|z| g(mean + 1.3 * z) * (-z * z / 2.0).exp() / 10_000.0 * 0.398_942_280_401_432_7)
            .sum()
    };
    assert!((f.kappa2.hi() - moment(&|l| l * l)).abs() < 1e-6);
    assert!((f.kappa3.hi() - moment(&|l| l.abs().powi(3))).abs() < 1e-6);
    assert!((f.kappa3_bar.hi() - moment(&|l| (l - mean).abs().powi(3))).abs() < 1e-6);
    // Lines: randomised response by its outcomes.
    let lines = TradeOff::Lines(Lines::from_loss(&PrivacyLoss::randomised_response(0.5.into())));
    let (a, b) = (lines.functionals().unwrap(), TradeOff::randomised_response(0.5).functionals().unwrap());
    for (x, y) in [(a.kl, b.kl), (a.kappa2, b.kappa2), (a.kappa3, b.kappa3), (a.kappa3_bar, b.kappa3_bar)] {
        assert!((x.hi() - y.hi()).abs() < 1e-12);
    }
    assert!(TradeOff::Approximate { epsilon: 1.0, delta: 0.1 }.functionals().is_none());
}

/// The limit theorem's bounds hold for the exact function, and say nothing about small δ.
#[test]
fn the_limit_theorem_is_for_display() {
    let clt = Clt::of(&[(TradeOff::randomised_response(0.1), 100)]).unwrap();
    assert!(clt.applicable());
    let exact = TradeOff::Lines(Lines::from_loss(&PrivacyLoss::repeated_response(0.1.into(), 100)));
    let Approximation::Within(low, high) = clt.at(0.3) else { panic!("γ is {}", clt.gamma) };
    assert!(low <= exact.at(0.3).hi() && exact.at(0.3).lo() <= high);
    assert_eq!(clt.at(0.01), Approximation::Vacuous);
    let Approximation::Within(low, high) = clt.delta(0.2) else { panic!() };
    assert!((low..=high).contains(&exact.profile(0.2).hi()));
    // At δ = 10^-6 it would take some 3·10^11 answers.
    assert_eq!(clt.delta(4.7), Approximation::Vacuous);
    let few = Clt::of(&[(TradeOff::randomised_response(3.0), 1)]).unwrap();
    assert!(
        !few.applicable()
            && few.at(0.5) == Approximation::Vacuous
            && few.delta(0.0) == Approximation::Vacuous
    );
    assert!(Clt::of(&[]).is_none());
    assert!(Clt::of(&[(TradeOff::Approximate { epsilon: 1.0, delta: 0.1 }, 2)]).is_none());
}

#[test]
fn power_of_the_best_test() {
    assert!((TradeOff::Gaussian { mu: 0.0 }.power(0.05) - 0.05).abs() < 1e-12);
    assert!((TradeOff::randomised_response(1.0).power(0.05) - 0.05 * 1f64.exp()).abs() < 1e-12);
}
