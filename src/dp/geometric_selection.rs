//! The best selection of private groups where a unit touches one group only.
//!
//! Desfontaines, Voss and Gipson, "Differentially Private Partition Selection" (2022), Theorem 1: among all (ε, δ)-DP
//! rules that keep a group by its number of units, this one keeps each group with the greatest probability.

use super::exp::{div_ceil, exp_neg_to};
use super::guarantee::Guarantee;
use super::{DpError, Entropy, EntropyError, Ratio};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

/// Keeps a group of n units with probability π(n-(k-1)), where π(0) = 0 and
/// π(n+1) = min(e^ε·π(n) + δ, 1 - e^-ε·(1 - π(n) - δ), 1).
///
/// Guarantee: (ε, δ)-DP for add/remove neighbours where each unit is in at most one group: for every n,
/// π(n+1) <= e^ε·π(n) + δ and 1 - π(n) <= e^ε·(1 - π(n+1)) + δ, and the mirrored two. The set of groups that have units
/// need not be public, because π(0) = 0. Where units touch l0 > 1 groups, this does not hold: use a threshold
/// ([`super::Selection`]).
///
/// A least number of units k shifts the argument (soundness rule 5); the guarantee holds for any shift, and groups of
/// fewer than k units are never kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeometricSelection {
    epsilon: Ratio,
    delta: Ratio,
    minimum: u32,
    /// Up to here π grows by its first branch: n₁ of the paper.
    crossover: u64,
}

/// Bits of a first comparison.
const DIGITS: u64 = 128;

/// Bits of bounds beyond those that are compared: 1 - e^-ε loses some 40 of them, e^(nε) some 200.
const GUARD: u64 = 320;

type Bounds = (BigUint, BigUint);

