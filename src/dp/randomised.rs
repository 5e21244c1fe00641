//! Randomised response: each unit's answer is changed at random before anybody counts it.
//!
//! Local differential privacy (Kasiviswanathan et al. 2011): the guarantee holds for *replacing* what one unit says by anything
//! else that it could say, and needs nobody to be trusted. [`Oracle`] counts values of a domain, [`Mean`] averages a bounded
//! number, [`Sets`] counts values of which a unit may have several.
//!
//! Everything is drawn before the value is looked at, and applied to it without a branch or a table: the time of a report
//! depends on what was drawn, never on the value.

mod mean;
mod oracle;
mod sets;

pub use mean::{Mean, MeanKind};
pub use oracle::{Oracle, OracleKind, RandomiseError, Report};
pub use sets::Sets;

use super::bernoulli::uniform_below;
use super::expansion::{Expansion, Form};
use super::{DpError, Entropy, EntropyError, Guarantee, Ratio};

/// How many digits of uniform numbers are drawn at once. What is drawn has the same law with any of these.
#[derive(Clone, Copy)]
struct Digits {
    /// Of the number that is compared with a probability.
    coin: u32,
    /// Of the number that chooses among fewer than 2^`other` answers.
    other: u32,
    /// Of many numbers that are compared with one probability: so many of all, and so many of each that these do not decide.
    lanes: (u32, u32),
}

/// As fast as can be.
const DIGITS: Digits = Digits { coin: 32, other: 32, lanes: (4, 8) };

/// ε in lowest terms, where it is above zero and its terms are below 2^96.
fn usable(epsilon: &Ratio) -> Result<Ratio, DpError> {
    if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
        return Err(DpError::Epsilon);
    }
    let epsilon = epsilon.reduced();
    if *epsilon.numer() >= 1 << 96 || *epsilon.denom() >= 1 << 96 {
        return Err(DpError::OutOfRange("an epsilon of more than 96 bits"));
    }
    Ok(epsilon)
}

/// ε as a float.
fn float(epsilon: &Ratio) -> f64 {
    *epsilon.numer() as f64 / *epsilon.denom() as f64
}

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

    fn draw_from(&self, digits: Digits, rng: &mut impl Entropy) -> Result<Change, EntropyError> {
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
        oracle::deviation(self.probabilities(), n, count)
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

#[cfg(test)]
mod audit;
#[cfg(test)]
mod tests;
