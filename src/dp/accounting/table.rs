//! Which mechanism each notion has a price for: the table of the guarantees document, as code (soundness rule 21).

use super::Notion;
use crate::{Guarantee, Mechanism};

/// A mechanism without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Discrete Laplace noise.
    DiscreteLaplace,
    /// Discrete Gaussian noise.
    DiscreteGaussian,
    /// Real Gaussian noise, rounded.
    RoundedGaussian,
    /// Selection of groups by a threshold on a noisy number of units.
    ThresholdSelection,
    /// Whatever is ε-DP and no more: randomised response, permute-and-flip, sparse vector.
    Pure,
    /// The exponential mechanism.
    BoundedRange,
}

/// A cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// What is charged, in words of the document.
    Charged(&'static str),
    /// Why there is no price.
    Refused(&'static str),
}

impl Kind {
    /// All, in the order of the document.
    pub const ALL: [Self; 6] = [
        Self::DiscreteLaplace,
        Self::DiscreteGaussian,
        Self::RoundedGaussian,
        Self::ThresholdSelection,
        Self::Pure,
        Self::BoundedRange,
    ];

    /// Its name in the document.
    pub fn name(self) -> &'static str {
        match self {
            Self::DiscreteLaplace => "discrete Laplace",
            Self::DiscreteGaussian => "discrete Gaussian",
            Self::RoundedGaussian => "rounded Gaussian",
            Self::ThresholdSelection => "threshold selection",
            Self::Pure => "any ε-DP mechanism",
            Self::BoundedRange => "exponential mechanism",
        }
    }
}

impl Mechanism {
    /// Its row in the table.
    pub fn kind(&self) -> Kind {
        match self {
            Self::DiscreteLaplace { .. } => Kind::DiscreteLaplace,
            Self::DiscreteGaussian { .. } => Kind::DiscreteGaussian,
            Self::Guaranteed(Guarantee::Pure { .. } | Guarantee::Approximate { .. }) => Kind::Pure,
            Self::Guaranteed(Guarantee::BoundedRange { .. }) => Kind::BoundedRange,
            Self::Guaranteed(Guarantee::Concentrated { .. }) => Kind::DiscreteGaussian,
            Self::Guaranteed(Guarantee::Gaussian { .. }) => Kind::RoundedGaussian,
        }
    }
}

impl Notion {
    /// All, in the order of the document.
    pub const ALL: [Self; 6] = [Self::Pure, Self::Approx, Self::Advanced, Self::Zcdp, Self::Rdp, Self::Gdp];
}

/// What a notion charges for a mechanism.
pub fn rule(kind: Kind, notion: Notion) -> Rule {
    use {Kind as K, Notion as N};
    match (kind, notion) {
        (K::DiscreteLaplace, N::Pure | N::Approx) => Rule::Charged("ε = Δ/b"),
        (K::DiscreteLaplace, N::Advanced) => Rule::Charged("(Δ/b)²"),
        (K::DiscreteLaplace | K::Pure, N::Zcdp) => Rule::Charged("ρ = ε·tanh(ε/2)"),
        (K::DiscreteLaplace, N::Rdp) => Rule::Charged("its own divergence"),
        (K::DiscreteLaplace | K::Pure | K::BoundedRange, N::Gdp) => Rule::Charged("4·Φ⁻¹(1/(1+e^ε))²"),
        (K::DiscreteGaussian | K::RoundedGaussian, N::Pure) => {
            Rule::Refused("Gaussian noise keeps no pure epsilon, so a pure budget has no price for it")
        }
        (K::DiscreteGaussian, N::Approx) => Rule::Refused(
            "discrete Gaussian noise has no exact price in (epsilon, delta), so an approx budget has none for it",
        ),
        (K::DiscreteGaussian, N::Advanced) => Rule::Refused(
            "discrete Gaussian noise has no exact price in (epsilon, delta), so an advanced budget has none for it",
        ),
        (K::DiscreteGaussian, N::Gdp) => Rule::Refused(
            "discrete Gaussian noise is not exactly Gaussian, so a gdp budget has no price for it",
        ),
        (K::DiscreteGaussian | K::RoundedGaussian, N::Zcdp) => Rule::Charged("ρ = Δ²/(2σ²)"),
        (K::DiscreteGaussian | K::RoundedGaussian, N::Rdp) => Rule::Charged("α·Δ²/(2σ²)"),
        (K::RoundedGaussian, N::Approx) => Rule::Charged("analytic ε′ and δ′"),
        (K::RoundedGaussian, N::Advanced) => Rule::Charged("analytic ε′², and δ′"),
        (K::RoundedGaussian, N::Gdp) => Rule::Charged("μ² = Δ²/σ²"),
        (K::ThresholdSelection, N::Pure) => {
            Rule::Refused("private groups need a delta, which a pure budget does not have")
        }
        (K::ThresholdSelection, _) => Rule::Charged("δ"),
        (K::Pure | K::BoundedRange, N::Pure | N::Approx) => Rule::Charged("ε"),
        (K::Pure | K::BoundedRange, N::Advanced) => Rule::Charged("ε²"),
        (K::Pure, N::Rdp) => Rule::Charged("that of randomised response"),
        (K::BoundedRange, N::Zcdp) => Rule::Charged("ρ = ε²/8"),
        (K::BoundedRange, N::Rdp) => Rule::Charged("α·ε²/8"),
    }
}
