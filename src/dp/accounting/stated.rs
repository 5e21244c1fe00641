//! Prices of guarantees: what notions have in common.

use super::cost::{Cost, ORDERS, UNITS_PER_ONE, Unpriced, units_up};
use super::kinds::Rule;
use super::limits;
use crate::exp::div_ceil;
use crate::interval::Interval;
use crate::ratio::{BigRatio, exact, exact_integer};
use crate::rdp::Curve;
use crate::{Ratio, gdp};
use num_traits::ToPrimitive;

/// Refuses with the words of the table.
pub(super) fn refused(rule: Rule) -> Unpriced {
    match rule {
        Rule::Refused(why) => Unpriced::Mechanism(why),
        Rule::Charged(_) => Unpriced::Unbounded,
    }
}

pub(super) fn enclose(r: &BigRatio) -> Interval {
    Interval::quotient(r.numer(), r.denom())
}

/// A rational in units, rounded up.
pub(super) fn units(r: &BigRatio) -> Result<u128, Unpriced> {
    div_ceil(r.numer() * UNITS_PER_ONE, r.denom()).to_u128().ok_or(Unpriced::Unbounded)
}

/// The curve at every order; beyond any limit where it is infinite.
pub(super) fn curve(curve: Curve, times: u32) -> Result<Cost, Unpriced> {
    let at = |order: f64| {
        let r = curve.divergence(order) * f64::from(times);
        if r.hi().is_finite() { limits::units_above(r).unwrap_or(u128::MAX) } else { u128::MAX }
    };
    Ok(Cost { orders: ORDERS.map(at), ..Cost::default() })
}

/// Σ of what `n` uses cost, where one costs `each`.
pub(super) fn sum(each: &BigRatio, times: u32) -> Result<Cost, Unpriced> {
    Ok(Cost::of_loss(units(&(each * exact_integer(times)))?))
}

/// An ε as a fraction. Refuses one that is no number.
pub(super) fn epsilon(epsilon: &Ratio) -> Result<BigRatio, Unpriced> {
    if *epsilon.denom() == 0 { Err(Unpriced::Unbounded) } else { Ok(exact(epsilon)) }
}

/// (ε′, δ′) for each use of real Gaussian noise: ε′ is the analytic ε at δ′, of which `priced` says what is summed.
pub(super) fn analytic(
    square: &BigRatio,
    times: u32,
    delta: Option<&Ratio>,
    priced: fn(Interval) -> Interval,
) -> Result<Cost, Unpriced> {
    let delta = delta.filter(|d| *d.numer() != 0 && *d.denom() != 0).ok_or(Unpriced::Mechanism(
        "Gaussian noise costs an epsilon only together with a delta of its own, and none is set aside for it",
    ))?;
    let allowed = enclose(&exact(delta)).lo();
    let each = priced(Interval::from(gdp::epsilon(enclose(square).sqrt().hi(), allowed)));
    let loss = limits::units_above(each * f64::from(times)).ok_or(Unpriced::Unbounded)?;
    let delta = units_up(delta).and_then(|d| d.checked_mul(times.into())).ok_or(Unpriced::Unbounded)?;
    Ok(Cost { loss, delta, ..Cost::default() })
}
