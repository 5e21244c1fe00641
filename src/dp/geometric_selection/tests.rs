#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::decision_tree::enumerate;
use crate::testing::SeededRng;

fn ratio(text: &str) -> Ratio {
    crate::ratio(&text.parse().unwrap()).unwrap()
}

fn selection(epsilon: &str, delta: &str, minimum: u32) -> GeometricSelection {
    GeometricSelection::new(&ratio(epsilon), &ratio(delta), minimum).unwrap()
}

/// π by the recurrence of the paper, in floats.
fn recurrence(epsilon: f64, delta: f64, n: usize) -> Vec<f64> {
    let mut pi = vec![0.0];
    for i in 0..n {
        let p: f64 = pi[i];
        pi.push((epsilon.exp() * p + delta).min(1.0 - (-epsilon).exp() * (1.0 - p - delta)).min(1.0));
    }
    pi
}

#[test]
fn probabilities_are_those_of_the_golden_table() {
    for (epsilon, delta, n, expected) in [
        ("1", "1e-5", 1, 0.000_01),
        ("1", "1e-5", 10, 0.128_183_080_505_246_04),
        ("1", "1e-5", 13, 0.911_827_022_287_367_7),
        ("0.5", "1e-6", 25, 0.413_638_797_801_826_83),
    ] {
        let p = selection(epsilon, delta, 1).probability(n);
        assert!((p / expected - 1.0).abs() < 1e-14, "{epsilon} {delta} {n}: {p}");
    }
}

/// Closed form and recurrence agree, bounds are tight, and each step is private and cannot be greater.
#[test]
fn every_step_is_private_and_the_greatest_that_is() {
    for (epsilon, delta) in
        [("1", "1e-5"), ("0.1", "1e-9"), ("3", "0.01"), ("0.001", "0.1"), ("8", "1e-12"), ("0.5", "0.5")]
    {
        let s = selection(epsilon, delta, 1);
        let (e, d): (f64, f64) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let pi = recurrence(e, d, 600);
        let mut last = 0.0;
        for n in 1..=600u64 {
            let (low, high) = s.keep_probability(n, DIGITS);
            assert!(low <= high && &high - &low <= BigUint::from(4u8), "{epsilon} {delta} {n}");
            let p = s.probability(n);
            assert!((p - pi[n as usize]).abs() <= 1e-10 * p, "{epsilon} {delta} {n}: {p}");
            // Both ratios, kept and dropped, in both directions.
            let near = 1e-12;
            assert!(p <= e.exp() * last + d + near && last <= e.exp() * p + d);
            assert!(1.0 - last <= e.exp() * (1.0 - p) + d + near && 1.0 - p <= e.exp() * (1.0 - last) + d);
            let slack = (e.exp() * last + d - p).min(e.exp() * (1.0 - p) + d - (1.0 - last)).min(1.0 - p);
            assert!(slack <= 1e-9, "{epsilon} {delta} {n}: {slack} are given away");
            last = p;
        }
    }
}

/// Mutations: e^ε in place of ε's own step, a swapped δ, and l0 forgotten are all more than (ε, δ).
#[test]
fn a_greater_probability_is_caught() {
    let private = |pi: &[f64], e: f64, d: f64| {
        pi.windows(2)
            .all(|w| w[1] <= e.exp() * w[0] + d + 1e-12 && 1.0 - w[0] <= e.exp() * (1.0 - w[1]) + d + 1e-12)
    };
    let of = |epsilon: &str, delta: &str| {
        let s = selection(epsilon, delta, 1);
        (0..60).map(|n| s.probability(n)).collect::<Vec<_>>()
    };
    assert!(private(&of("0.5", "1e-3"), 0.5, 1e-3));
    assert!(!private(&of("0.51", "1e-3"), 0.5, 1e-3));
    assert!(!private(&of("0.001", "0.5"), 0.5, 1e-3), "a swapped δ");
    // Two groups of one unit: either is kept with probability 1-(1-δ)², which is more than δ.
    let p = of("0.5", "1e-3")[1];
    assert!(1.0 - (1.0 - p).powi(2) > 1.9e-3, "l0 = 2 is not covered");
}

