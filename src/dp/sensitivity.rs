//! Sensitivity of an integer that is released for each of several groups: the norms of one unit's
//! vector of changes.
//!
//! The vector, within these norms, is the data's choice, so that a price is that of the worst.
//! Where a price f of one coordinate's shift grows faster than the shift itself, the worst is not
//! many small shifts but few large ones: Σ f(vᵢ) over Σ|vᵢ| <= l₁, |vᵢ| <= l∞ is at most
//! (l₁/l∞)·f(l∞) wherever f(x)/x does not fall, since then f(vᵢ) <= (|vᵢ|/l∞)·f(l∞). (At the
//! extreme points of these norms the sum may be less: f need not be convex.)

use super::Ratio;

/// Norms of the changes that one unit makes in one integer, over all groups. Each bounds every change that is possible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sensitivity {
    /// In how many groups it changes, at most; [`u64::MAX`] where nothing says so.
    pub groups: u64,
    /// By how much in one group.
    pub linf: u128,
    /// The sum of changes over all groups; [`u128::MAX`] where nothing bounds it.
    pub l1: u128,
    /// The sum of their squares; [`u128::MAX`] where nothing bounds it.
    pub l2_squared: u128,
}

impl Sensitivity {
    /// At most `linf` in each of at most `groups` groups.
    pub fn in_each(linf: u128, groups: u64) -> Self {
        let times = |n: u128| n.saturating_mul(groups.into());
        Self {
            groups,
            linf,
            l1: times(linf),
            l2_squared: linf.saturating_mul(linf).saturating_mul(groups.into()),
        }
    }

    /// Sensitivity of a single integer, without groups.
    pub fn of_one(linf: u128) -> Self {
        Self::in_each(linf, 1)
    }

    /// At most `l1` over all groups, of which at most `linf` in one.
    pub fn in_all(l1: u128, linf: u128) -> Self {
        let linf = linf.min(l1);
        Self { groups: u64::MAX, linf, l1, l2_squared: linf.saturating_mul(l1) }
    }

    /// Changes whose squares add up to at most `l2_squared` over all groups, of integers: no change is larger than its square.
    pub fn in_squares(l2_squared: u128) -> Self {
        Self { groups: u64::MAX, linf: l2_squared.isqrt(), l1: l2_squared, l2_squared }
    }

    /// Sensitivity of changes that are `factor` times as large.
    #[must_use]
    pub fn times(self, factor: u128) -> Self {
        let times = |n: u128| n.saturating_mul(factor);
        Self {
            groups: self.groups,
            linf: times(self.linf),
            l1: times(self.l1),
            l2_squared: times(times(self.l2_squared)),
        }
    }

    /// No unit changes it.
    pub fn is_none(&self) -> bool {
        self.linf == 0
    }

    /// Whether every change within these norms is within those, of what Laplace noise is for.
    pub fn covers_sums(&self, other: &Self) -> bool {
        other.linf <= self.linf && other.l1 <= self.l1
    }

    /// Whether every change within the squares of these norms is within those: of what Gaussian noise is for.
    pub fn covers_squares(&self, other: &Self) -> bool {
        other.l2_squared <= self.l2_squared
    }

    /// l₁/l∞: of how many of the largest changes the price of Laplace noise is, where that grows at least as fast as the change.
    /// None where there is no change.
    pub(super) fn uses(&self) -> Option<Ratio> {
        (self.linf > 0).then(|| Ratio::new(self.l1.max(self.linf), self.linf))
    }
}

#[cfg(test)]
mod tests;
