//! Guarantees: the promise of one use of a mechanism, in the terms that accountants price.

use super::Ratio;
use super::exp::{PRECISION, div_ceil, exp_neg, one};
use super::ratio::{BigRatio, exact};
use num_bigint::BigUint;
use num_traits::One;

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
    /// (Cesar and Rogers 2021).
    BoundedRange {
        /// ε.
        epsilon: Ratio,
    },
    /// (ε, δ)-DP. For a mechanism that answers once this is ε-DP outside of an event of probability δ (Kairouz, Oh and
    /// Viswanath 2015), so that δ adds up beside what ε costs. An interactive one is a reading of a mechanism that answers
    /// once, when it begins (Lyu 2022; Vadhan and Zhang 2023).
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
    /// The word of the guarantees document.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pure { .. } => "pure",
            Self::BoundedRange { .. } => "bounded range",
            Self::Approximate { .. } => "approximate",
            Self::Concentrated { .. } => "concentrated",
            Self::Gaussian { .. } => "Gaussian",
        }
    }

    /// The ε of ε-DP, or of (ε, δ)-DP with the δ of [`Self::delta`]. None where no ε is exact.
    pub fn epsilon(&self) -> Option<&Ratio> {
        match self {
            Self::Pure { epsilon } | Self::BoundedRange { epsilon } | Self::Approximate { epsilon, .. } => {
                Some(epsilon)
            }
            Self::Concentrated { .. } | Self::Gaussian { .. } => None,
        }
    }

    /// The δ that adds up apart from ε or ρ.
    pub fn delta(&self) -> Option<&Ratio> {
        match self {
            Self::Approximate { delta, .. } => Some(delta),
            _ => None,
        }
    }

    /// ρ of zCDP, outside of an event of probability [`Self::delta`]; exact where it is rational, else from above by no more
    /// than 2^-250 or so. None where ε is not a number.
    pub fn rho(&self) -> Option<BigRatio> {
        match self {
            Self::Pure { epsilon } | Self::Approximate { epsilon, .. } => {
                let e = usable(epsilon)?;
                Some(BigRatio::new(rho_of(e.numer(), e.denom()), BigUint::one() << PRECISION))
            }
            Self::BoundedRange { epsilon } => {
                let e = usable(epsilon)?;
                Some(&e * &e / BigUint::from(8u8))
            }
            Self::Concentrated { rho } => Some(rho.clone()),
            Self::Gaussian { square } => Some(square / BigUint::from(2u8)),
        }
    }
}

/// ε·tanh(ε/2) for ε = `n`/`d`, rounded up to units of 2^-256.
pub(super) fn rho_of(n: &BigUint, d: &BigUint) -> BigUint {
    // ε·(1-x)/(1+x) with x = e^-ε falls in x: the lower bound of x gives the upper one of ρ.
    let (x, _) = exp_neg(n, d);
    div_ceil((n * (one() - &x)) << PRECISION, &(d * (one() + x)))
}

fn usable(epsilon: &Ratio) -> Option<BigRatio> {
    (*epsilon.denom() != 0).then(|| exact(epsilon))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::certified::to_float;
    use crate::quantile::Selector;

    fn all() -> [Guarantee; 5] {
        let (epsilon, delta) = (Ratio::from_integer(1), Ratio::new(1, 1_000_000));
        let square = exact(&Ratio::new(1, 4));
        [
            Guarantee::Pure { epsilon },
            Guarantee::BoundedRange { epsilon },
            Guarantee::Approximate { epsilon, delta },
            Guarantee::Concentrated { rho: square.clone() },
            Guarantee::Gaussian { square },
        ]
    }

    /// Mutations: ε²/8 for permute-and-flip, continuous-Laplace prices for what is pure, a price rounded down.
    #[test]
    fn rule_20_prices_in_zcdp() {
        let rho: Vec<f64> = all().iter().map(|g| to_float(&g.rho().unwrap())).collect();
        let tanh = 0.462_117_157_260_009_76;
        for (rho, expected) in rho.iter().zip([tanh, 0.125, tanh, 0.25, 0.125]) {
            assert!((rho / expected - 1.0).abs() < 1e-15, "{rho} against {expected}");
        }
        let epsilon = Ratio::from_integer(1);
        let flipped = Selector::PermuteAndFlip.guarantee(&epsilon).rho().unwrap();
        // The median of the rule: its divergence is 0.255.
        assert!(
            to_float(&flipped) > 0.255 && flipped > Selector::Exponential.guarantee(&epsilon).rho().unwrap()
        );
        // tanh(1/2) to 24 digits, rounded up.
        let digits = Ratio::new(462_117_157_260_009_758_502_318, 1_000_000_000_000_000_000_000_000);
        assert!(flipped > exact(&digits) && flipped < exact(&(digits + Ratio::new(1, 10u128.pow(24)))));
        assert_eq!(Guarantee::Pure { epsilon: Ratio::new_raw(1, 0) }.rho(), None);
    }

    /// The document has a row for each guarantee.
    #[test]
    fn the_document_prices_each_guarantee() {
        let document = include_str!("../../docs/guarantees.md");
        for guarantee in all() {
            let row = format!("| {}: ", guarantee.word());
            let row = document.lines().find(|l| l.starts_with(&row)).unwrap();
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            assert_eq!(
                cells[2].starts_with("refused"),
                guarantee.epsilon().is_none() || guarantee.delta().is_some()
            );
            let formula = match guarantee {
                Guarantee::Pure { .. } | Guarantee::Approximate { .. } => "ρ = ε·tanh(ε/2)",
                Guarantee::BoundedRange { .. } => "ρ = ε²/8",
                Guarantee::Concentrated { .. } => "ρ",
                Guarantee::Gaussian { .. } => "ρ = μ²/2",
            };
            assert!(cells[5].starts_with(formula), "{row}");
        }
    }
}
