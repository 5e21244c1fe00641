//! Σε², and Σδ beside it: √(2 ln(1/δ′)·Σε²) + Σε²/2 <= ε.
//!
//! Why it holds: the loss less its drift is a martingale with increments of at most ε; a supermartingale bound holds at
//! the time when Σε² would pass the limit, which is a stopping time (Whitehouse, Ramdas, Rogers and Wu 2023, Theorem 2).

use crate::accounting::cost::{Cost, Unpriced};
use crate::accounting::entry::{Conversion, Entry};
use crate::accounting::kinds::{Kind, Rule};
use crate::accounting::{limits, price, stated};
use crate::interval::Interval;
use crate::{Guarantee, Ratio, composition};

/// Facts about the notion.
pub(super) static ENTRY: Entry = Entry {
    word: "advanced",
    symbol: "ε²",
    key: Some("epsilon_squared"),
    has_delta: true,
    adds_epsilon: false,
    counts_rho: false,
    counts_orders: false,
    analytic: true,
    conversion: Conversion::At(|loss, delta| composition::adaptive(loss.into(), delta).hi()),
    rule,
    drawn: |events| Ok(Cost::of_loss(price::square(events)?)),
    pure: sum,
    bounded_range: sum,
    gaussian,
    limit: |epsilon, delta, selection| limits::advanced(epsilon, delta, selection).map(Cost::of_loss),
    unlimited: "a budget that converts to epsilon needs a delta above its selection_delta",
    sums: (
        "Σε², and Σδ",
        "the largest Σε² with √(2 ln(1/δ′)·Σε²) + Σε²/2 ≤ ε, where δ′ = δ − `selection_delta`; `selection_delta`",
    ),
};

fn rule(kind: Kind) -> Rule {
    match kind {
        Kind::DiscreteLaplace => Rule::Charged("(Δ/b)²"),
        Kind::DiscreteGaussian => Rule::Refused(
            "discrete Gaussian noise has no exact price in (epsilon, delta), so an advanced budget has none for it",
        ),
        Kind::RoundedGaussian => Rule::Charged("analytic ε′², and δ′, at a δ′ that is chosen beforehand"),
        Kind::ThresholdSelection => Rule::Charged("as for the noise, and δ apart"),
        Kind::Pure | Kind::BoundedRange => Rule::Charged("ε²"),
    }
}

fn sum(epsilon: &Ratio, times: u32) -> Result<Cost, Unpriced> {
    let e = stated::epsilon(epsilon)?;
    stated::sum(&(&e * &e), times)
}

fn gaussian(of: &Guarantee, times: u32, delta: Option<&Ratio>) -> Option<Result<Cost, Unpriced>> {
    match of {
        Guarantee::Gaussian { square } => Some(stated::analytic(square, times, delta, Interval::square)),
        _ => None,
    }
}
