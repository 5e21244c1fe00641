//! Σ of the Rényi divergence at each order of [`ORDERS`], with a share of δ for each; a charge is admitted while some
//! order's sum stays within that order's limit.
//!
//! Why it holds: give each finished run to the first order whose limit holds at its end. Sums only grow, so on these runs
//! the interaction is the same as the one that stops when that order's limit would be passed, and that one is (ε,
//! δ_order)-DP: e^((α-1)·(loss so far) - (α-1)·Σ divergence) is a supermartingale (Feldman and Zrnic 2021; Lécuyer 2021).
//! So P(S) <= e^ε·Q(S) + Σ δ_order. To convert with the whole δ at whichever order turns out best is not this filter.

use crate::accounting::cost::{Cost, Unpriced};
use crate::accounting::entry::{Conversion, Entry};
use crate::accounting::kinds::{Kind, Rule};
use crate::accounting::{limits, price, stated};
use crate::ratio::{exact, exact_integer};
use crate::rdp::Curve;
use crate::{Guarantee, Ratio};

/// Facts about the notion.
pub(super) static ENTRY: Entry = Entry {
    word: "rdp",
    symbol: "Rényi divergence",
    key: None,
    has_delta: true,
    adds_epsilon: false,
    counts_rho: true,
    counts_orders: true,
    analytic: false,
    conversion: Conversion::OfTheLimit,
    rule,
    drawn: |events| Ok(Cost { orders: price::orders(events)?, ..Cost::default() }),
    pure,
    bounded_range,
    gaussian,
    limit,
    unlimited: "a budget that converts to epsilon needs a delta above its selection_delta",
    sums: (
        "Σ of the Rényi divergence at each of 16 fixed orders, and Σδ",
        "at each order what implies (ε, its share of δ − `selection_delta`); one order that holds is enough. The order that suits many small charges has nine tenths of δ; order ∞, which is Σε, needs none",
    ),
};

fn rule(kind: Kind) -> Rule {
    match kind {
        Kind::DiscreteLaplace => {
            Rule::Charged("its own divergence of each order, and no more than that of randomised response")
        }
        Kind::DiscreteGaussian | Kind::RoundedGaussian => Rule::Charged("α·Δ²/(2σ²)"),
        Kind::ThresholdSelection => Rule::Charged("as for the noise, and δ apart"),
        Kind::Pure => Rule::Charged("that of randomised response"),
        Kind::BoundedRange => Rule::Charged("α·ε²/8, and no more than that of randomised response"),
    }
}

fn limit(epsilon: &Ratio, delta: &Ratio, selection: &Ratio) -> Option<Cost> {
    limits::rdp(epsilon, delta, selection).map(|orders| Cost { orders, ..Cost::default() })
}

fn pure(epsilon: &Ratio, times: u32) -> Result<Cost, Unpriced> {
    stated::curve(Curve::Pure { epsilon: stated::enclose(&stated::epsilon(epsilon)?) }, times)
}

fn bounded_range(epsilon: &Ratio, times: u32) -> Result<Cost, Unpriced> {
    stated::curve(Curve::BoundedRange { epsilon: stated::enclose(&exact(epsilon)) }, times)
}

fn gaussian(of: &Guarantee, times: u32, _: Option<&Ratio>) -> Option<Result<Cost, Unpriced>> {
    let curve = |square| stated::curve(Curve::Gaussian { square: stated::enclose(square) }, times);
    match of {
        Guarantee::Concentrated { rho } => Some(curve(&(rho * exact_integer(2u8)))),
        Guarantee::Gaussian { square } => Some(curve(square)),
        _ => None,
    }
}
