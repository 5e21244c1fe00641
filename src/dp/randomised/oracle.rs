//! Frequency oracles: how many units have each value of a public domain, from reports that hide which one each has.

use super::digits::{DIGITS, Digits};
use super::epsilon::{float, usable};
use super::response::{RandomisedResponse, deviation};
use crate::expansion::{Expansion, Form};
use crate::{DpError, Entropy, EntropyError, Guarantee, Ratio};

/// A way from a value of a domain to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OracleKind {
    /// k-ary randomised response: the value itself, or another one. Least error for small domains (k < 3e^ε + 2).
    Response,
    /// Optimised unary encoding (Wang, Blocki, Li and Jha, "Locally Differentially Private Protocols for Frequency
    /// Estimation", 2017, section 4.3): a bit for each value.
    Unary,
    /// Hadamard response (Acharya, Sun and Zhang, "Hadamard Response: Estimating Distributions Privately, Efficiently, and
    /// with Little Communication", 2019, section 3): one integer, however large the domain.
    Hadamard,
}

impl OracleKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Response, Self::Unary, Self::Hadamard];

    /// Word for the kind in a policy.
    pub fn word(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Unary => "unary",
            Self::Hadamard => "hadamard",
        }
    }

    /// Reads what [`Self::word`] writes.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// A report: sent by a unit in place of its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Report {
    /// An integer: a value (response), or a column of the Hadamard matrix.
    Symbol(u32),
    /// k bits, the one of value v in byte v/8 at 2^(v mod 8), as PostgreSQL's `get_bit` counts; those after the k-th are 0.
    Bits(Box<[u8]>),
}

/// Why there is no report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RandomiseError {
    /// The value is not one of the domain.
    #[error("the value lies outside of its domain")]
    Outside,
    /// A set has more values than its randomiser was made for.
    #[error("there are more values than one unit may give")]
    TooMany,
    /// A set has a value twice.
    #[error("a value of a set is given twice")]
    Twice,
    /// No random bits.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

/// Values 0, …, k-1 to reports.
///
/// Guarantee: ε-DP in the local sense, for replacing a unit's value by any other, by one report.
/// * Response: see [`RandomisedResponse`].
/// * Unary: bits are independent; that of the value is 1 with probability 1/2, each other with probability q = 1/(e^ε+1).
///   Two values change the probability of two bits, by factors of at most 1/2 / q and (1-q) / 1/2, whose product is
///   (1-q)/q = e^ε (Wang et al. 2017, Theorem 2 with p = 1/2).
/// * Hadamard: the rows of the Hadamard matrix of size K = 2^⌈log₂(k+1)⌉ but for the first have K/2 columns with +1. One of
///   the row of the value is drawn uniformly with probability e^ε/(e^ε+1), else one of the others: a column has
///   probability 2/K·e^ε/(e^ε+1) or 2/K·1/(e^ε+1) (Acharya, Sun and Zhang 2019, equation 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oracle {
    values: u32,
    epsilon: Ratio,
    scheme: Scheme,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Scheme {
    Response(RandomisedResponse),
    /// q.
    Unary(Expansion),
    /// The probability 1/(e^ε+1) that the column is not one of the value's, and log₂ K.
    Hadamard(Expansion, u32),
}

impl Oracle {
    /// Values of a domain: symbols are PostgreSQL's int4.
    pub const MAX_VALUES: u32 = (1 << 31) - 1;
    /// Values where a report has a bit for each.
    pub const MAX_BITS: u32 = 1 << 16;

    /// For values 0, …, `values`-1, at least two; ε is above zero, and its terms are below 2^96.
    pub fn new(kind: OracleKind, values: u32, epsilon: &Ratio) -> Result<Self, DpError> {
        let epsilon = usable(epsilon)?;
        if !(2..=Self::MAX_VALUES).contains(&values) {
            return Err(DpError::OutOfRange("a domain has from 2 to 2^31 - 1 values"));
        }
        let scheme = match kind {
            OracleKind::Response => Scheme::Response(RandomisedResponse::new(values, &epsilon)?),
            OracleKind::Unary if values > Self::MAX_BITS => {
                return Err(DpError::OutOfRange("a unary encoding has at most 65536 values; use hadamard"));
            }
            OracleKind::Unary => Scheme::Unary(Expansion::of(Form::Logistic, &epsilon)),
            // The least power of two above k: row v+1 of the matrix belongs to value v.
            OracleKind::Hadamard => {
                Scheme::Hadamard(Expansion::of(Form::Logistic, &epsilon), u32::BITS - values.leading_zeros())
            }
        };
        Ok(Self { values, epsilon, scheme })
    }

    /// The oracle of least variance at frequency 0. Where another's standard deviation is within 5 % of that, the one with the
    /// shortest report.
    pub fn auto(values: u32, epsilon: &Ratio) -> Result<Self, DpError> {
        let candidates: Vec<Self> = OracleKind::ALL
            .into_iter()
            .filter(|kind| *kind != OracleKind::Unary || values <= Self::MAX_BITS)
            .map(|kind| Self::new(kind, values, epsilon))
            .collect::<Result<_, _>>()?;
        let least = candidates.iter().map(|o| o.deviation(1, 0)).fold(f64::INFINITY, f64::min);
        let near = candidates.into_iter().filter(|o| o.deviation(1, 0) <= 1.05 * least);
        near.min_by_key(Self::bits).ok_or(DpError::Epsilon)
    }

    /// The kind.
    pub fn kind(&self) -> OracleKind {
        match self.scheme {
            Scheme::Response(_) => OracleKind::Response,
            Scheme::Unary(_) => OracleKind::Unary,
            Scheme::Hadamard(..) => OracleKind::Hadamard,
        }
    }

