//! Randomisers of a bounded number of each unit, of which the average is wanted.

use super::digits::{DIGITS, Digits};
use super::epsilon::{float, usable};
use super::oracle::RandomiseError;
use crate::bernoulli::uniform_below;
use crate::expansion::{Expansion, Form};
use crate::{DpError, Entropy, Guarantee, Ratio};

/// A way from a number to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MeanKind {
    /// Rounding to one of the two ends, drawn so that it is right on average, by randomised
    /// response (Duchi, Jordan and Wainwright, "Minimax Optimal Procedures for Locally Private
    /// Estimation", 2018, section 3.2.1). For small ε.
    Rounding,
    /// Mostly a number near the true one: the piecewise mechanism (Wang et al., "Collecting and Analyzing Multidimensional Data
    /// with Local Differential Privacy", 2019, Algorithm 2), on integers. For ε above about 1.3.
    Piecewise,
}

impl MeanKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Rounding, Self::Piecewise];

    /// Word for the kind in a policy.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rounding => "rounding",
            Self::Piecewise => "piecewise",
        }
    }

    /// Reads what [`Self::word`] writes.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Numbers 0, …, m of grid steps to symbols, of which an affine function is right on average.
///
/// Guarantee: ε-DP in the local sense, for replacing a unit's number by any other, by one report.
/// * Rounding: x becomes 1 with probability x/m, else 0; that bit is told with probability e^ε/(e^ε+1), else the other.
///   What is done to x before randomised response depends on x and on independent bits, and costs nothing.
/// * Piecewise: symbols are 0, …, S+w-1, where S is a multiple of m. Those from x·S/m on, w of them, have weight e^ε, the S
///   others have weight 1. Weights add up to the same w·e^ε + S for every x, so that each symbol's probabilities
///   under two numbers differ by a factor of e^ε at most. With w = S·e^(-ε/2) these are the widths of Wang et al.; whatever w,
///   the guarantee is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mean {
    steps: u32,
    epsilon: Ratio,
    scheme: Scheme,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Scheme {
    /// 1/(e^ε+1).
    Rounding(Expansion),
    Piecewise {
        /// w.
        window: u32,
        /// S.
        others: u32,
        /// The probability S/(w·e^ε + S) of one of the others.
        outside: Expansion,
    },
}

/// S is at least this, so that the grid of symbols adds little to the error.
const FINE: u32 = 1 << 12;

impl Mean {
    /// Steps of a grid: symbols are PostgreSQL's int4.
    pub const MAX_STEPS: u32 = 1 << 29;

    /// For numbers 0, …, `steps`, at least one; ε is above zero, and its terms are below 2^96.
    pub fn new(kind: MeanKind, steps: u32, epsilon: &Ratio) -> Result<Self, DpError> {
        let epsilon = usable(epsilon)?;
        if !(1..=Self::MAX_STEPS).contains(&steps) {
            return Err(DpError::OutOfRange("a number has from 1 to 2^29 steps"));
        }
        let scheme = match kind {
            MeanKind::Rounding => Scheme::Rounding(Expansion::of(Form::Logistic, &epsilon)),
            MeanKind::Piecewise => {
                let others = steps * FINE.div_ceil(steps);
                let ideal = libm::round(f64::from(others) * libm::exp(-float(&epsilon) / 2.0));
                let window = (ideal as u32).clamp(1, others);
                let form = Form::Odds { near: u64::from(window), far: u64::from(others) };
                Scheme::Piecewise { window, others, outside: Expansion::of(form, &epsilon) }
            }
        };
        Ok(Self { steps, epsilon, scheme })
    }

    /// The kind whose largest variance is least; rounding, whose report is shorter, where it is the same.
    pub fn auto(steps: u32, epsilon: &Ratio) -> Result<Self, DpError> {
        let rounding = Self::new(MeanKind::Rounding, steps, epsilon)?;
        let piecewise = Self::new(MeanKind::Piecewise, steps, epsilon)?;
        Ok(if piecewise.largest_variance() < rounding.largest_variance() { piecewise } else { rounding })
    }

    /// The kind.
    pub fn kind(&self) -> MeanKind {
        match self.scheme {
            Scheme::Rounding(_) => MeanKind::Rounding,
            Scheme::Piecewise { .. } => MeanKind::Piecewise,
        }
    }

    /// m.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Symbols that a report may be: 0, …, this - 1.
    pub fn symbols(&self) -> u32 {
        match self.scheme {
            Scheme::Rounding(_) => 2,
            Scheme::Piecewise { window, others, .. } => window + others,
        }
    }

