//! Choosing one of several candidates by integer scores, exactly: the exponential mechanism and permute-and-flip.
//!
//! Both look at every candidate, whichever is chosen.

use super::bernoulli::{bernoulli_exp, bernoulli_exp_times, bernoulli_exp_wide, uniform_below};
use super::exp::exp_neg_to;
use super::{DpError, Entropy, EntropyError, Ratio};
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

/// Candidates of a choice, and the weight of a score.
///
/// With scores that one unit changes by at most Δ and `factor` = ε/(2Δ), both mechanisms are
/// ε-differentially private for add/remove neighbours; so they are with ε/Δ where a unit moves all
/// scores in the same direction. Candidates, weights and factor are public; only scores come from
/// rows.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    scores: &'a [i64],
    weights: Option<&'a [u64]>,
    factor: Ratio,
}

impl<'a> Candidates<'a> {
    /// At least one candidate; `factor` is above zero.
    pub fn new(scores: &'a [i64], factor: &Ratio) -> Result<Self, DpError> {
        if scores.is_empty() {
            return Err(DpError::OutOfRange("nothing to choose from"));
        }
        if *factor.numer() == 0 || *factor.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        Ok(Self { scores, weights: None, factor: factor.reduced() })
    }

    /// The same with public weights, one for each candidate and not all zero: for the exponential mechanism only.
    pub fn weighted(self, weights: &'a [u64]) -> Result<Self, DpError> {
        if weights.len() != self.scores.len() || weights.iter().all(|w| *w == 0) {
            return Err(DpError::OutOfRange("one weight for each candidate, not all zero"));
        }
        Ok(Self { weights: Some(weights), ..self })
    }

    /// How far each score is below the best, all at once.
    fn gaps(&self) -> impl Iterator<Item = u64> {
        let best = self.scores.iter().copied().max().unwrap_or_default();
        self.scores.iter().map(move |s| best.abs_diff(*s))
    }

    /// x = gap·factor as a fraction.
    fn exponent(&self, gap: u64) -> (BigUint, BigUint) {
        (BigUint::from(*self.factor.numer()) * gap, BigUint::from(*self.factor.denom()))
    }

    /// The exponential mechanism (McSherry and Talwar 2007): the index of candidate i with probability proportional to
    /// weightᵢ·e^(factor·scoreᵢ).
    ///
    /// Guarantee: ε-DP, and moreover ε-bounded-range (Durfee and Rogers 2019), so ε²/8-zCDP (Cesar and Rogers 2021).
    ///
    /// One uniform number is compared with the cumulative weights. These are enclosed by outward-rounded integer
    /// arithmetic; where an enclosure does not tell, it is narrowed and the number gets more digits.
    pub fn exponential(&self, rng: &mut impl Entropy) -> Result<usize, EntropyError> {
        self.exponential_from(128, rng)
    }

    /// A choice that begins with `first` bits of digits, at least 1.
    pub(super) fn exponential_from(&self, first: u64, rng: &mut impl Entropy) -> Result<usize, EntropyError> {
        let (mut drawn, mut digits) = (BigUint::zero(), 0u64);
        loop {
            let more = if digits == 0 { first } else { digits };
            for left in (0..more).step_by(64).map(|done| (more - done).min(64)) {
                drawn = (drawn << left) + rng.bits(u32::try_from(left).unwrap_or(64))?;
            }
            digits += more;
            if let Some(index) = self.find(&drawn, digits) {
                return Ok(index);
            }
        }
    }

    /// The candidate whose share of the whole holds every U in [drawn, drawn+1)·2^-digits, if bounds of e^-x to some more
    /// digits tell.
    fn find(&self, drawn: &BigUint, digits: u64) -> Option<usize> {
        let precision = digits + 64;
        let mut bounds = Vec::with_capacity(self.scores.len());
        let (mut low, mut high) = (BigUint::zero(), BigUint::zero());
        for (index, gap) in self.gaps().enumerate() {
            let (n, d) = self.exponent(gap);
            let (l, h) = if gap == 0 {
                (BigUint::from(1u8) << precision, BigUint::from(1u8) << precision)
            } else {
                exp_neg_to(&n, &d, precision)
            };
            let weight = self.weights.map_or(1, |w| w.get(index).copied().unwrap_or_default());
            // From here up to the next is this candidate's share.
            let start = (low.clone(), high.clone());
            low += l * weight;
            high += h * weight;
            bounds.push((start, (low.clone(), high.clone())));
        }
        // U·total for the least and the greatest total and U.
        let (least, most) = (drawn * &low, (drawn + 1u8) * &high);
        let mut found = None;
        for (index, ((_, start_high), (end_low, _))) in bounds.iter().enumerate() {
            if start_high << digits <= least && most <= end_low << digits && start_high < end_low {
                found = Some(index);
            }
        }
        found
    }

    /// Permute-and-flip (McKenna and Sheldon 2020): candidates in random order, each taken with probability
    /// e^(-factor·gap); the index of the first that is. Weights are not looked at.
    ///
    /// Guarantee: ε-DP. It is *not* bounded-range, so it costs ε·tanh(ε/2) in zCDP like any ε-DP mechanism (soundness
    /// rule 20).
    ///
    /// Every candidate's coin is flipped, also after the first that came up.
    pub fn permute_and_flip(&self, rng: &mut impl Entropy) -> Result<usize, EntropyError> {
        let gaps: Vec<u64> = self.gaps().collect();
        let mut left: Vec<usize> = (0..gaps.len()).collect();
        let mut chosen = None;
        while !left.is_empty() {
            let place = uniform_below(left.len() as u64, rng)?;
            let index = left.swap_remove(usize::try_from(place).unwrap_or_default());
            // The best one always comes up, so something is chosen.
            let gap = gaps.get(index).copied().unwrap_or_default();
            if self.flip(gap, rng)? && chosen.is_none() {
                chosen = Some(index);
            }
        }
        Ok(chosen.unwrap_or_default())
    }

    /// True with probability e^(-factor·gap).
    fn flip(&self, gap: u64, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
        let d = *self.factor.denom();
        if let Some(n) = self.factor.numer().checked_mul(gap.into()) {
            let whole = u64::try_from(n / d).unwrap_or(u64::MAX);
            return Ok(bernoulli_exp_times(whole, rng)?
                && match (u64::try_from(n % d), u64::try_from(d)) {
                    (Ok(r), Ok(d)) => bernoulli_exp(r, d, rng)?,
                    _ => bernoulli_exp(n % d, d, rng)?,
                });
        }
        let (n, d) = self.exponent(gap);
        let (whole, r) = n.div_rem(&d);
        let whole = whole.to_u64().unwrap_or(u64::MAX);
        Ok(bernoulli_exp_times(whole, rng)? && bernoulli_exp_wide(&r, &d, 64, rng)?)
    }
}

#[cfg(test)]
mod tests;
