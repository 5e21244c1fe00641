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
    let (leaks, stated) = leaks(&s, 3);
    assert!((leaks - stated).abs() < 5.0 * stated.sqrt(), "{leaks} against {stated}");
    // Of Gaussian noise the tail is bounded from above, by a few parts in a hundred.
    let s = Selection::gaussian(3, &Ratio::from_integer(40), &delta).unwrap();
    let (leaks, stated) = self::leaks(&s, 3);
    assert!(leaks < stated + 5.0 * stated.sqrt() && leaks > 0.7 * stated, "{leaks} against {stated}");
}

/// How often a unit that is alone in its groups makes one of them appear, and how often at most, as it is stated.
fn leaks(s: &Selection, l0: usize) -> (f64, f64) {
    let (noise, mut rng, rounds) = (s.sampler().unwrap(), SeededRng::new(11), 300_000);
    let drawn = noise.draw(rounds * l0, &mut rng).unwrap();
    let leaks = drawn.chunks(l0).filter(|x| x.iter().any(|x| s.keeps(1, 1, *x))).count();
    (leaks as f64, float(&s.delta) * rounds as f64)
}

/// P(X >= t) of the discrete Gaussian, summed.
fn discrete_tail(variance: f64, t: i64) -> f64 {
    let mass = |x: i64| (-(x as f64).powi(2) / (2.0 * variance)).exp();
    let reach = (variance.sqrt() * 40.0) as i64 + t.abs() + 2;
    let total: f64 = (-reach..=reach).rev().map(mass).sum();
    (t..=reach).rev().map(mass).sum::<f64>() / total
}

#[test]
fn a_gaussian_threshold_keeps_delta_and_little_more() {
    for (n, d) in [(1u128, 9u128), (1, 1), (9, 1), (100, 1), (1_000_000, 7), (250 * 250, 1)] {
        for l0 in [1u32, 5, 100, 10_000] {
            for exponent in [1u32, 3, 6, 12] {
                let (variance, delta) = (Ratio::new(n, d), Ratio::new(1, 10u128.pow(exponent)));
                let s = Selection::gaussian(l0, &variance, &delta).unwrap();
                assert!(s.delta <= delta && s.holds(l0), "{variance} {l0} {delta}");
                assert!(!s.holds(l0.saturating_mul(1_000)), "{variance} {l0} {delta}");
                let of = |t: i128| {
                    let p = discrete_tail(float(&variance), i64::try_from(t).unwrap());
                    -libm::expm1(f64::from(l0) * libm::log1p(-p))
                };
                // What is stated is above the truth, and two steps or a twentieth lower it would not be.
                assert!(of(s.threshold - 1) <= float(&s.delta) * (1.0 + 1e-9) + 1e-28);
                let less = s.threshold - 1 - 2.max(s.threshold / 20);
                assert!(
                    exponent < 3 || less < 1 || of(less) > float(&delta),
                    "{variance} {l0} {delta}: {}",
                    s.threshold
                );
                assert!(s.threshold == 1 || !Selection { threshold: s.threshold - 1, ..s.clone() }.holds(l0));
            }
        }
    }
}