    /// Guarantee of one report to its unit, in the local sense.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee::Pure { epsilon: self.epsilon }
    }

    /// A symbol in the place of `value`.
    ///
    /// # Errors
    /// The value is above m, or there is no entropy.
    pub fn randomise(&self, value: u32, rng: &mut impl Entropy) -> Result<u32, RandomiseError> {
        self.randomise_from(DIGITS, value, rng)
    }

    pub(super) fn randomise_from(
        &self,
        digits: Digits,
        value: u32,
        rng: &mut impl Entropy,
    ) -> Result<u32, RandomiseError> {
        if value > self.steps {
            return Err(RandomiseError::Outside);
        }
        // All below 2^32.
        let mut below = |n: u32| Ok::<_, RandomiseError>(uniform_below(u64::from(n), rng)? as u32);
        match &self.scheme {
            Scheme::Rounding(lie) => {
                let up = u32::from(below(self.steps)? < value);
                Ok(up ^ u32::from(lie.coin(digits.coin, rng)?))
            }
            Scheme::Piecewise { window, others, outside } => {
                let (within, other) = (below(*window)?, below(*others)?);
                let outside = u32::from(outside.coin(digits.coin, rng)?).wrapping_neg();
                let start = value * (others / self.steps);
                // Those before the window keep their number.
                let after = u32::from(other >= start).wrapping_neg();
                Ok(((start + within) & !outside) | ((other + (window & after)) & outside))
            }
        }
    }

    /// Whether this could be a report at all: asked first of all that comes over a network.
    pub fn accepts(&self, symbol: u32) -> bool {
        symbol < self.symbols()
    }

    /// By how much a symbol changes on average where the number changes by one step, and its average where it is 0.
    fn affine(&self) -> (f64, f64) {
        let e = float(&self.epsilon);
        let (x, less) = (libm::exp(-e), -libm::expm1(-e));
        match &self.scheme {
            Scheme::Rounding(_) => (less / (1.0 + x) / f64::from(self.steps), x / (1.0 + x)),
            Scheme::Piecewise { window, others, .. } => {
                let (w, s) = (f64::from(*window), f64::from(*others));
                let total = w + s * x;
                let at_zero = (w * (w - 1.0) / 2.0 + s * x * (w + (s - 1.0) / 2.0)) / total;
                (w * less / total * (s / f64::from(self.steps)), at_zero)
            }
        }
    }

    /// Factor of a symbol, in grid steps.
    pub fn scale(&self) -> f64 {
        1.0 / self.affine().0
    }

    /// Offset that is added to the product, in grid steps.
    pub fn offset(&self) -> f64 {
        let (slope, at_zero) = self.affine();
        -at_zero / slope
    }

    /// The number that a symbol stands for, in grid steps: scale·symbol + offset, which is right on average over symbols, and
    /// far outside of 0, …, m for each. Post-processing.
    pub fn estimate(&self, symbol: u32) -> f64 {
        self.scale() * f64::from(symbol) + self.offset()
    }

    /// The variance of the estimate from one unit whose number is `value`, in squared grid steps.
    pub fn variance(&self, value: u32) -> f64 {
        let scale = self.scale();
        match &self.scheme {
            Scheme::Rounding(_) => {
                let (slope, at_zero) = self.affine();
                let p = slope * f64::from(value) + at_zero;
                scale * scale * p * (1.0 - p)
            }
            Scheme::Piecewise { window, others, .. } => {
                let x = libm::exp(-float(&self.epsilon));
                let (w, s) = (f64::from(*window), f64::from(*others));
                let (n, total) = (w + s, w + s * x);
                // The symbol is uniform over all n with probability `even`, else uniform over the window.
                let even = n * x / total;
                let start = f64::from(value) * (s / f64::from(self.steps));
                let off = start + (w - 1.0) / 2.0 - (n - 1.0) / 2.0;
                let square = (1.0 - even) * (off * off + (w * w - 1.0) / 12.0) + even * (n * n - 1.0) / 12.0;
                let mean = (1.0 - even) * off;
                scale * scale * (square - mean * mean)
            }
        }
    }

    /// The largest variance, over all numbers.
    pub fn largest_variance(&self) -> f64 {
        // A parabola with its vertex in the middle: least or greatest there.
        self.variance(0).max(self.variance(self.steps / 2)).max(self.variance(self.steps.div_ceil(2)))
    }
}

#[cfg(test)]
mod tests;
