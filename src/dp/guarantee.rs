//! What one use of a mechanism promises, in the terms that accountants price.

use super::Ratio;
use super::spec::BigRatio;

/// A bound on the privacy loss of one use of a mechanism, for any pair of neighbouring inputs (add/remove of one unit,
/// unless the mechanism says otherwise).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// ε-DP and no more: dominated by randomised response, whose curve is its price in every notion; ρ = ε·tanh(ε/2)
    /// (Harrison and Manurangsi 2026). Interactive mechanisms are among these (Vadhan and Wang 2021).
    Pure {
        /// ε.
        epsilon: Ratio,
    },
    /// ε-bounded-range (Durfee and Rogers 2019): the loss lies in an interval of length ε. It is ε-DP, and ε²/8-zCDP
    /// (Cesar and Rogers 2021, Lemma 3.4).
    BoundedRange {
        /// ε.
        epsilon: Ratio,
    },
    /// (ε, δ)-DP. For a mechanism that answers once this is ε-DP outside of an event of probability δ (Kairouz, Oh and
    /// Viswanath 2015, Theorem 3.2), so that δ adds up beside what ε costs.
    Approximate {
        /// ε.
        epsilon: Ratio,
        /// δ.
        delta: Ratio,
    },
    /// ρ-zCDP (Bun and Steinke 2016).
    Concentrated {
        /// ρ.
        rho: BigRatio,
    },
    /// μ-GDP (Dong, Roth and Su 2022), hence μ²/2-zCDP.
    Gaussian {
        /// μ², which is rational where μ is not.
        square: BigRatio,
    },
}

impl Guarantee {
    /// The ε of pure differential privacy, where there is one.
    pub fn epsilon(&self) -> Option<&Ratio> {
        match self {
            Self::Pure { epsilon } | Self::BoundedRange { epsilon } => Some(epsilon),
            Self::Approximate { epsilon, delta } if *delta.numer() == 0 => Some(epsilon),
            _ => None,
        }
    }
}