/// Mutation: a threshold computed without l0, or for other noise than is drawn.
#[test]
fn rule_23_a_gaussian_threshold_without_l0_is_caught() {
    let (variance, delta) = (Ratio::from_integer(64), Ratio::new(1, 1_000_000));
    let alone = Selection::gaussian(1, &variance, &delta).unwrap();
    let many = Selection::gaussian(50, &variance, &delta).unwrap();
    assert!(alone.threshold < many.threshold && many.holds(50) && !alone.holds(50));
    let louder = Distribution::Gaussian { variance: Ratio::from_integer(65) };
    assert!(!Selection { noise: louder, ..many.clone() }.holds(50));
    let other = Distribution::Laplace { scale: Ratio::from_integer(8) };
    assert!(!Selection { noise: other, ..many.clone() }.holds(50));
    assert!(!Selection { noise: Distribution::None, ..many }.holds(50));
    let huge = Selection::gaussian(u32::MAX, &Ratio::from_integer(1 << 118), &delta).unwrap();
    assert!(huge.threshold > 1 << 61 && huge.holds(u32::MAX));
    assert!(Selection::gaussian(1, &Ratio::from_integer(0), &delta).is_err());
    assert_eq!(Selection::gaussian(0, &variance, &delta), Err(DpError::NoGroups));
    assert_eq!(Selection::gaussian(1, &variance, &Ratio::new(3, 4)), Err(DpError::SelectionDelta));
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

/// Weights of a unit keep to the norm of one group, however many it is in, and are as large as integers can be.
#[test]
fn weights_keep_to_their_norm() {
    for w in [1u32, 7, 1_000, crate::WHOLE, u32::MAX] {
        let whole = u128::from(w);
        for s in (1..3_000u32).chain([65_536, 1_000_003, u32::MAX]) {
            let groups = u128::from(s);
            let sum = Weights::Sum(w).in_each(s);
            assert!(sum * groups <= whole && (sum + 1) * groups > whole, "{w} {s}");
            let root = Weights::Squares(w).in_each(s);
            assert!(root * root * groups <= whole * whole, "{w} {s}");
            assert!((root + 1) * (root + 1) * groups > whole * whole, "{w} {s}");
        }
        assert_eq!(
            [Weights::Sum(w).sensitivity(9).l1, Weights::Squares(w).sensitivity(9).l2_squared],
            [whole, whole * whole]
        );
    }
    assert_eq!((Weights::Units.in_each(9), Weights::Units.sensitivity(9).l1), (1, 9));
}

/// P(X >= t) of the noise.
fn tail(noise: &Distribution, t: i128) -> f64 {
    match noise {
        Distribution::Laplace { scale } => {
            let b = float(scale);
            (-(t as f64) / b).exp() / (1.0 + (-1.0 / b).exp())
        }
        // Of so wide noise the sum is an integral, to parts in a million.
        Distribution::Gaussian { variance } => {
            libm::erfc((t as f64 - 0.5) / (2.0 * float(variance)).sqrt()) / 2.0
        }
        Distribution::None => 0.0,
    }
}

/// The largest probability, over all numbers of groups, that a unit which is alone in all of them makes one appear.
fn most(s: &Selection, l0: u32, threshold: i128) -> (u32, f64) {
    let of = |n: u32| {
        let weight = i128::try_from(s.weights.in_each(n)).unwrap();
        (n, -libm::expm1(f64::from(n) * libm::log1p(-tail(&s.noise, threshold - weight))))
    };
    (1..=l0).map(of).max_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
}

#[test]
fn thresholds_of_weights_keep_delta_in_any_number_of_groups() {
    let w = 1_000;
    let mut where_most = std::collections::BTreeSet::new();
    for of in [1u128, 4, 30] {
        for l0 in [1u32, 2, 5, 40, 300] {
            for exponent in [2u32, 6, 10] {
                let delta = Ratio::new(1, 10u128.pow(exponent));
                let wide = Ratio::from_integer(u128::from(w) * of / 2);
                let both = [
                    (Weights::Sum(w), Distribution::Laplace { scale: wide }),
                    (Weights::Squares(w), Distribution::Gaussian { variance: wide * wide }),
                ];
                for (weights, noise) in both {
                    let s = Selection::of(l0, weights, noise, &delta).unwrap();
                    let (groups, leak) = most(&s, l0, s.threshold);
                    where_most.insert(groups);
                    assert!(
                        s.holds(l0) && s.delta <= delta && leak <= float(&s.delta) * (1.0 + 1e-6) + 1e-28
                    );
                    // It is not far above what is needed: a twentieth lower it would not hold.
                    let lower = s.threshold * 19 / 20;
                    assert!(
                        most(&s, l0, lower).1 > float(&delta),
                        "{weights:?} {l0} {delta}: {}",
                        s.threshold
                    );
                    assert!(!Selection { threshold: lower, ..s.clone() }.holds(l0));
                    assert!(s.units() * 1_000 >= s.threshold && (s.units() - 1) * 1_000 < s.threshold);
                }
            }
        }
    }
    // Which number of groups gives most away differs: few, where weights count, or many.
    assert!(where_most.contains(&1) && where_most.contains(&300), "{where_most:?}");
}

/// Mutation: a threshold for as many groups as a unit may have, with their small weights, does not hold for a unit of one; one
/// for a unit of one group not for many; and weights of one norm not with noise for another.
#[test]
fn rule_23_a_threshold_for_one_number_of_groups_is_caught() {
    let (w, delta) = (1_000, Ratio::new(1, 1_000_000));
    let noise = Distribution::Gaussian { variance: Ratio::from_integer(30 * 30) };
    let s = Selection::of(100, Weights::Squares(w), noise, &delta).unwrap();
    let small = Selection::of(100, Weights::Units, noise, &delta).unwrap().threshold + 100;
    assert!(small < s.threshold && !Selection { threshold: small, ..s.clone() }.holds(100));
    let wide = Distribution::Laplace { scale: Ratio::from_integer(3_000) };
    let one = Selection::of(1, Weights::Sum(w), wide, &delta).unwrap();
    assert!(one.holds(1) && !one.holds(10_000));
    let laplace = Distribution::Laplace { scale: Ratio::from_integer(30) };
    for (weights, noise) in
        [(Weights::Sum(w), noise), (Weights::Squares(w), laplace), (Weights::Sum(0), laplace)]
    {
        assert!(Selection::of(3, weights, noise, &delta).is_err());
        assert!(!Selection { weights, noise, ..s.clone() }.holds(3));
    }
    // Numbers of units are not weights.
    assert!(
        !Selection {
            weights: Weights::Squares(w),
            ..Selection::of(3, Weights::Units, noise, &delta).unwrap()
        }
        .holds(3)
    );
}

/// The very sampler: of units that are alone in their groups none makes one appear more often than is stated, whatever number
/// of groups it has.
#[test]
fn the_sampler_passes_groups_of_small_weights_as_stated() {
    let delta = Ratio::new(1, 50);
    let both = [
        (Weights::Sum(12), Distribution::Laplace { scale: Ratio::from_integer(30) }),
        (Weights::Squares(12), Distribution::Gaussian { variance: Ratio::from_integer(300) }),
    ];
    for (weights, noise) in both {
        let s = Selection::of(6, weights, noise, &delta).unwrap();
        let (sampler, mut rng, rounds) = (s.sampler().unwrap(), SeededRng::new(12), 100_000);
        let stated = float(&s.delta) * f64::from(rounds);
        let mut largest = 0.0f64;
        for groups in 1..=6u32 {
            let weight = i128::try_from(weights.in_each(groups)).unwrap();
            let drawn = sampler.draw((rounds * groups) as usize, &mut rng).unwrap();
            let kept =
                drawn.chunks(groups as usize).filter(|x| x.iter().any(|x| weight + x >= s.threshold)).count()
                    as f64;
            assert!(kept < stated + 5.0 * stated.sqrt(), "{weights:?} {groups}: {kept} against {stated}");
            largest = largest.max(kept);
        }
        assert!(largest > 0.8 * stated, "{weights:?}: {largest} against {stated}");
    }
}
