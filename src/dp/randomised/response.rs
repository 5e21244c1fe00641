//! k-ary randomised response.

use super::digits::{DIGITS, Digits};
use super::epsilon::{float, usable};
use crate::bernoulli::uniform_below;
use crate::expansion::{Expansion, Form};
use crate::{DpError, Entropy, EntropyError, Guarantee, Ratio};

/// k-ary randomised response: the true answer with probability p = e^ε/(e^ε+k-1), each other one with probability
/// q = 1/(e^ε+k-1). Warner's is k = 2.
///
/// Warner, "Randomized Response" (1965); for k answers Kairouz, Bonawitz and Ramage, "Discrete Distribution Estimation under
/// Local Privacy" (2016).
///
/// Guarantee: ε-DP in the local sense, for *replacing* one unit's answer by any other: P(y | x) ∈ {p, q}, and p/q = e^ε. That a
/// unit answers at all is not hidden. With k = 2 it dominates every ε-DP mechanism (Kairouz, Oh and Viswanath 2015).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomisedResponse {
    answers: u32,
    epsilon: Ratio,
    /// The probability (k-1)·q that the truth is not told.
    lie: Expansion,
}

/// A change of one answer: drawn before the answer is seen, and used once.
pub struct Change {
    offset: u32,
    answers: u32,
}

impl Change {
    /// The report in place of `answer`. None where there is no such answer.
    pub fn report(self, answer: u32) -> Option<u32> {
        // Both are below k. A division would take longer for some answers than for others.
        let sum = u64::from(answer) + u64::from(self.offset);
        let answers = u64::from(self.answers);
        let over = u64::from(sum >= answers).wrapping_neg();
        (answer < self.answers).then(|| u32::try_from(sum - (answers & over)).ok()).flatten()
    }
}

impl RandomisedResponse {
    /// For `answers` >= 2 possible answers, 0, …, k-1; ε is above zero, and its terms are below 2^96.
    pub fn new(answers: u32, epsilon: &Ratio) -> Result<Self, DpError> {
        let epsilon = usable(epsilon)?;
        if answers < 2 {
            return Err(DpError::OutOfRange("there are at least two answers"));
        }
        let lie = Expansion::of(Form::Odds { near: 1, far: u64::from(answers - 1) }, &epsilon);
        Ok(Self { answers, epsilon, lie })
    }

    /// Guarantee of one response to its unit.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee::Pure { epsilon: self.epsilon }
    }

    /// A change, exactly: the truth has weight e^ε and the k-1 other answers have weight 1 each, of which one is drawn
    /// whether it is told or not.
    pub fn draw(&self, rng: &mut impl Entropy) -> Result<Change, EntropyError> {
        self.draw_from(DIGITS, rng)
    }

    pub(super) fn draw_from(&self, digits: Digits, rng: &mut impl Entropy) -> Result<Change, EntropyError> {
        let drawn = rng.bits(digits.coin + digits.other)?;
        let lie = self.lie.coin_after(drawn >> digits.other, digits.coin, rng)?;
        // Below 2^`other`, which is at most 2^32: the cast and the shift hold it.
        let rest = drawn as u64 & ((1 << digits.other) - 1);
        let others = u64::from(self.answers - 1);
        let other = match below(others, rest, digits.other) {
            Some(other) => other,
            None => uniform_below(others, rng)?,
        };
        let offset = u32::try_from(1 + other).unwrap_or_default() & u32::from(lie).wrapping_neg();
        Ok(Change { offset, answers: self.answers })
    }

    /// p and q.
    pub fn probabilities(&self) -> (f64, f64) {
        let inverse = libm::exp(-float(&self.epsilon));
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
        deviation(self.probabilities(), n, count)
    }
}

/// Uniform on 0, …, n-1 from a number that is uniform on 0, …, 2^width-1, for 0 < n <= 2^width and `width` at most 32. None for
/// the 2^width mod n numbers that there are too many (Lemire, "Fast Random Integer Generation in an Interval", 2019).
fn below(n: u64, drawn: u64, width: u32) -> Option<u64> {
    let product = drawn * n;
    let rest = product & ((1 << width) - 1);
    // Seldom: a division.
    let over = rest < n && rest < (1 << width) % n;
    (!over).then_some(product >> width)
}

/// The standard deviation of an estimate where `count` of `n` reports are of units with the value, and support it with p, others
/// with q: √(count·p(1-p) + (n-count)·q(1-q))/(p-q) (Wang et al. 2017, equation 2).
pub fn deviation((p, q): (f64, f64), n: u64, count: u64) -> f64 {
    let (with, without) = (count as f64, n.saturating_sub(count) as f64);
    (with * p * (1.0 - p) + without * q * (1.0 - q)).sqrt() / (p - q)
}
