//! Mechanisms that choose a point.

use crate::ratio::{exact, exact_integer, narrow, root_down};
use crate::{Candidates, DpError, Entropy, EntropyError, Guarantee, Ratio, Share};

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

    /// ε of each of `times` >= 1 choices that are made one after the other and have this share of a price together.
    ///
    /// Of ε each has an equal part. Of ε² = 2ρ each has ρ/times, and a bounded-range mechanism of ε is ε²/8-zCDP (Cesar and
    /// Rogers, "Bounding, Concentrating, and Truncating", 2021), so that its ε is 2·√(ε²/times): the root is rounded down to
    /// six digits.
    ///
    /// # Errors
    /// The share is none, or is of ε² and the mechanism is not bounded-range (soundness rule 20).
    pub(crate) fn level(self, share: &Share, times: u32) -> Result<Ratio, DpError> {
        const SPLIT: DpError = DpError::OutOfRange("a price split over its releases");
        if times == 0 {
            return Err(SPLIT);
        }
        let level = match (share, self) {
            (Share::Epsilon(e), _) => narrow(&(e / exact_integer(times))),
            (Share::Square(s), Self::Exponential) => {
                root_down(&(s * exact_integer(4u8) / exact_integer(times)))
            }
            (Share::Square(_), Self::PermuteAndFlip) => None,
        };
        level.filter(|e| *e.numer() != 0).ok_or(SPLIT)
    }

    /// The share that so many choices of this ε use of a price that is divided as `share` is.
    pub(crate) fn used(share: &Share, level: &Ratio, times: u32) -> Share {
        let (level, times) = (exact(level), exact_integer(times));
        match share {
            Share::Epsilon(_) => Share::Epsilon(level * times),
            Share::Square(_) => Share::Square(&level * &level * times / exact_integer(4u8)),
        }
    }

    pub(super) fn choose(
        self,
        scores: &[i64],
        factor: &Ratio,
        rng: &mut impl Entropy,
    ) -> Result<usize, EntropyError> {
        // There is a point, and the factor was checked.
        let Ok(candidates) = Candidates::new(scores, factor) else { return Ok(0) };
        match self {
            Self::Exponential => candidates.exponential(rng),
            Self::PermuteAndFlip => candidates.permute_and_flip(rng),
        }
    }
}

/// ε/(2Δ).
pub(super) fn factor(epsilon: &Ratio, sensitivity: u128) -> Result<Ratio, DpError> {
    if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
        return Err(DpError::Epsilon);
    }
    if sensitivity == 0 {
        return Err(DpError::OutOfRange("a unit without weight"));
    }
    narrow(&(exact(epsilon) / (exact_integer(sensitivity) * exact_integer(2u8))))
        .ok_or(DpError::OutOfRange("an epsilon for a choice"))
}
