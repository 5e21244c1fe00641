//! Which mechanism each notion has a price for: the table of the guarantees document, as code (soundness rule 21).

use super::Notion;
use crate::dp::Mechanism;

/// A mechanism without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Discrete Laplace noise.
    DiscreteLaplace,
    /// Discrete Gaussian noise.
    DiscreteGaussian,
    /// Selection of groups by a threshold on a noisy number of units.
    ThresholdSelection,
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
    pub const ALL: [Self; 3] = [Self::DiscreteLaplace, Self::DiscreteGaussian, Self::ThresholdSelection];

    /// Its name in the document.
    pub fn name(self) -> &'static str {
        match self {
            Self::DiscreteLaplace => "discrete Laplace",
            Self::DiscreteGaussian => "discrete Gaussian",
            Self::ThresholdSelection => "threshold selection",
        }
    }
}

impl Mechanism {
    /// Its row in the table.
    pub fn kind(&self) -> Kind {
        match self {
            Self::DiscreteLaplace { .. } => Kind::DiscreteLaplace,
            Self::DiscreteGaussian { .. } => Kind::DiscreteGaussian,
        }
    }
}

impl Notion {
    /// All, in the order of the document.
    pub const ALL: [Self; 3] = [Self::Pure, Self::Approx, Self::Zcdp];
}

/// What a notion charges for a mechanism.
pub fn rule(kind: Kind, notion: Notion) -> Rule {
    match (kind, notion) {
        (Kind::DiscreteLaplace, Notion::Pure | Notion::Approx) => Rule::Charged("ε = Δ/b"),
        (Kind::DiscreteLaplace, Notion::Zcdp) => Rule::Charged("ρ = ε·tanh(ε/2)"),
        (Kind::DiscreteGaussian, Notion::Pure) => {
            Rule::Refused("Gaussian noise keeps no pure epsilon, so a pure budget has no price for it")
        }
        (Kind::DiscreteGaussian, Notion::Approx) => Rule::Refused(
            "discrete Gaussian noise has no exact price in (epsilon, delta), so an approx budget has none for it",
        ),
        (Kind::DiscreteGaussian, Notion::Zcdp) => Rule::Charged("ρ = Δ²/(2σ²)"),
        (Kind::ThresholdSelection, Notion::Pure) => {
            Rule::Refused("private groups need a delta, which a pure budget does not have")
        }
        (Kind::ThresholdSelection, Notion::Approx | Notion::Zcdp) => Rule::Charged("δ"),
    }
}
