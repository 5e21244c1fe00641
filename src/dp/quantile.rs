//! Quantiles over a public grid, from exact numbers of rows at or below each of its points.
//!
//! A quantile is chosen among the points by how far its rank is from the one that is asked for: no value of a row leaves
//! the database, and the answer is always a point of the grid.

mod bound;
mod extreme;
mod many;

pub use bound::{Bound, Side};
pub use extreme::{Extreme, inset};
pub use many::Quantiles;

use super::ratio::narrow;
use super::ratio::{exact, exact_integer};
use super::{Candidates, DpError, Entropy, EntropyError, Guarantee, Ratio};

/// Numbers of rows over a public grid x₀ < x₁ < … of at least one point.
///
/// Precondition of all guarantees: when one unit comes or goes, its rows add to the cumulative numbers a part that is not
/// decreasing along the grid and at most the weight w at its end (soundness rule 14: ranks are bounded as cumulative
/// ranks, each in \[0, w\], or histograms by rounding down).
#[derive(Clone, Debug)]
pub struct Ranks {
    /// Rows at each point.
    mass: Vec<u64>,
}

impl Ranks {
    /// From the number of rows at or below each point. A number that is below the one before it counts as that one, so that
    /// no input is an error.
    pub fn from_cumulative(upto: &[u64]) -> Result<Self, DpError> {
        let mut last = 0;
        let mass = upto.iter().map(|rank| {
            let above = rank.saturating_sub(last);
            last = last.max(*rank);
            above
        });
        Self::from_histogram(mass.collect())
    }

    /// From the number of rows at each point.
    pub fn from_histogram(mass: Vec<u64>) -> Result<Self, DpError> {
        if mass.is_empty() {
            return Err(DpError::OutOfRange("a grid without points"));
        }
        Ok(Self { mass })
    }

    /// Number of points of the grid.
    pub fn points(&self) -> usize {
        self.mass.len()
    }
}

/// By which mechanism a point is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    /// The exponential mechanism, which is bounded-range: ε²/8 in zCDP.
    Exponential,
    /// Permute-and-flip, which errs less at the same ε and is charged as any ε-DP mechanism (soundness rule 20).
    PermuteAndFlip,
}

impl Selector {
    /// Guarantee of one choice at ε.
    pub fn guarantee(self, epsilon: &Ratio) -> Guarantee {
        match self {
            Self::Exponential => Guarantee::BoundedRange { epsilon: *epsilon },
            Self::PermuteAndFlip => Guarantee::Pure { epsilon: *epsilon },
        }
    }

    fn choose(self, scores: &[i64], factor: &Ratio, rng: &mut impl Entropy) -> Result<usize, EntropyError> {
        // There is a point, and the factor was checked.
        let Ok(candidates) = Candidates::new(scores, factor) else { return Ok(0) };
        match self {
            Self::Exponential => candidates.exponential(rng),
            Self::PermuteAndFlip => candidates.permute_and_flip(rng),
        }
    }
}

/// A quantile.
///
/// The score of point j is minus the distance of q·n from \[rank below xⱼ, rank at or below xⱼ\]
/// (Smith, "Privacy-preserving Statistical Estimation with Optimal Convergence Rates" 2011, with
/// ties counted in favour). When one unit of weight w comes, rank - q·n moves by between -q·w and
/// (1-q)·w, so scores have sensitivity w·max(q, 1-q): for the median half of what is often taken.
///
/// Guarantee: ε-DP for add/remove neighbours; by [`Selector::Exponential`] also ε-bounded-range
/// (McSherry and Talwar 2007, Theorem 6; Durfee and Rogers 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantile {
    p: u32,
    r: u32,
    factor: Ratio,
    epsilon: Ratio,
    selector: Selector,
}

impl Quantile {
    /// The q-quantile, 0 <= q <= 1 with a denominator below 2^32, where a unit has weight at most `weight` >= 1. For the
    /// least and the greatest value see [`Extreme`]: q = 0 and q = 1 are content with any point beyond all rows.
    pub fn new(q: &Ratio, weight: u32, epsilon: &Ratio, selector: Selector) -> Result<Self, DpError> {
        let (p, r) = fraction(q)?;
        let sensitivity = u128::from(weight) * u128::from(p.max(r - p));
        Ok(Self { p, r, factor: factor(epsilon, sensitivity)?, epsilon: *epsilon, selector })
    }

    /// Guarantee of the choice.
    pub fn guarantee(&self) -> Guarantee {
        self.selector.guarantee(&self.epsilon)
    }

    /// The index of the chosen point.
    pub fn choose(&self, ranks: &Ranks, rng: &mut impl Entropy) -> Result<usize, EntropyError> {
        self.selector.choose(&self.scores(ranks), &self.factor, rng)
    }

    fn scores(&self, ranks: &Ranks) -> Vec<i64> {
        let mass: Vec<u128> = ranks.mass.iter().map(|m| u128::from(*m)).collect();
        scores(&mass, self.r.into(), |n| n.saturating_mul(self.p.into()))
    }
}

/// q as p/r.
fn fraction(q: &Ratio) -> Result<(u32, u32), DpError> {
    const WRONG: DpError = DpError::OutOfRange("a quantile is a fraction from 0 to 1 of short terms");
    if *q.denom() == 0 || *q > Ratio::from_integer(1) {
        return Err(WRONG);
    }
    let q = q.reduced();
    Ok((u32::try_from(*q.numer()).map_err(|_| WRONG)?, u32::try_from(*q.denom()).map_err(|_| WRONG)?))
}

/// ε/(2Δ).
fn factor(epsilon: &Ratio, sensitivity: u128) -> Result<Ratio, DpError> {
    if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
        return Err(DpError::Epsilon);
    }
    if sensitivity == 0 {
        return Err(DpError::OutOfRange("a unit without weight"));
    }
    narrow(&(exact(epsilon) / (exact_integer(sensitivity) * exact_integer(2u8))))
        .ok_or(DpError::OutOfRange("an epsilon for a choice"))
}

/// Scores in units of 1/`unit` rows, for the target rank `target(n)` in that unit: -max(0, unit·below - target,
/// target - unit·upto). Cut to i64: a contraction, which makes no difference between neighbours larger.
fn scores(mass: &[u128], unit: u128, target: impl Fn(u128) -> u128) -> Vec<i64> {
    let n = mass.iter().fold(0u128, |n, m| n.saturating_add(*m));
    let target = target(n);
    let mut below = 0u128;
    let score = |m: &u128| {
        let upto = below.saturating_add(*m);
        let (low, high) = (below.saturating_mul(unit), upto.saturating_mul(unit));
        below = upto;
        let distance = low.saturating_sub(target).max(target.saturating_sub(high));
        i64::try_from(distance).map_or(i64::MIN, |d| -d)
    };
    mass.iter().map(score).collect()
}

#[cfg(test)]
mod tests;
