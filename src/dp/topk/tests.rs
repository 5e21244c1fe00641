#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::testing::SeededRng;
use std::collections::BTreeMap;

/// The exact distribution of peeling.
fn distribution(counts: &[u64], k: usize, factor: f64) -> BTreeMap<Vec<usize>, f64> {
    let mut out = BTreeMap::from([(vec![], 1.0)]);
    for _ in 0..k {
        let mut next = BTreeMap::new();
        for (chosen, p) in out {
            let left: Vec<usize> = (0..counts.len()).filter(|i| !chosen.contains(i)).collect();
            let total: f64 = left.iter().map(|i| (factor * counts[*i] as f64).exp()).sum();
            for i in left {
                let key: Vec<usize> = chosen.iter().copied().chain([i]).collect();
                *next.entry(key).or_insert(0.0) += p * (factor * counts[i] as f64).exp() / total;
            }
        }
        out = next;
    }
    out
}

fn float(r: &Ratio) -> f64 {
    *r.numer() as f64 / *r.denom() as f64
}

/// All units of four candidates, from all small counts: within ε, and near it. Mutation: a unit that counts twice is more.
#[test]
fn every_neighbour_is_within_epsilon() {
    let top = TopK::new(2, 1, &Ratio::from_integer(2), Selector::Exponential).unwrap();
    assert_eq!((top.factor, top.choices()), (Ratio::from_integer(1), 2));
    let worst = |step: u64| {
        let mut worst = 0.0f64;
        for base in [[0u64, 0, 0, 0], [3, 2, 1, 0], [5, 5, 0, 1]] {
            let here = distribution(&base, 2, float(&top.factor));
            for unit in 0..16u64 {
                let there: Vec<u64> = (0..4).map(|i| base[i] + step * (unit >> i & 1)).collect();
                for (key, p) in distribution(&there, 2, float(&top.factor)) {
                    worst = worst.max((p / here[&key]).ln().abs());
                }
            }
        }
        worst
    };
    assert!(worst(1) <= 2.0 + 1e-9 && worst(1) > 1.0, "{}", worst(1));
    assert!(worst(2) > 2.1, "{}", worst(2));
}

#[test]
fn choices_have_the_exact_probabilities() {
    let counts = [4u64, 2, 3, 0];
    let mut rng = SeededRng::new(14);
    for selector in [Selector::Exponential, Selector::PermuteAndFlip] {
        let top = TopK::new(2, 2, &Ratio::from_integer(2), selector).unwrap();
        let expected = distribution(&counts, 2, 0.5);
        let rounds = 6000;
        let mut seen: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        for _ in 0..rounds {
            *seen.entry(top.choose(&counts, &mut rng).unwrap()).or_default() += 1.0;
        }
        let right = seen.get([0, 2].as_slice()).copied().unwrap_or_default() / f64::from(rounds);
        if selector == Selector::PermuteAndFlip {
            assert!(right > expected[[0, 2].as_slice()], "it errs less at the same ε");
            continue;
        }
        for (key, p) in expected {
            let (n, seen) = (p * f64::from(rounds), seen.get(&key).copied().unwrap_or_default());
            assert!((seen - n).abs() <= 5.0 * n.sqrt() + 2.0, "{key:?}: {seen} against {n}");
        }
    }
}

#[test]
fn the_most_frequent_come_first() {
    let mut rng = SeededRng::new(1);
    let counts: Vec<u64> = (0..50).map(|i| (i * 37 % 50) * 1000).collect();
    let top = TopK::new(3, 1, &Ratio::from_integer(3), Selector::Exponential).unwrap();
    let chosen = top.choose(&counts, &mut rng).unwrap();
    assert_eq!(chosen.iter().map(|i| counts[*i]).collect::<Vec<_>>(), [49_000, 48_000, 47_000]);
    let mode = TopK::mode(1, &Ratio::from_integer(1), Selector::PermuteAndFlip).unwrap();
    assert_eq!(mode.choose(&counts, &mut rng).unwrap(), [chosen[0]]);
    assert_eq!(mode.guarantee_of_a_choice(), Guarantee::Pure { epsilon: Ratio::from_integer(1) });
    assert_eq!(top.guarantee_of_a_choice(), Guarantee::BoundedRange { epsilon: Ratio::from_integer(1) });
}

#[test]
fn edges() {
    let mut rng = SeededRng::new(1);
    let top = TopK::new(5, 1, &Ratio::from_integer(1000), Selector::Exponential).unwrap();
    assert_eq!(top.choose(&[], &mut rng).unwrap(), Vec::<usize>::new());
    assert_eq!(top.choose(&[0, u64::MAX, 7], &mut rng).unwrap(), [1, 2, 0]);
    assert!(TopK::new(0, 1, &Ratio::from_integer(1), Selector::Exponential).is_err());
    assert!(TopK::new(1, 0, &Ratio::from_integer(1), Selector::Exponential).is_err());
    assert_eq!(TopK::mode(1, &Ratio::from_integer(0), Selector::Exponential), Err(DpError::Epsilon));
}
