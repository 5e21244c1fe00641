//! The least and the greatest value as quantiles a few rows inside.

use super::ranks::{Ranks, scores};
use super::selector::{Selector, factor};
use crate::{DpError, Entropy, EntropyError, Guarantee, Ratio};

/// Which end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Least,
    Greatest,
}

/// The least or the greatest value.
///
/// The exact one belongs to a single row, and no private mechanism finds it. Aimed at is the rank t from the end, or the
/// median where there are fewer than 2t rows: min(t, n/2) or max(n-t, n/2). With t = [`inset`] the noise rarely reaches
/// beyond the last row, where all points would be equally good.
///
/// Guarantee: as that of [`super::Quantile`]. The target moves by between 0 and w/2 (least) or w/2 and w (greatest) with a
/// unit of weight w, a rank by between 0 and w, so scores have sensitivity w.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extreme {
    end: End,
    inset: u64,
    pub(super) factor: Ratio,
    epsilon: Ratio,
    selector: Selector,
}

impl Extreme {
    /// The value of rank `inset` from below, where a unit has weight at most `weight` >= 1.
    pub fn least(inset: u64, weight: u32, epsilon: &Ratio, selector: Selector) -> Result<Self, DpError> {
        Self::new(End::Least, inset, weight, epsilon, selector)
    }

    /// The value of rank `inset` from above.
    pub fn greatest(inset: u64, weight: u32, epsilon: &Ratio, selector: Selector) -> Result<Self, DpError> {
        Self::new(End::Greatest, inset, weight, epsilon, selector)
    }

    fn new(end: End, inset: u64, weight: u32, epsilon: &Ratio, selector: Selector) -> Result<Self, DpError> {
        // Scores are in half rows.
        let factor = factor(epsilon, 2 * u128::from(weight))?;
        Ok(Self { end, inset, factor, epsilon: *epsilon, selector })
    }

    /// Guarantee of the choice.
    pub fn guarantee(&self) -> Guarantee {
        self.selector.guarantee(&self.epsilon)
    }

    /// The index of the chosen point.
    pub fn choose(&self, ranks: &Ranks, rng: &mut impl Entropy) -> Result<usize, EntropyError> {
        self.selector.choose(&self.scores(ranks), &self.factor, rng)
    }

    pub(super) fn scores(&self, ranks: &Ranks) -> Vec<i64> {
        let mass: Vec<u128> = ranks.mass.iter().map(|m| u128::from(*m)).collect();
        let twice = 2 * u128::from(self.inset);
        scores(&mass, 2, |n| match self.end {
            End::Least => twice.min(n),
            End::Greatest => n.saturating_mul(2).saturating_sub(twice).max(n),
        })
    }
}

/// A rank at which a point beyond all rows is chosen with probability at most β, on a grid of so many points:
/// ⌈2w·ln(points/β)/ε⌉ rows inside (McSherry and Talwar 2007, their bound on accuracy with sensitivity w). From public data; for accuracy
/// alone, so a float will do.
pub fn inset(points: usize, weight: u32, epsilon: &Ratio, beta: f64) -> u64 {
    let epsilon = *epsilon.numer() as f64 / *epsilon.denom() as f64;
    let rows = 2.0 * f64::from(weight) * libm::log(points as f64 / beta) / epsilon;
    // The cast turns NaN into 0 and cuts at the ends.
    libm::ceil(rows).max(1.0) as u64
}
