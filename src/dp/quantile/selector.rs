//! Mechanisms that choose a point.

use crate::ratio::{exact, exact_integer, narrow};
use crate::{Candidates, DpError, Entropy, EntropyError, Guarantee, Ratio};

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
