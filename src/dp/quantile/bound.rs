//! Ends of an interval around a quantile: points that lie, so often as is wanted, at or below it, and at or above.

use super::extreme::inset;
use super::ranks::Ranks;
use super::selector::Selector;
use super::single::Quantile;
use crate::{DpError, Entropy, EntropyError, Guarantee, Ratio};

/// An end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// At or below the quantile.
    Below,
    /// At or above it.
    Above,
}

/// An end of an interval for the q-quantile, which holds with probability at least 1 - β whatever the rows are.
///
/// Aimed at is the rank t + 1 away from the quantile's: q·n - t - 1, or q·n + t + 1, with t = [`inset`], the error in rank that
/// the choice passes with probability at most β. Scores are those of [`Quantile`] for that target, but that the first point
/// reaches down to rank -∞ and the last one up to +∞: so there is always a point of score 0, however few rows there are, and
/// with it the bound on the error (McSherry and Talwar 2007, Theorem 8: P(score <= -t) <= points·e^(-εt/(2Δ))). A point below
/// which fewer than q·n - 1 rows lie is not above the value at row 1 + q·(n-1), rounded down, in order, which `percentile_disc`
/// and `percentile_cont` do not fall short of; and likewise above. The idea of paying for ends of their own is that of Drechsler,
/// Globus-Harris, McMillan, Sarathy and Smith, "Nonparametric Differentially Private Confidence Intervals for the Median" (2022).
///
/// Guarantee: that of [`Quantile`]. t is public, so that the target moves as a quantile's does when a unit comes; and to reach
/// to ∞ takes the distance of an end of the grid to one side away, which leaves no score with a larger change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub(super) of: Quantile,
    side: Side,
    /// In rows.
    away: u64,
}

impl Bound {
    /// A bound of the q-quantile, 0 < q < 1, on a grid of `points` points, where a unit has weight
    /// at most `weight` >= 1. `beta`: the probability that it fails, above 0.
    pub fn new(
        q: &Ratio,
        side: Side,
        (points, beta): (usize, f64),
        weight: u32,
        epsilon: &Ratio,
        selector: Selector,
    ) -> Result<Self, DpError> {
        let of = Quantile::new(q, weight, epsilon, selector)?;
        if of.p == 0 || of.p == of.r || !(beta > 0.0 && beta < 1.0) {
            return Err(DpError::OutOfRange("the interval of a quantile strictly between 0 and 1"));
        }
        // The sensitivity is at most the weight.
        let away = inset(points, weight, epsilon, beta).saturating_add(1);
        Ok(Self { of, side, away })
    }

    /// The bound that lies so much further out: of rows of which some do not count.
    ///
    /// Let B rows at most be left out, l of them below a point and L in all. It has R = r + l rows below
    /// it, of n + L, so that R - q(n + L) is at most r - q·n + (1-q)·B, and at least r - q·n - q·B.
    #[must_use]
    pub fn beyond(self, more: u64) -> Self {
        Self { away: self.away.saturating_add(more), ..self }
    }

    /// Guarantee of the choice.
    pub fn guarantee(&self) -> Guarantee {
        self.of.guarantee()
    }

    /// The index of the chosen point.
    pub fn choose(&self, ranks: &Ranks, rng: &mut impl Entropy) -> Result<usize, EntropyError> {
        self.of.selector.choose(&self.scores(ranks), &self.of.factor, rng)
    }

    /// In units of 1/r rows, cut to i64, as those of [`Quantile`].
    pub(super) fn scores(&self, ranks: &Ranks) -> Vec<i64> {
        let whole = |x: u128| i128::try_from(x).unwrap_or(i128::MAX);
        let (p, r) = (i128::from(self.of.p), i128::from(self.of.r));
        let n = ranks.mass.iter().fold(0i128, |n, m| n.saturating_add(whole(u128::from(*m))));
        let away = whole(u128::from(self.away)).saturating_mul(r);
        let target = match self.side {
            Side::Below => n.saturating_mul(p).saturating_sub(away),
            Side::Above => n.saturating_mul(p).saturating_add(away),
        };
        let last = ranks.mass.len().saturating_sub(1);
        let mut below = 0i128;
        let score = |(i, m): (usize, &u64)| {
            let upto = below.saturating_add(i128::from(*m));
            let under = if i == 0 { 0 } else { below.saturating_mul(r).saturating_sub(target) };
            let over = if i == last { 0 } else { target.saturating_sub(upto.saturating_mul(r)) };
            below = upto;
            i64::try_from(under.max(over).max(0)).map_or(i64::MIN, |d| -d)
        };
        ranks.mass.iter().enumerate().map(score).collect()
    }
}
