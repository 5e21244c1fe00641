//! Σμ²: Gaussian differential privacy, with Σδ of selection beside it.
//!
//! Why it holds: adaptively chosen μᵢ with Σμᵢ² <= μ² compose to μ-GDP, because the losses of Gaussians are those of a
//! Brownian motion run for time Σμᵢ² (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2022).

use crate::accounting::cost::{Cost, Unpriced};
use crate::accounting::entry::{Conversion, Entry};
use crate::accounting::kinds::{Kind, Rule};
use crate::accounting::{limits, price, stated};
use crate::interval::Interval;
use crate::{Guarantee, Ratio, gdp};

/// Facts about the notion.
pub(super) static ENTRY: Entry = Entry {
    word: "gdp",
    symbol: "μ²",
    key: Some("mu_squared"),
    has_delta: true,
    adds_epsilon: false,
    counts_rho: false,
    counts_orders: false,
    analytic: false,
    conversion: Conversion::At(|loss, delta| gdp::epsilon(Interval::from(loss).sqrt().hi(), delta)),
    rule,
    drawn: |events| Ok(Cost::of_loss(price::mu_square(events)?)),
    pure,
    bounded_range: pure,
    gaussian,
    limit: |epsilon, delta, selection| limits::gdp(epsilon, delta, selection).map(Cost::of_loss),
    unlimited: "a budget that converts to epsilon needs a delta above its selection_delta",
    sums: ("Σμ², and Σδ", "the largest μ² that implies (ε, δ − `selection_delta`)"),
};

fn rule(kind: Kind) -> Rule {
    match kind {
        Kind::DiscreteLaplace => Rule::Charged("4·Φ⁻¹(1/(1+e^ε))² with ε = Δ/b"),
        Kind::Pure | Kind::BoundedRange => Rule::Charged("4·Φ⁻¹(1/(1+e^ε))²"),
        Kind::DiscreteGaussian => Rule::Refused(
            "discrete Gaussian noise is not exactly Gaussian, so a gdp budget has no price for it",
        ),
        Kind::RoundedGaussian => Rule::Charged("μ² = Δ²/σ², exactly"),
        Kind::ThresholdSelection => Rule::Charged("as for the noise, and δ apart"),
    }
}

fn pure(epsilon: &Ratio, times: u32) -> Result<Cost, Unpriced> {
    let square = Interval::from(gdp::of_pure(stated::enclose(&stated::epsilon(epsilon)?).hi())).square();
    let loss = limits::units_above(square * f64::from(times)).ok_or(Unpriced::Unbounded)?;
    Ok(Cost::of_loss(loss))
}

fn gaussian(of: &Guarantee, times: u32, _: Option<&Ratio>) -> Option<Result<Cost, Unpriced>> {
    match of {
        Guarantee::Gaussian { square } => Some(stated::sum(square, times)),
        _ => None,
    }
}
