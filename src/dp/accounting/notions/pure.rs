//! Σε, with δ = 0: pure differential privacy.
//!
//! Why it holds: the loss of a run is at most the sum of its steps' ε, run by run (Rogers et al. 2016).

use crate::Ratio;
use crate::accounting::cost::{Cost, Unpriced, units_down};
use crate::accounting::entry::{Conversion, Entry};
use crate::accounting::kinds::{Kind, Rule};
use crate::accounting::{price, stated};

/// Facts about the notion.
pub(super) static ENTRY: Entry = Entry {
    word: "pure",
    symbol: "ε",
    key: Some("epsilon"),
    has_delta: false,
    adds_epsilon: true,
    counts_rho: false,
    counts_orders: false,
    analytic: false,
    conversion: Conversion::Itself,
    rule,
    drawn: |events| Ok(Cost::of_loss(price::epsilon(events)?)),
    pure: sum,
    bounded_range: sum,
    gaussian: |_, _, _| None,
    limit: |epsilon, _, _| Some(Cost::of_loss(units_down(epsilon))),
    unlimited: "a budget that converts to epsilon needs a delta above its selection_delta",
    sums: ("Σε", "ε. Private groups are refused (`rule_22_…`)"),
};

fn rule(kind: Kind) -> Rule {
    match kind {
        Kind::DiscreteLaplace => Rule::Charged("ε = Δ/b"),
        Kind::DiscreteGaussian | Kind::RoundedGaussian => {
            Rule::Refused("Gaussian noise keeps no pure epsilon, so a pure budget has no price for it")
        }
        Kind::ThresholdSelection => {
            Rule::Refused("private groups need a delta, which a pure budget does not have")
        }
        Kind::Pure | Kind::BoundedRange => Rule::Charged("ε"),
    }
}

fn sum(epsilon: &Ratio, times: u32) -> Result<Cost, Unpriced> {
    stated::sum(&stated::epsilon(epsilon)?, times)
}
