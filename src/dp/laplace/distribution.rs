//! The discrete Laplace distribution of a scale.

use crate::{DpError, Ratio};

/// P(x) ∝ e^(-|x|/b) on the integers, for a rational scale b > 0.
///
/// Guarantee: adding one draw to an integer that one unit changes by at most Δ is (Δ/b, 0)-differentially private
/// for add/remove neighbours, and ρ-zCDP with ρ = ε·tanh(ε/2), ε = Δ/b (at Δ = 1 it dominates as randomised response
/// does; for Δ > 1 this is the bound for any ε-DP mechanism).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscreteLaplace {
    /// b = t/s in lowest terms.
    pub(super) t: u128,
    pub(super) s: u128,
}

impl DiscreteLaplace {
    /// Numerator and denominator of a scale, in lowest terms, are below 2^96.
    pub const MAX_TERM: u128 = 1 << 96;

    /// The distribution of scale `b`; b is above zero and both its terms are below [`Self::MAX_TERM`].
    pub fn new(b: &Ratio) -> Result<Self, DpError> {
        if *b.numer() == 0 || *b.denom() == 0 {
            return Err(DpError::OutOfRange("a noise scale must be greater than zero"));
        }
        let b = b.reduced();
        if *b.numer() >= Self::MAX_TERM || *b.denom() >= Self::MAX_TERM {
            return Err(DpError::OutOfRange("a noise scale has terms of more than 96 bits"));
        }
        Ok(Self { t: *b.numer(), s: *b.denom() })
    }
}
