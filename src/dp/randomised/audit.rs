//! For tests: everything a randomiser can say of each value, with exact masses, and how far these are apart.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::digits::Digits;
use crate::decision_tree::{Script, enumerate};
use crate::exp::{PRECISION, exp_neg};
use crate::{EntropyError, Ratio};
use num_bigint::BigUint;
use std::collections::BTreeMap;

/// Few digits at once, so that trees are small.
pub(super) const FEW: Digits = Digits { coin: 2, other: 4, lanes: (2, 1) };

/// Law of a report about one value: decided masses in units of 2^-depth, and the mass that is open.
pub(super) type Law<T> = (BTreeMap<T, u64>, u64);

/// The laws of values 0, …, count-1.
pub(super) fn laws<T: Ord>(
    depth: u32,
    count: u32,
    f: impl Fn(u32, &mut Script) -> Result<T, EntropyError>,
) -> Vec<Law<T>> {
    (0..count).map(|value| enumerate(depth, |rng| f(value, rng))).collect()
}

/// Proof by enumeration of the loss between any two values: `within` if no report contradicts ε-DP;
/// and `near` is a lower bound of the largest ratio of two probabilities.
pub(super) struct Loss {
    pub(super) within: bool,
    pub(super) near: f64,
}

/// Of every report y and values a, b: P(y | a) >= decided, P(y | b) <= decided + open, and their ratio is to be at most e^ε,
/// compared in integers with a bound of e^-ε.
pub(super) fn loss<T: Ord + Clone>(laws: &[Law<T>], epsilon: &Ratio) -> Loss {
    let (low, _) = exp_neg(&BigUint::from(*epsilon.numer()), &BigUint::from(*epsilon.denom()));
    let mut found = Loss { within: true, near: 0.0 };
    for (a, _) in laws {
        for (y, mass) in a {
            for (b, open) in laws {
                let most = b.get(y).copied().unwrap_or_default() + open;
                found.within &= &low * *mass <= BigUint::from(most) << PRECISION;
                found.near = found.near.max(*mass as f64 / most as f64);
            }
        }
    }
    found
}

/// Whether a law is consistent with the probabilities of a formula.
pub(super) fn agrees<T: Ord>(law: &Law<T>, depth: u32, p: impl Fn(&T) -> f64) -> bool {
    let scale = f64::from(1u32 << depth);
    law.0.iter().all(|(y, mass)| {
        let (decided, open) = (*mass as f64 / scale, law.1 as f64 / scale);
        decided <= p(y) + 1e-12 && decided + open >= p(y) - 1e-12
    })
}

/// The rows of golden.txt that begin with these words.
pub(super) fn golden(first: &str) -> Vec<Vec<&'static str>> {
    let rows = include_str!("golden.txt").lines().map(|line| line.split(' ').collect::<Vec<_>>());
    rows.filter(|row| row[0] == first).collect()
}

/// A rational as golden.txt has it.
pub(super) fn ratio(text: &str) -> Ratio {
    text.parse().unwrap()
}

/// The same number but for the last digits of floats.
pub(super) fn near(ours: f64, text: &str) -> bool {
    let theirs: f64 = text.parse().unwrap();
    (ours - theirs).abs() <= 1e-11 * theirs.abs() + 1e-13
}
