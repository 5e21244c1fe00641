//! Σε and Σδ: basic composition.
//!
//! Why it holds: as for pure, outside of events whose probabilities add up to at most Σδ (Rogers et al. 2016).

use crate::accounting::cost::{Cost, Unpriced, units_down};
use crate::accounting::entry::{Conversion, Entry};
use crate::accounting::kinds::{Kind, Rule};
use crate::accounting::{price, stated};
use crate::{Guarantee, Ratio};

/// Facts about the notion.
pub(super) static ENTRY: Entry = Entry {
    word: "approx",
    symbol: "ε",
    key: Some("epsilon"),
    has_delta: true,
    adds_epsilon: true,
    counts_rho: false,
    counts_orders: false,
    analytic: true,
    conversion: Conversion::Itself,
    rule,
    drawn: |events| Ok(Cost::of_loss(price::epsilon(events)?)),
    pure: sum,
    bounded_range: sum,
    gaussian,
    limit: |epsilon, _, _| Some(Cost::of_loss(units_down(epsilon))),
    unlimited: "a budget that converts to epsilon needs a delta above its selection_delta",
    sums: ("Σε, and Σδ of selection", "ε; `selection_delta`"),
};

fn rule(kind: Kind) -> Rule {
    match kind {
        Kind::DiscreteLaplace => Rule::Charged("ε = Δ/b, δ = 0"),
        Kind::DiscreteGaussian => Rule::Refused(
            "discrete Gaussian noise has no exact price in (epsilon, delta), so an approx budget has none for it",
        ),
        Kind::RoundedGaussian => Rule::Charged("analytic ε′ and δ′, at a δ′ that is chosen beforehand"),
        Kind::ThresholdSelection => Rule::Charged("as for the noise, and δ"),
        Kind::Pure | Kind::BoundedRange => Rule::Charged("ε"),
    }
}

fn sum(epsilon: &Ratio, times: u32) -> Result<Cost, Unpriced> {
    stated::sum(&stated::epsilon(epsilon)?, times)
}

fn gaussian(of: &Guarantee, times: u32, delta: Option<&Ratio>) -> Option<Result<Cost, Unpriced>> {
    match of {
        Guarantee::Gaussian { square } => Some(stated::analytic(square, times, delta, |epsilon| epsilon)),
        _ => None,
    }
}
