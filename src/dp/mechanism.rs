//! Uses of mechanisms: what an accountant is told.

use super::guarantee::Guarantee;
use super::noise::Distribution;
use super::ratio::{BigRatio, Ratio, exact, exact_integer, narrow};
use super::sensitivity::Sensitivity;
use num_bigint::BigUint;

/// A mechanism and the parameters that decide its privacy loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Discrete Laplace noise of scale b on an integer in each group, each with a draw of its own.
    DiscreteLaplace {
        /// The norms of what one unit changes.
        sensitivity: Sensitivity,
        /// b.
        scale: Ratio,
    },
    /// Discrete Gaussian noise of parameter σ² on an integer in each group, each with a draw of its own.
    DiscreteGaussian {
        /// The norms of what one unit changes.
        sensitivity: Sensitivity,
        /// σ².
        variance: Ratio,
    },
    /// A mechanism that states what it promises rather than what it draws: a sparse vector stream, for one.
    Guaranteed(Guarantee),
}

/// A number of uses of a mechanism on the same unit's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// Number of uses.
    pub times: u32,
}

impl Event {
    /// The event of this noise on an integer in each group, of this sensitivity.
    pub fn noise(sensitivity: Sensitivity, noise: Distribution) -> Self {
        let mechanism = match noise {
            // No noise on what a unit can change has no price, in any notion.
            Distribution::None => Mechanism::DiscreteLaplace { sensitivity, scale: Ratio::from_integer(0) },
            Distribution::Laplace { scale } => Mechanism::DiscreteLaplace { sensitivity, scale },
            Distribution::Gaussian { variance } => Mechanism::DiscreteGaussian { sensitivity, variance },
        };
        Self { mechanism, times: 1 }
    }

    /// The pure ε of all uses together, l₁/b. None where there is none: Gaussian noise, or no noise on what a unit
    /// can change.
    pub fn epsilon(&self) -> Option<Ratio> {
        match self.share()? {
            Share::Epsilon(e) => narrow(&e),
            Share::Square(_) => None,
        }
    }

    /// The share that all uses together add to the name of a price: ε = l₁/b for Laplace noise, ε² = l₂²/σ² for
    /// Gaussian noise. None where there is none: no noise on what a unit can change.
    pub fn share(&self) -> Option<Share> {
        let (moved, parameter) = match &self.mechanism {
            Mechanism::DiscreteLaplace { sensitivity, scale } => (sensitivity.l1, scale),
            Mechanism::DiscreteGaussian { sensitivity, variance } => (sensitivity.l2_squared, variance),
            Mechanism::Guaranteed(guarantee) => return share_of(guarantee, self.times),
        };
        let used = moved != 0 && self.times != 0;
        if used && (*parameter.numer() == 0 || *parameter.denom() == 0) {
            return None;
        }
        let per = if used {
            let moved = BigUint::from(self.times) * moved * *parameter.denom();
            BigRatio::new(moved, BigUint::from(*parameter.numer()))
        } else {
            exact_integer(0u8)
        };
        Some(match &self.mechanism {
            Mechanism::DiscreteGaussian { .. } => Share::Square(per),
            _ => Share::Epsilon(per),
        })
    }
}

/// The share of a stated guarantee: ε, or ε² = μ² = 2ρ where there is no ε.
fn share_of(guarantee: &Guarantee, times: u32) -> Option<Share> {
    let n = exact_integer(times);
    Some(match guarantee {
        Guarantee::Pure { epsilon }
        | Guarantee::BoundedRange { epsilon }
        | Guarantee::Approximate { epsilon, .. } => {
            Share::Epsilon((*epsilon.denom() != 0).then(|| exact(epsilon) * n)?)
        }
        Guarantee::Concentrated { rho } => Share::Square(rho * exact_integer(2u8) * n),
        Guarantee::Gaussian { square } => Share::Square(square * n),
    })
}

/// A part of a price's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Share {
    /// ε: these add up.
    Epsilon(BigRatio),
    /// ε²: of these the squares add up.
    Square(BigRatio),
}
