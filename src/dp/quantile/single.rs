//! One quantile.

use super::ranks::{Ranks, scores};
use super::selector::{Selector, factor};
use crate::{DpError, Entropy, EntropyError, Guarantee, Ratio};

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
    pub(super) p: u32,
    pub(super) r: u32,
    pub(super) factor: Ratio,
    pub(super) epsilon: Ratio,
    pub(super) selector: Selector,
}

impl Quantile {
    /// The q-quantile, 0 <= q <= 1 with a denominator below 2^32, where a unit has weight at most `weight` >= 1. For the
    /// least and the greatest value see [`Extreme`](super::Extreme): q = 0 and q = 1 are content with any point beyond all rows.
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

    pub(super) fn scores(&self, ranks: &Ranks) -> Vec<i64> {
        let mass: Vec<u128> = ranks.mass.iter().map(|m| u128::from(*m)).collect();
        scores(&mass, self.r.into(), |n| n.saturating_mul(self.p.into()))
    }
}

/// q as p/r.
pub(super) fn fraction(q: &Ratio) -> Result<(u32, u32), DpError> {
    const WRONG: DpError = DpError::OutOfRange("a quantile is a fraction from 0 to 1 of short terms");
    if *q.denom() == 0 || *q > Ratio::from_integer(1) {
        return Err(WRONG);
    }
    let q = q.reduced();
    Ok((u32::try_from(*q.numer()).map_err(|_| WRONG)?, u32::try_from(*q.denom()).map_err(|_| WRONG)?))
}