    /// k.
    pub fn values(&self) -> u32 {
        self.values
    }

    /// Symbols that a report may be: k, or K; none where it is bits.
    pub fn symbols(&self) -> Option<u32> {
        match self.scheme {
            Scheme::Response(_) => Some(self.values),
            Scheme::Unary(_) => None,
            Scheme::Hadamard(_, bits) => Some(1 << bits),
        }
    }

    /// The bits of a report.
    pub fn bits(&self) -> u32 {
        match self.symbols() {
            Some(symbols) => u32::BITS - (symbols - 1).leading_zeros(),
            None => self.values,
        }
    }

    /// Guarantee of one report to its unit, in the local sense.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee::Pure { epsilon: self.epsilon }
    }

    /// A report in the place of `value`.
    ///
    /// # Errors
    /// The value lies outside of the domain, or there is no entropy.
    pub fn randomise(&self, value: u32, rng: &mut impl Entropy) -> Result<Report, RandomiseError> {
        self.randomise_from(DIGITS, value, rng)
    }

    pub(super) fn randomise_from(
        &self,
        digits: Digits,
        value: u32,
        rng: &mut impl Entropy,
    ) -> Result<Report, RandomiseError> {
        if value >= self.values {
            return Err(RandomiseError::Outside);
        }
        match &self.scheme {
            Scheme::Response(response) => {
                let symbol = response.draw_from(digits, rng)?.report(value);
                symbol.map(Report::Symbol).ok_or(RandomiseError::Outside)
            }
            Scheme::Unary(q) => Ok(Report::Bits(self.unary(q, digits, value, rng)?)),
            Scheme::Hadamard(lie, bits) => {
                let lie = u32::from(lie.coin(digits.coin, rng)?);
                // At most 31 bits.
                let column = u32::try_from(rng.bits(*bits)?).unwrap_or_default();
                // Changing a bit in which the row has a 1 leads from its columns with +1 to those with -1, one to one.
                let row = value + 1;
                let wrong = parity(column & row) ^ lie;
                Ok(Report::Symbol(column ^ ((row & row.wrapping_neg()) * wrong)))
            }
        }
    }

    /// Bits by words of 64, the one of the value put in by masks.
    fn unary(
        &self,
        q: &Expansion,
        digits: Digits,
        value: u32,
        rng: &mut impl Entropy,
    ) -> Result<Box<[u8]>, EntropyError> {
        let own = (rng.next_u64()? & 1).wrapping_neg();
        let bytes = usize::try_from(self.values.div_ceil(8)).unwrap_or_default();
        let mut out = vec![0; bytes].into_boxed_slice();
        for (word, out) in (0..).zip(out.chunks_mut(8)) {
            let left = self.values - word * 64;
            let lanes = u64::MAX >> 64u32.saturating_sub(left);
            let others = q.lanes(digits.lanes, lanes, rng)?;
            // 1 for the word that the value is in, else 0.
            let here = u64::from(word ^ (value / 64)).wrapping_sub(1) >> 63;
            let place = here << (value % 64);
            let bytes = ((others & !place) | (own & place)).to_le_bytes();
            out.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        }
        Ok(out)
    }

    /// Whether this could be a report at all: asked first of all that comes over a network.
    pub fn accepts(&self, report: &Report) -> bool {
        match (report, self.symbols()) {
            (Report::Symbol(symbol), Some(symbols)) => *symbol < symbols,
            (Report::Bits(bits), None) => {
                let spare = self.values.div_ceil(8) * 8 - self.values;
                u32::try_from(bits.len()) == Ok(self.values.div_ceil(8))
                    && bits.last().is_none_or(|last| last.leading_zeros() >= spare)
            }
            _ => false,
        }
    }

    /// Whether a report counts for a value. Not where there is no such value or report.
    pub fn supports(&self, report: &Report, value: u32) -> bool {
        value < self.values
            && match (report, &self.scheme) {
                (Report::Symbol(symbol), Scheme::Response(_)) => *symbol == value,
                (Report::Symbol(symbol), Scheme::Hadamard(..)) => parity(symbol & (value + 1)) == 0,
                (Report::Bits(bits), Scheme::Unary(_)) => {
                    let byte = usize::try_from(value / 8).ok().and_then(|place| bits.get(place));
                    byte.is_some_and(|byte| byte >> (value % 8) & 1 == 1)
                }
                _ => false,
            }
    }

    /// p and q: what a report supports the unit's value with, and each other one.
    pub fn probabilities(&self) -> (f64, f64) {
        let x = libm::exp(-float(&self.epsilon));
        match &self.scheme {
            Scheme::Response(response) => response.probabilities(),
            Scheme::Unary(_) => (0.5, x / (1.0 + x)),
            Scheme::Hadamard(..) => (1.0 / (1.0 + x), 0.5),
        }
    }

    /// The unbiased estimate of how many of `n` units have a value that `supports` of their reports support:
    /// (supports - n·q)/(p - q) (Wang et al. 2017, equation 1). It may be negative. Post-processing.
    pub fn estimate(&self, supports: u64, n: u64) -> f64 {
        let (p, q) = self.probabilities();
        (supports as f64 - n as f64 * q) / (p - q)
    }

    /// Standard deviation of that estimate where `count` of `n` units have the value.
    pub fn deviation(&self, n: u64, count: u64) -> f64 {
        deviation(self.probabilities(), n, count)
    }
}

/// 1 where an odd number of bits is set: an entry -1 of Sylvester's Hadamard matrix.
fn parity(x: u32) -> u32 {
    x.count_ones() & 1
}

#[cfg(test)]
mod tests;
