//! Several values of each unit: pad-and-sample.

use super::oracle::{Oracle, RandomiseError, Report};
use super::response::deviation;
use crate::bernoulli::uniform_below;
use crate::{DpError, Entropy, Guarantee};

/// Sets of at most l values of 0, …, k-1 to reports of an oracle over k+1 values, of which the last is "none".
///
/// Qin et al., "Heavy Hitter Estimation over Set-Valued Data with Local Differential Privacy" (2016), section 4.1: a set is
/// filled up to l with "none", one of the l is drawn uniformly, and that one is randomised.
///
/// Guarantee: ε-DP in the local sense, for replacing a unit's whole set by any other, by one report: whichever value was drawn,
/// the report is ε-DP in it, and a mixture of such reports is. How many values a unit has is hidden too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sets {
    oracle: Oracle,
    most: u32,
}

impl Sets {
    /// Sets of at most `most` >= 1 values, by an oracle whose last value is "none".
    pub fn new(oracle: Oracle, most: u32) -> Result<Self, DpError> {
        if most == 0 || most > 1 << 16 {
            return Err(DpError::OutOfRange("a set has from 1 to 65536 values"));
        }
        Ok(Self { oracle, most })
    }

    /// The oracle that randomises the value that is drawn.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }

    /// l.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// k.
    pub fn values(&self) -> u32 {
        self.oracle.values() - 1
    }

    /// Guarantee of one report to its unit, in the local sense.
    pub fn guarantee(&self) -> Guarantee {
        self.oracle.guarantee()
    }

    /// A report in the place of a set, in any order.
    ///
    /// # Errors
    /// There are more than l values, one lies outside of the domain or is there twice, or there is no entropy.
    pub fn randomise(&self, set: &[u32], rng: &mut impl Entropy) -> Result<Report, RandomiseError> {
        if set.len() > usize::try_from(self.most).unwrap_or(usize::MAX) {
            return Err(RandomiseError::TooMany);
        }
        if set.iter().any(|value| *value >= self.values()) {
            return Err(RandomiseError::Outside);
        }
        let mut sorted = set.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair.first() == pair.last()) {
            return Err(RandomiseError::Twice);
        }
        let place = uniform_below(u64::from(self.most), rng)?;
        // All l places are looked at, whichever was drawn and however many are filled.
        let filled = set.iter().copied().chain(std::iter::repeat(self.values()));
        let drawn = (0..u64::from(self.most)).zip(filled).fold(0, |drawn, (at, value)| {
            let here = u32::from(at == place).wrapping_neg();
            drawn | (value & here)
        });
        self.oracle.randomise(drawn, rng)
    }

    /// p and q: what a report supports a value of the unit's set with, and each other one:
    /// q + (p-q)/l and q of the oracle's.
    pub fn probabilities(&self) -> (f64, f64) {
        let (p, q) = self.oracle.probabilities();
        (q + (p - q) / f64::from(self.most), q)
    }

    /// The unbiased estimate of how many of `n` sets hold a value that `supports` of their reports support.
    pub fn estimate(&self, supports: u64, n: u64) -> f64 {
        self.oracle.estimate(supports, n) * f64::from(self.most)
    }

    /// Standard deviation of that estimate where `count` of `n` sets hold the value.
    pub fn deviation(&self, n: u64, count: u64) -> f64 {
        deviation(self.probabilities(), n, count)
    }
}

#[cfg(test)]
mod tests;
