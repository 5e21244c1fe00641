#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::testing::SeededRng;

fn float(r: &Ratio) -> f64 {
    *r.numer() as f64 / *r.denom() as f64
}

/// 1-(1-p)^l0 by the formula, in floats.
fn formula(l0: u32, b: f64, threshold: i128) -> f64 {
    let p = (-(threshold - 1) as f64 / b).exp() / (1.0 + (-1.0 / b).exp());
    -libm::expm1(f64::from(l0) * libm::log1p(-p))
}

#[test]
fn the_threshold_is_the_least_that_keeps_delta() {
    let scales = [(1u128, 10u128), (1, 2), (1, 1), (8, 1), (7, 3), (400, 1), (1_000_000, 3), (1 << 60, 1)];
    for (n, d) in scales {
        for l0 in [1u32, 2, 4, 100, u32::MAX] {
            for exponent in [1u32, 3, 6, 9, 15] {
                let b = Ratio::new(n, d);
                let delta = Ratio::new(1, 10u128.pow(exponent));
                let s = Selection::new(l0, &b, &delta).unwrap();
                let near = 1e-6; // of floats
                assert!(s.delta <= delta && s.holds(l0), "{b} {l0} {delta}");
                assert!(formula(l0, float(&b), s.threshold) <= float(&s.delta) * (1.0 + near));
                assert!(float(&s.delta) <= formula(l0, float(&b), s.threshold) * (1.0 + near) + 2e-29);
                if s.threshold > 1 {
                    let lower = formula(l0, float(&b), s.threshold - 1);
                    assert!(lower > float(&delta) * (1.0 - near), "{b} {l0} {delta}: not the least");
                    assert!(!Selection { threshold: s.threshold - 1, ..s.clone() }.holds(l0));
                }
            }
        }
    }
}

/// Mutation: a threshold computed without l0 gives δ away l0 times.
#[test]
fn rule_23_a_threshold_without_l0_is_caught() {
    let (b, delta) = (Ratio::from_integer(8), Ratio::new(1, 1_000_000));
    let alone = Selection::new(1, &b, &delta).unwrap();
    let four = Selection::new(4, &b, &delta).unwrap();
    assert!(alone.threshold < four.threshold);
    assert!(alone.holds(1) && !alone.holds(4) && four.holds(4));
    // And one whose δ is stated too low.
    let understated = Selection { delta: four.delta / 2, ..four };
    assert!(!understated.holds(4));
}

/// The tail of the sampler itself, not of a formula: one-unit groups pass about as often as stated, and not more.
#[test]
fn the_sampler_passes_one_unit_groups_as_stated() {
    let (b, delta) = (Ratio::from_integer(3), Ratio::new(1, 50));
    let s = Selection::new(3, &b, &delta).unwrap();
    let noise = DiscreteLaplace::new(&s.scale).unwrap();
    let mut rng = SeededRng::new(11);
    let rounds = 300_000;
    let leaks = (0..rounds)
        .filter(|_| {
            let passes = (0..3).map(|_| 1 + noise.sample(&mut rng).unwrap() >= s.threshold);
            passes.fold(false, |any, one| any | one)
        })
        .count() as f64;
    let stated = float(&s.delta) * f64::from(rounds);
    assert!((leaks - stated).abs() < 5.0 * stated.sqrt(), "{leaks} against {stated}");
}

/// The ratio of being kept with n and n+1 units is within e^(1/b) and δ, with and without a minimum. Mutation: a minimum as
/// a filter before the selection breaks it at the step.
#[test]
fn rule_05_a_minimum_shifts_a_threshold() {
    let (b, delta) = (Ratio::from_integer(2), Ratio::new(1, 10_000));
    let s = Selection::new(1, &b, &delta).unwrap();
    let q = (-0.5f64).exp();
    let mass = |x: i128| (1.0 - q) / (1.0 + q) * q.powi(i32::try_from(x.abs()).unwrap());
    let kept = |f: &dyn Fn(i128) -> bool| (-200..200).filter(|x| f(*x)).map(mass).sum::<f64>();
    let k = 30;
    for units in 0..80u64 {
        let with = |units: u64| kept(&|x| s.keeps(units, k, x));
        assert!(with(units + 1) <= with(units) / q + 1e-4 + 1e-12, "{units}");
        assert!((with(units + 29) - kept(&|x| s.keeps(units, 1, x))).abs() < 1e-12);
    }
    let filtered = |units: u64| if units >= 30 { kept(&|x| s.keeps(units, 1, x)) } else { 0.0 };
    assert!(filtered(30) > filtered(29) / q + 0.9, "a filter gives presence away");
    assert!(s.keeps(0, k, i128::MAX) && !s.keeps(u64::MAX, 1, i128::MIN));
}

#[test]
fn deltas_out_of_range_are_refused() {
    let b = Ratio::from_integer(1);
    for bad in [Ratio::new(3, 4), Ratio::from_integer(0), Ratio::new_raw(1, 0), Ratio::new(1, 1 << 97)] {
        assert_eq!(Selection::new(1, &b, &bad), Err(DpError::SelectionDelta), "{bad:?}");
    }
    assert!(Selection::new(1, &b, &Ratio::new(1, 1 << 90)).is_ok());
    assert_eq!(Selection::new(0, &b, &Ratio::new(1, 10)), Err(DpError::NoGroups));
}