impl GeometricSelection {
    /// 2^-40 <= ε <= 64, 2^-96 <= δ <= 1/2, and k = `minimum` >= 1 (1: no minimum).
    pub fn new(epsilon: &Ratio, delta: &Ratio, minimum: u32) -> Result<Self, DpError> {
        if *epsilon.denom() == 0 || *epsilon < Ratio::new(1, 1 << 40) || *epsilon > Ratio::from_integer(64) {
            return Err(DpError::OutOfRange("epsilon of a selection"));
        }
        if !super::certified::is_usual_delta(delta) {
            return Err(DpError::SelectionDelta);
        }
        if minimum == 0 {
            return Err(DpError::OutOfRange("the least number of units is 1 or more"));
        }
        let mut new = Self { epsilon: epsilon.reduced(), delta: delta.reduced(), minimum, crossover: 0 };
        // The first branch holds from n to n+1 while π(n) <= (1-δ)/(1+e^ε); it does for n = 0, and not where e^(-nε) < δ/2.
        let (mut low, mut high) = (0u64, 1u64 << 48);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if new.grows(middle) { low = middle } else { high = middle }
        }
        new.crossover = low + 1;
        Ok(new)
    }

    /// What a use promises.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee::Approximate { epsilon: self.epsilon, delta: self.delta }
    }

    /// Bounds of e^(-nε).
    fn power(&self, n: u64, precision: u64) -> Bounds {
        let (e, d) = (BigUint::from(*self.epsilon.numer()) * n, BigUint::from(*self.epsilon.denom()));
        if e.is_zero() {
            let one = BigUint::one() << precision;
            return (one.clone(), one);
        }
        exp_neg_to(&e, &d, precision)
    }

    /// Whether π(n) <= (1-δ)/(1+e^ε), for the π of the first branch; with y = e^-ε that is
    /// δ·(1+y)·(1-yⁿ) <= (1-δ)·(1-y)·yⁿ. Both sides differ for every n, because e^ε is transcendental.
    fn grows(&self, n: u64) -> bool {
        let (p, q) = (BigUint::from(*self.delta.numer()), BigUint::from(*self.delta.denom()));
        let mut precision = GUARD + DIGITS;
        loop {
            let one = BigUint::one() << precision;
            let (y, power) = (self.power(1, precision), self.power(n, precision));
            let left = |y: &BigUint, power: &BigUint| &p * (&one + y) * (&one - power);
            let right = |y: &BigUint, power: &BigUint| (&q - &p) * (&one - y) * power;
            if left(&y.1, &power.0) <= right(&y.1, &power.0) {
                return true;
            }
            if left(&y.0, &power.1) > right(&y.0, &power.1) {
                return false;
            }
            precision *= 2;
        }
    }

    /// Bounds of π(n) for n >= 1, in units of 2^-`precision`, a few units apart.
    fn keep_probability(&self, n: u64, precision: u64) -> Bounds {
        let work = precision + GUARD;
        let one = BigUint::one() << work;
        let (p, q) = (BigUint::from(*self.delta.numer()), BigUint::from(*self.delta.denom()));
        let y = self.power(1, work);
        // δ/(e^ε-1) = δ·y/(1-y), rising in y.
        let rate = (
            ((&p * &y.0) << work) / (&q * (&one - &y.0)),
            div_ceil((&p * &y.1) << work, &(&q * (&one - &y.1))),
        );
        // π(n) = δ·(e^(nε)-1)/(e^ε-1), rising in e^(nε).
        let first = |n: u64| {
            let power = self.power(n, work);
            let low = &rate.0 * (&one - &power.1) / &power.1;
            let high = div_ceil(&rate.1 * (&one - &power.0), &power.0);
            (low, high)
        };
        let (low, high) = if n <= self.crossover {
            first(n)
        } else {
            // 1 - π(n) = m·(1 - π(n₁)) - (1-m)·δ/(e^ε-1) with m = e^(-(n-n₁)ε), rising in m; never below 0.
            let start = first(self.crossover);
            let m = self.power(n - self.crossover, work);
            let left = |m: &BigUint, start: &BigUint, rate: &BigUint| {
                let (plus, minus) = (m * (&one - start.min(&one)), (&one - m) * rate);
                if plus > minus { (plus - minus) >> work } else { BigUint::zero() }
            };
            let rest_low = left(&m.0, &start.1, &rate.1);
            let rest_high = left(&m.1, &start.0, &rate.0) + 1u8;
            (if rest_high < one { &one - rest_high } else { BigUint::zero() }, &one - rest_low)
        };
        (low >> GUARD, super::exp::shift_ceil(high.min(one), GUARD))
    }

    /// Whether a group of `units` units is kept.
    ///
    /// 128 bits are drawn for every group, whatever its size; more only where these do not tell (once in about 2^120).
    pub fn keep(&self, units: u64, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
        self.keep_by(DIGITS, units, rng)
    }

    fn keep_by(&self, first: u64, units: u64, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
        let shifted = units.saturating_sub(u64::from(self.minimum) - 1);
        let (mut drawn, mut digits) = (BigUint::zero(), 0u64);
        loop {
            let more = first.min(128);
            drawn = (drawn << more) + rng.bits(u32::try_from(more).unwrap_or(128))?;
            digits += more;
            if shifted == 0 {
                return Ok(false);
            }
            // U is in [drawn, drawn+1)·2^-digits, and is compared with bounds to 64 digits more.
            let (low, high) = self.keep_probability(shifted, digits + 64);
            if (&drawn + 1u8) << 64u8 <= low {
                return Ok(true);
            }
            if &drawn << 64u8 >= high {
                return Ok(false);
            }
        }
    }

    /// The probability that a group of `units` units is kept, rounded to a float: public, for display.
    pub fn probability(&self, units: u64) -> f64 {
        match units.saturating_sub(u64::from(self.minimum) - 1) {
            0 => 0.0,
            n => self.keep_probability(n, DIGITS).1.to_f64().map_or(1.0, |p| libm::ldexp(p, -128)),
        }
    }
}

#[cfg(test)]
mod tests;
