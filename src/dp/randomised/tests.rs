#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::decision_tree::enumerate;
use crate::randomised::audit;
use crate::testing::SeededRng;
use crate::{Guarantee, Ratio};

fn response(answers: u32, n: u128, d: u128) -> RandomisedResponse {
    RandomisedResponse::new(answers, &Ratio::new(n, d)).unwrap()
}

/// Decided masses are at most p and q, and open paths make up the rest.
#[test]
fn the_decision_tree_has_the_exact_probabilities() {
    let depth = 18;
    for (k, n, d) in [(2u32, 1u128, 1u128), (2, 1, 3), (3, 1, 2), (4, 5, 2), (5, 1, 1)] {
        let rr = response(k, n, d);
        let (p, q) = rr.probabilities();
        assert!(
            (p / q - (n as f64 / d as f64).exp()).abs() < 1e-12 * p / q
                && (p + f64::from(k - 1) * q - 1.0).abs() < 1e-12
        );
        let (masses, open) =
            enumerate(depth, |rng| Ok(rr.draw_from(audit::FEW, rng)?.report(k - 1).unwrap()));
        let scale = f64::from(1u32 << depth);
        assert_eq!(masses.len(), k as usize);
        for (said, mass) in masses {
            let expected = if said == k - 1 { p } else { q };
            let decided = mass as f64 / scale;
            assert!(
                decided <= expected + 1e-12 && decided + open as f64 / scale >= expected - 1e-12,
                "{k} {n}/{d} {said}"
            );
        }
        assert!((open as f64) < 0.2 * scale, "{k} {n}/{d}: {open}");
    }
}

/// The estimator is unbiased: applied to the expected reports, it gives the true counts back. Mutation: with the reports
/// themselves it would not.
#[test]
fn estimates_are_unbiased() {
    for (k, n, d) in [(2u32, 1u128, 2u128), (4, 1, 1), (10, 3, 1)] {
        let rr = response(k, n, d);
        let (p, q) = rr.probabilities();
        let truth: Vec<u64> = (0..u64::from(k)).map(|i| 1_000_000_000 * (i + 1)).collect();
        let all: u64 = truth.iter().sum();
        let reports: Vec<u64> =
            truth.iter().map(|c| (*c as f64 * p + (all - c) as f64 * q).round() as u64).collect();
        let estimates = rr.estimate(&reports).unwrap();
        for ((estimate, count), report) in estimates.iter().zip(&truth).zip(&reports) {
            assert!((estimate / *count as f64 - 1.0).abs() < 1e-7, "{estimate} for {count}");
            assert!(k == 2 || (*report as f64 / *count as f64 - 1.0).abs() > 1e-3);
        }
        assert!((estimates.iter().sum::<f64>() / all as f64 - 1.0).abs() < 1e-12);
    }
}

/// Mean and deviation of estimates over many surveys.
#[test]
fn estimates_have_the_stated_error() {
    let rr = response(3, 1, 1);
    let mut rng = SeededRng::new(12);
    let truth = [60u64, 30, 10];
    let surveys = 3000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..surveys {
        let mut reports = [0u64; 3];
        for (answer, count) in (0u32..).zip(truth) {
            for _ in 0..count {
                reports[rr.draw(&mut rng).unwrap().report(answer).unwrap() as usize] += 1;
            }
        }
        let estimate = rr.estimate(&reports).unwrap()[0];
        sum += estimate;
        squares += (estimate - 60.0).powi(2);
    }
    let deviation = rr.deviation(100, 60);
    let n = f64::from(surveys);
    assert!((sum / n - 60.0).abs() < 5.0 * deviation / n.sqrt(), "{}", sum / n);
    assert!(((squares / n).sqrt() / deviation - 1.0).abs() < 0.06, "{}", (squares / n).sqrt() / deviation);
}

/// The loss between any two answers is ε and no more.
#[test]
fn reports_are_within_epsilon() {
    for (k, n, d) in [(2u32, 1u128, 10u128), (7, 2, 1)] {
        let rr = response(k, n, d);
        let (p, q) = rr.probabilities();
        let given = |x: u32, y: u32| if x == y { p } else { q };
        let mut worst = 0.0f64;
        for y in 0..k {
            for (a, b) in (0..k).flat_map(|a| (0..k).map(move |b| (a, b))) {
                worst = worst.max((given(a, y) / given(b, y)).ln());
            }
        }
        assert!((worst - n as f64 / d as f64).abs() < 1e-12);
        assert_eq!(rr.guarantee(), Guarantee::Pure { epsilon: Ratio::new(n, d) });
    }
}

#[test]
fn edges() {
    let mut rng = SeededRng::new(3);
    let sure = response(u32::MAX, 200, 1);
    assert_eq!(sure.draw(&mut rng).unwrap().report(u32::MAX - 1), Some(u32::MAX - 1));
    assert_eq!(sure.draw(&mut rng).unwrap().report(u32::MAX), None);
    let long = RandomisedResponse::new(2, &Ratio::new((1 << 95) + 1, 1 << 95)).unwrap();
    let ones = (0..4000).filter(|_| long.draw(&mut rng).unwrap().report(0) == Some(1)).count();
    assert!((950..1200).contains(&ones), "{ones}"); // 1/(1+e) of 4000 is 1076
    assert!(response(3, 1, 1).estimate(&[1, 2]).is_none());
    assert!(RandomisedResponse::new(1, &Ratio::from_integer(1)).is_err());
    assert!(RandomisedResponse::new(2, &Ratio::from_integer(0)).is_err());
    assert!(RandomisedResponse::new(2, &Ratio::new(1 << 97, 3)).is_err());
}
