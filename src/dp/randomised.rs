//! Randomised response: each unit's answer is changed at random before anybody counts it.
//!
//! Warner, "Randomized Response" (1965); for k answers Kairouz, Bonawitz and Ramage, "Discrete Distribution Estimation under
//! Local Privacy" (2016).

use super::bernoulli::uniform_below;
use super::{Candidates, DpError, Entropy, EntropyError, Guarantee, Ratio};

/// k-ary randomised response: the true answer with probability p = e^ε/(e^ε+k-1), each other one with probability
/// q = 1/(e^ε+k-1). Warner's is k = 2.
///
/// Guarantee: ε-DP in the local sense, for *replacing* one unit's answer by any other: P(y | x) ∈ {p, q}, and p/q = e^ε. That a
/// unit answers at all is not hidden. With k = 2 it dominates every ε-DP mechanism (Kairouz, Oh and Viswanath 2015).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomisedResponse {
    answers: u32,
    epsilon: Ratio,
}

/// How one answer is changed: drawn before the answer is seen, and used once.
pub struct Change {
    offset: u32,
    answers: u32,
}

impl Change {
    /// What is reported in place of `answer`. None where there is no such answer.
    pub fn report(self, answer: u32) -> Option<u32> {
        let sum = u64::from(answer) + u64::from(self.offset);
        (answer < self.answers).then(|| u32::try_from(sum % u64::from(self.answers)).ok()).flatten()
    }
}

impl RandomisedResponse {
    /// For `answers` >= 2 possible answers, 0, …, k-1; ε is above zero, and its terms are below 2^96.
    pub fn new(answers: u32, epsilon: &Ratio) -> Result<Self, DpError> {
        if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        let epsilon = epsilon.reduced();
        if *epsilon.numer() >= 1 << 96 || *epsilon.denom() >= 1 << 96 {
            return Err(DpError::OutOfRange("an epsilon of more than 96 bits"));
        }
        if answers < 2 {
            return Err(DpError::OutOfRange("there are at least two answers"));
        }
        Ok(Self { answers, epsilon })
    }

    /// What one response costs its unit.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee::Pure { epsilon: self.epsilon }
    }

    /// A change, exactly: the truth has weight e^ε and the k-1 other answers have weight 1 each, of which one is drawn
    /// whether it is told or not.
    pub fn draw(&self, rng: &mut impl Entropy) -> Result<Change, EntropyError> {
        self.draw_from(128, rng)
    }

    fn draw_from(&self, digits: u64, rng: &mut impl Entropy) -> Result<Change, EntropyError> {
        let others = self.answers - 1;
        let weights = [1, u64::from(others)];
        // ε and the weights are above zero, so there is something to choose from; if not, there is no report.
        let truth = match Candidates::new(&[1, 0], &self.epsilon).and_then(|c| c.weighted(&weights)) {
            Ok(candidates) => candidates.exponential_from(digits, rng)? == 0,
            Err(_) => return Err(EntropyError),
        };
        let other = 1 + uniform_below(u64::from(others), rng)?;
        let offset = if truth { 0 } else { u32::try_from(other).unwrap_or_default() };
        Ok(Change { offset, answers: self.answers })
    }

    /// p and q.
    pub fn probabilities(&self) -> (f64, f64) {
        let inverse = libm::exp(-(*self.epsilon.numer() as f64) / *self.epsilon.denom() as f64);
        let total = 1.0 + f64::from(self.answers - 1) * inverse;
        (1.0 / total, inverse / total)
    }

    /// Unbiased estimates of how many units have each answer, from how many reports there are of each:
    /// (reports - n·q)/(p - q) (Kairouz, Bonawitz and Ramage 2016). They add up to n, and may be negative:
    /// cutting them would be a bias. Post-processing; `reports` has an entry for each answer, else None.
    pub fn estimate(&self, reports: &[u64]) -> Option<Vec<f64>> {
        if reports.len() != usize::try_from(self.answers).ok()? {
            return None;
        }
        let (p, q) = self.probabilities();
        let n: f64 = reports.iter().map(|c| *c as f64).sum();
        Some(reports.iter().map(|c| (*c as f64 - n * q) / (p - q)).collect())
    }

    /// Standard deviation of an estimate where `count` of `n` units have the answer:
    /// √(count·p(1-p) + (n-count)·q(1-q))/(p-q).
    pub fn deviation(&self, n: u64, count: u64) -> f64 {
        let (p, q) = self.probabilities();
        let (with, without) = (count as f64, n.saturating_sub(count) as f64);
        (with * p * (1.0 - p) + without * q * (1.0 - q)).sqrt() / (p - q)
    }
}

#[cfg(test)]
mod tests;
