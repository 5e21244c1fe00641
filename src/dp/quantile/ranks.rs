//! Rows over a grid, and how far the rank of each point is from a target.

use crate::DpError;

/// Numbers of rows over a public grid x₀ < x₁ < … of at least one point.
///
/// Precondition of all guarantees: when one unit comes or goes, its rows add to the cumulative numbers a part that is not
/// decreasing along the grid and at most the weight w at its end (soundness rule 14: ranks are bounded as cumulative
/// ranks, each in \[0, w\], or histograms by rounding down).
#[derive(Clone, Debug)]
pub struct Ranks {
    /// Rows at each point.
    pub(super) mass: Vec<u64>,
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

/// Scores in units of 1/`unit` rows, for the target rank `target(n)` in that unit: -max(0, unit·below - target,
/// target - unit·upto). Cut to i64: a contraction, which makes no difference between neighbours larger.
pub(super) fn scores(mass: &[u128], unit: u128, target: impl Fn(u128) -> u128) -> Vec<i64> {
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
