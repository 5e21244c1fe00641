//! The rows of the table of mechanisms and notions in the guarantees document (soundness rule 21).

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
    /// A charge, in words of the document.
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

    /// What it is, and where it is from, in words of the document.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::DiscreteLaplace => (
                "discrete Laplace of scale b on an integer of sensitivity Δ: P(x) ∝ e^(-|x|/b)",
                "sampler: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy* (2020), Algorithms 1 and 2; price: Harrison, Manurangsi, *Exact zCDP Characterizations* (2026); Mironov (2017), Proposition 5",
            ),
            Self::DiscreteGaussian => (
                "discrete Gaussian of parameter σ² on an integer of sensitivity Δ: P(x) ∝ e^(-x²/(2σ²))",
                "Canonne, Kamath, Steinke (2020), Algorithm 3, Proposition 5 and Theorems 4 and 14",
            ),
            Self::RoundedGaussian => (
                "rounded Gaussian of standard deviation σ on an integer of sensitivity Δ",
                "Balle, Wang (2018), Theorem 8; Dong, Roth, Su (2022), Theorem 2.7; rounding is post-processing",
            ),
            Self::ThresholdSelection => (
                "threshold selection: a group is kept if its number of units plus discrete Laplace or Gaussian noise (Δ = 1) reaches T",
                "Wilson et al., *Differentially Private SQL with Bounded User Contribution* (2020), with the tail of the discrete distribution (Gaussian: a bound of it)",
            ),
            Self::Pure => (
                "any ε-DP mechanism: randomised response, permute-and-flip, a sparse vector stream",
                "Kairouz, Oh, Viswanath (2015), Theorem 3.1; interactive ones: Vadhan, Wang (2021)",
            ),
            Self::BoundedRange => {
                ("exponential mechanism of bounded range ε", "Cesar, Rogers (2021), Lemma 3.4")
            }
        }
    }
}

/// What a notion says of each mechanism.
type RuleOf = fn(Kind) -> Rule;

/// The table of mechanisms and notions, in Markdown: each notion's rule of each mechanism.
pub(super) fn table(notions: &[(&str, RuleOf)]) -> String {
    // A bar inside a formula is written with a backslash.
    let cell = |text: &str| text.replace('|', "\\|");
    let words = |word: &str| format!(" {word} |").repeat(notions.len());
    let header: String = notions.iter().map(|(word, _)| format!(" {word} |")).collect();
    let mut out = format!("| mechanism |{header} source |\n|---|{}---|\n", "---|".repeat(notions.len()));
    for kind in Kind::ALL {
        let (what, source) = kind.words();
        out += &format!("| {} |", cell(what));
        for (_, rule) in notions {
            out += &match rule(kind) {
                Rule::Charged(formula) => format!(" {} |", cell(formula)),
                Rule::Refused(why) => format!(" refused: {} |", cell(why)),
            };
        }
        out += &format!(" {} |\n", cell(source));
    }
    out + &format!("| any other |{} |\n", words("refused"))
}

impl Mechanism {
    /// Row of the mechanism in the table.
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