/// Mutation: a minimum as a filter before the selection. At the step the probability jumps from nothing to π(k).
#[test]
fn rule_05_a_minimum_shifts_and_does_not_filter() {
    let (e, d, k) = (1.0f64, 1e-5, 20);
    let shifted = selection("1", "1e-5", k);
    let plain = selection("1", "1e-5", 1);
    for n in 0..80u64 {
        assert_eq!(shifted.probability(n), plain.probability(n.saturating_sub(19)));
        let step = shifted.probability(n + 1);
        assert!(step <= e.exp() * shifted.probability(n) + d + 1e-15);
    }
    assert_eq!(shifted.probability(19), 0.0);
    let filtered = |n: u64| if n >= u64::from(k) { plain.probability(n) } else { 0.0 };
    assert!(filtered(20) > e.exp() * filtered(19) + 1000.0 * d, "a filter gives δ away at the step");
    let mut rng = SeededRng::new(3);
    assert!((0..1000).all(|_| !shifted.keep(19, &mut rng).unwrap()));
}

/// Decided masses are at most the probability, and open paths make up the rest.
#[test]
fn the_decision_tree_has_the_exact_probabilities() {
    let depth = 16;
    let s = selection("0.7", "0.03", 2);
    for units in 0..20u64 {
        for width in [1, 3] {
            let (masses, open) = enumerate(depth, |rng| s.keep_by(width, units, rng));
            let kept = *masses.get(&true).unwrap_or(&0) as f64 / f64::from(1u32 << depth);
            let open = open as f64 / f64::from(1u32 << depth);
            let p = s.probability(units);
            assert!(kept <= p + 1e-15 && kept + open >= p - 1e-15, "{units}: {kept} + {open} for {p}");
            assert!(open < 1e-3);
        }
    }
}

#[test]
fn extreme_parameters_are_exact_or_refused() {
    let s = GeometricSelection::new(&Ratio::new(1, 1 << 40), &Ratio::new(1, 1 << 96), 1).unwrap();
    assert!(s.probability(1) > 0.0 && s.probability(1 << 47) > 0.99 && s.probability(u64::MAX) == 1.0);
    let s = GeometricSelection::new(&ratio("64"), &Ratio::new(1, 1 << 96), u32::MAX).unwrap();
    assert_eq!(s.probability(u64::from(u32::MAX) - 1), 0.0);
    assert!((s.probability(u64::from(u32::MAX)) / libm::ldexp(1.0, -96) - 1.0).abs() < 1e-9);
    for (e, d, k) in [
        ("0", "0.1", 1),
        ("65", "0.1", 1),
        ("1", "0.6", 1),
        ("1", "0", 1),
        ("1", "1e-30", 1),
        ("1", "0.1", 0),
    ] {
        assert!(GeometricSelection::new(&ratio(e), &ratio(d), k).is_err(), "{e} {d} {k}");
    }
}

struct Counting(SeededRng, usize);

impl Entropy for Counting {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        self.1 += 1;
        self.0.next_u64()
    }
}

/// Every group takes two random words, those that cannot be kept and those that cannot be dropped as well.
#[test]
fn the_cost_of_a_selection_does_not_depend_on_the_units() {
    let s = selection("0.3", "1e-6", 5);
    let mut rng = Counting(SeededRng::new(8), 0);
    for (done, units) in [0u64, 1, 4, 5, 6, 40, 60, 1000, u64::MAX].into_iter().cycle().take(900).enumerate()
    {
        s.keep(units, &mut rng).unwrap();
        assert_eq!(rng.1, 2 * (done + 1));
    }
}
