//! Several quantiles at once, by halves.
//!
//! Kaplan, Schnapp and Stemmer, "Differentially Private Approximate Quantiles" (2022), Algorithm 1.

use super::ranks::{Ranks, scores};
use super::selector::{Selector, factor};
use super::single::fraction;
use crate::{DpError, Entropy, EntropyError, Guarantee, Ratio, split};

/// m quantiles, at the price of ⌈log₂(m+1)⌉.
///
/// The one in the middle is chosen first. Its point divides the rows: those below go to the quantiles below, those above to
/// those above, and so on. Rows at the point count half on either side (the paper, which has no ties, leaves them out), so
/// that a value which many rows share is found by every quantile that it covers.
///
/// Guarantee: with ε′ for each level, and L levels, L·ε′-DP for add/remove neighbours. On one level, given what was chosen
/// before, each choice reads rows of its own; a unit of weight w has wᵢ of it in part i with Σwᵢ <= w, and the loss of part
/// i is at most ε′·wᵢ/w, because the score's sensitivity is in proportion to wᵢ: ε′ in all. With the exponential mechanism
/// each loss lies in an interval of length ε′·wᵢ/w, so a level is ε′-bounded-range (the paper's argument,
/// for units of many rows).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantiles {
    /// Numerators over one denominator, rising, between 0 and 1.
    pub(super) ranks: Vec<u64>,
    denominator: u64,
    weight: u32,
    /// ε′.
    pub(super) level: Ratio,
    selector: Selector,
}

/// Rows of a part of the grid, and the quantiles that are looked for in it.
pub(super) struct Part {
    /// The first point.
    pub(super) start: usize,
    /// Rows at its points, in units of 2^-depth.
    pub(super) mass: Vec<u128>,
    pub(super) depth: u32,
    /// Quantiles by index: first, and one behind the last.
    pub(super) wanted: (usize, usize),
    /// The quantiles (numerators) that bound the part.
    pub(super) ends: (u64, u64),
}

impl Quantiles {
    /// Quantiles strictly between 0 and 1, rising, at most 1023, of terms that have a denominator below 2^32 in common; ε is
    /// for all of them. A unit has weight at most `weight` >= 1.
    pub fn new(
        quantiles: &[Ratio],
        weight: u32,
        epsilon: &Ratio,
        selector: Selector,
    ) -> Result<Self, DpError> {
        const WRONG: DpError =
            DpError::OutOfRange("quantiles must rise, between 0 and 1, and have short terms");
        let terms = quantiles.iter().map(fraction).collect::<Result<Vec<_>, _>>()?;
        let denominator = terms.iter().try_fold(1u64, |all, (_, r)| {
            Some(num_integer::lcm(all, u64::from(*r))).filter(|l| *l < 1 << 32)
        });
        let denominator = denominator.ok_or(WRONG)?;
        let ranks: Vec<u64> =
            terms.iter().map(|(p, r)| u64::from(*p) * (denominator / u64::from(*r))).collect();
        let rising = ranks.windows(2).all(|w| matches!(w, [a, b] if a < b));
        let inside = ranks.iter().all(|p| (1..denominator).contains(p));
        if ranks.is_empty() || ranks.len() > 1023 || !rising || !inside {
            return Err(WRONG);
        }
        let mut new = Self { ranks, denominator, weight, level: *epsilon, selector };
        new.level = split(epsilon, usize::try_from(new.levels()).unwrap_or(usize::MAX))?;
        // The largest factor and the smallest can be written down.
        factor(&new.level, u128::from(weight))?;
        factor(&new.level, (u128::from(weight) * u128::from(denominator)) << new.levels())?;
        Ok(new)
    }

    /// L = ⌈log₂(m+1)⌉.
    pub fn levels(&self) -> u32 {
        usize::BITS - self.ranks.len().leading_zeros()
    }

    /// Guarantee of each level; there are [`Self::levels`] of them, one after the other.
    pub fn guarantee_of_a_level(&self) -> Guarantee {
        self.selector.guarantee(&self.level)
    }

    /// The indices of the chosen points, one for each quantile; they do not fall.
    pub fn choose(&self, ranks: &Ranks, rng: &mut impl Entropy) -> Result<Vec<usize>, EntropyError> {
        let mut chosen = vec![0; self.ranks.len()];
        let mut parts = vec![self.whole(ranks)];
        while let Some(part) = parts.pop() {
            let Some((middle, scores, factor)) = self.question(&part) else { continue };
            let place = self.selector.choose(&scores, &factor, rng)?;
            if let Some(out) = chosen.get_mut(middle) {
                *out = part.start + place;
            }
            parts.extend(self.divide(&part, middle, place));
        }
        Ok(chosen)
    }

    pub(super) fn whole(&self, ranks: &Ranks) -> Part {
        Part {
            start: 0,
            mass: ranks.mass.iter().map(|m| u128::from(*m)).collect(),
            depth: 0,
            wanted: (0, self.ranks.len()),
            ends: (0, self.denominator),
        }
    }

    /// The quantile in the middle of a part, the scores of its points for it, and how much they count. None where no
    /// quantile is looked for.
    pub(super) fn question(&self, part: &Part) -> Option<(usize, Vec<i64>, Ratio)> {
        let (first, end) = part.wanted;
        let middle = first + end.checked_sub(first).filter(|n| *n > 0)? / 2;
        // Within the part it is p/r of the rows.
        let (p, r) = (self.ranks.get(middle)? - part.ends.0, part.ends.1 - part.ends.0);
        let scores = scores(&part.mass, r.into(), |n| n.saturating_mul(p.into()));
        let sensitivity = (u128::from(self.weight) * u128::from(p.max(r - p))) << part.depth;
        Some((middle, scores, factor(&self.level, sensitivity).ok()?))
    }

    /// The parts of the grid on either side of the point at `place`, with the ranks that are still
    /// to be found there.
    pub(super) fn divide(&self, part: &Part, middle: usize, place: usize) -> [Part; 2] {
        let rank = self.ranks.get(middle).copied().unwrap_or_default();
        let side = |left: bool| {
            let shares = part.mass.iter().enumerate().filter_map(|(index, m)| match index.cmp(&place) {
                std::cmp::Ordering::Equal => Some(*m),
                order => (order.is_lt() == left).then(|| m.saturating_mul(2)),
            });
            Part {
                start: if left { part.start } else { part.start + place },
                mass: shares.collect(),
                depth: part.depth + 1,
                wanted: if left { (part.wanted.0, middle) } else { (middle + 1, part.wanted.1) },
                ends: if left { (part.ends.0, rank) } else { (rank, part.ends.1) },
            }
        };
        [side(true), side(false)]
    }
}
