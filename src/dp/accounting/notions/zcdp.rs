//! Σρ: zero-concentrated differential privacy (Bun and Steinke 2016), with Σδ of selection beside it.
//!
//! Why it holds: it is the filter of every Rényi order at once, whose limits lie on one line (Feldman and Zrnic 2021).

use crate::accounting::cost::{Cost, Unpriced};
use crate::accounting::entry::{Conversion, Entry};
use crate::accounting::kinds::{Kind, Rule};
use crate::accounting::{limits, price, stated};
use crate::ratio::{exact, exact_integer};
use crate::{Guarantee, Ratio, cdp};

/// Facts about the notion.
pub(super) static ENTRY: Entry = Entry {
    word: "zcdp",
    symbol: "ρ",
    key: Some("rho"),
    has_delta: true,
    adds_epsilon: false,
    counts_rho: true,
    counts_orders: false,
    analytic: false,
    conversion: Conversion::At(cdp::epsilon),
    rule,
    drawn: |events| Ok(Cost::of_loss(price::rho(events)?)),
    pure,
    bounded_range,
    gaussian,
    limit: |epsilon, delta, selection| limits::zcdp(epsilon, delta, selection).map(Cost::of_loss),
    unlimited: "a zcdp budget needs a delta above its selection_delta",
    sums: (
        "Σρ, and Σδ of selection",
        "the largest ρ that implies (ε, δ − `selection_delta`); `selection_delta`",
    ),
};

fn rule(kind: Kind) -> Rule {
    match kind {
        Kind::DiscreteLaplace => Rule::Charged(
            "ρ = ε·tanh(ε/2) with ε = Δ/b: exact at Δ = 1, where it is randomised response, an upper bound above it",
        ),
        Kind::Pure => Rule::Charged("ρ = ε·tanh(ε/2)"),
        Kind::DiscreteGaussian | Kind::RoundedGaussian => Rule::Charged("ρ = Δ²/(2σ²)"),
        Kind::ThresholdSelection => Rule::Charged("as for the noise, and δ apart"),
        Kind::BoundedRange => Rule::Charged("ρ = ε²/8"),
    }
}

fn pure(epsilon: &Ratio, times: u32) -> Result<Cost, Unpriced> {
    stated::epsilon(epsilon)?;
    let rho = Guarantee::Pure { epsilon: *epsilon }.rho().ok_or(Unpriced::Unbounded)?;
    stated::sum(&rho, times)
}

fn bounded_range(epsilon: &Ratio, times: u32) -> Result<Cost, Unpriced> {
    let square = exact(epsilon) * exact(epsilon);
    stated::sum(&(square / exact_integer(8u8)), times)
}

fn gaussian(of: &Guarantee, times: u32, _: Option<&Ratio>) -> Option<Result<Cost, Unpriced>> {
    match of {
        Guarantee::Concentrated { rho } => Some(stated::sum(rho, times)),
        Guarantee::Gaussian { square } => Some(stated::sum(&(square / exact_integer(2u8)), times)),
        _ => None,
    }
}
