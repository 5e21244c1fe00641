//! The most frequent of a public list, or the k most frequent.

use super::mechanism::{Event, Mechanism};
use super::quantile::Selector;
use super::ratio::{BigRatio, exact, exact_integer, narrow};
use super::{Candidates, DpError, Entropy, EntropyError, Guarantee, Ratio, Share};

/// The k candidates with the greatest counts, in order; the mode for k = 1.
///
/// The best is chosen among all, the next among the rest, and so on (peeling; Durfee and Rogers, "Practical Differentially
/// Private Top-k Selection with Pay-what-you-get Composition", 2019). Counts are of public candidates, and one unit changes
/// each by at most Δ, all in the same direction: so each choice weighs counts by ε′/Δ, not ε′/(2Δ). In how many
/// candidates a unit is does not matter.
///
/// Guarantee: each of the k choices is ε′-DP, and with the exponential mechanism ε′-bounded-range (the log-weights of a
/// unit's neighbours differ by 0 to ε′); one after the other they are k·ε′-DP, and k·ε′²/8-zCDP where they are
/// bounded-range. ε′ is ε/k, or of a price in squares 2·√(ε²/k). For add/remove neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopK {
    k: u32,
    sensitivity: u64,
    share: Share,
    level: Ratio,
    factor: Ratio,
    selector: Selector,
}

impl TopK {
    /// k >= 1 choices for ε in all, from counts that a unit changes by at most `sensitivity` >= 1.
    pub fn new(k: u32, sensitivity: u64, epsilon: &Ratio, selector: Selector) -> Result<Self, DpError> {
        if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        Self::sharing(k, sensitivity, Share::Epsilon(exact(epsilon)), selector)
    }

    /// The same by the exponential mechanism for ε² = `square` = 2ρ in all.
    pub fn in_squares(k: u32, sensitivity: u64, square: &BigRatio) -> Result<Self, DpError> {
        Self::sharing(k, sensitivity, Share::Square(square.clone()), Selector::Exponential)
    }

    fn sharing(k: u32, sensitivity: u64, share: Share, selector: Selector) -> Result<Self, DpError> {
        if k == 0 || sensitivity == 0 {
            return Err(DpError::OutOfRange("how many are chosen, and how much a unit counts, is 1 or more"));
        }
        let level = selector.level(&share, k)?;
        let factor = narrow(&(exact(&level) / exact_integer(sensitivity)))
            .ok_or(DpError::OutOfRange("an epsilon for a choice"))?;
        Ok(Self { k, sensitivity, share, level, factor, selector })
    }

    /// The mode.
    pub fn mode(sensitivity: u64, epsilon: &Ratio, selector: Selector) -> Result<Self, DpError> {
        Self::new(1, sensitivity, epsilon, selector)
    }

    /// Number of choices, one after the other.
    pub fn choices(&self) -> u32 {
        self.k
    }

    /// The most that one unit changes a count by.
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    /// By which mechanism.
    pub fn selector(&self) -> Selector {
        self.selector
    }

    /// ε of each choice.
    pub fn level(&self) -> Ratio {
        self.level
    }

    /// The share of a price that all choices use together: of ε, or of ε².
    pub fn share(&self) -> Share {
        Selector::used(&self.share, &self.level, self.k)
    }

    /// The event of all choices.
    pub fn event(&self) -> Event {
        Event { mechanism: Mechanism::Guaranteed(self.guarantee_of_a_choice()), times: self.k }
    }

    /// With probability 95 % the count of each choice among `candidates` groups is no more than
    /// this below that of the best that is left (McSherry and Talwar 2007, Theorem 6, over k
    /// choices). For display, and to compare by.
    pub fn error95(&self, candidates: usize) -> f64 {
        let level = *self.level.numer() as f64 / *self.level.denom() as f64;
        let all = 20.0 * candidates as f64 * f64::from(self.k);
        self.sensitivity as f64 * libm::log(all) / level
    }

    /// Guarantee of one choice.
    pub fn guarantee_of_a_choice(&self) -> Guarantee {
        self.selector.guarantee(&self.level)
    }

    /// The indices of the chosen candidates, in the order of choice: k, or all where there are fewer.
    pub fn choose(&self, counts: &[u64], rng: &mut impl Entropy) -> Result<Vec<usize>, EntropyError> {
        // Cut to i64: a contraction.
        let mut left: Vec<(usize, i64)> =
            counts.iter().map(|c| i64::try_from(*c).unwrap_or(i64::MAX)).enumerate().collect();
        let mut chosen = Vec::new();
        for _ in 0..self.k {
            let scores: Vec<i64> = left.iter().map(|(_, score)| *score).collect();
            // Fails where none is left.
            let Ok(candidates) = Candidates::new(&scores, &self.factor) else { break };
            let place = match self.selector {
                Selector::Exponential => candidates.exponential(rng)?,
                Selector::PermuteAndFlip => candidates.permute_and_flip(rng)?,
            };
            chosen.push(left.remove(place).0);
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests;
