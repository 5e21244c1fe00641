//! Limits that imply a budget's (ε, δ), rounded down, and the way between floats and units.

use super::cost::{ORDERS, UNITS_PER_ONE, units_down};
use crate::interval::{Interval, largest};
use crate::{Ratio, cdp, composition, gdp, rdp};
use num_bigint::BigUint;

/// What the order that suits many small charges gets of δ; the others share the rest.
const PLANNED: f64 = 0.9;

pub(super) fn float(r: &Ratio) -> Interval {
    Interval::quotient(&BigUint::from(*r.numer()), &BigUint::from(*r.denom()))
}

/// Units of what an interval is below. None where it is no number.
pub(super) fn units_above(x: Interval) -> Option<u128> {
    let scaled = (x.at_least(0.0) * UNITS_PER_ONE as f64).hi().ceil();
    // The cast saturates. UNITS_PER_ONE as a double is wrong by less than one part in 2^53, which the product widens by.
    (scaled < u128::MAX as f64).then(|| (scaled * (1.0 + 4.0 * f64::EPSILON)).ceil() as u128)
}

/// Units of what an interval is above.
fn units_below(x: Interval) -> u128 {
    let scaled = (x.at_least(0.0) * UNITS_PER_ONE as f64).lo() * (1.0 - 4.0 * f64::EPSILON);
    scaled.max(0.0).floor() as u128
}

/// What is left of δ for the conversion, from below; None where nothing is.
fn left(delta: &Ratio, elsewhere: &Ratio) -> Option<f64> {
    let left = (float(delta) - float(elsewhere)).lo();
    (left > 0.0 && delta > elsewhere).then_some(left)
}

/// The largest Σε² with √(2 ln(1/δ)·Σε²) + Σε²/2 <= ε (Whitehouse et al. 2023).
pub(super) fn advanced(epsilon: &Ratio, delta: &Ratio, elsewhere: &Ratio) -> Option<u128> {
    let (epsilon, delta) = (float(epsilon).lo(), left(delta, elsewhere)?);
    let squares = largest(|s| composition::adaptive(s.into(), delta).hi() <= epsilon)?;
    Some(units_below(squares.into()))
}

/// The largest ρ that implies (ε, δ)-DP; None where none does.
pub(super) fn zcdp(epsilon: &Ratio, delta: &Ratio, elsewhere: &Ratio) -> Option<u128> {
    Some(units_below(cdp::rho(float(epsilon).lo(), left(delta, elsewhere)?).into()))
}

/// The largest μ² that implies (ε, δ)-DP.
pub(super) fn gdp(epsilon: &Ratio, delta: &Ratio, elsewhere: &Ratio) -> Option<u128> {
    let mu = gdp::mu(float(epsilon).lo(), left(delta, elsewhere)?);
    Some(units_below(Interval::from(mu).square()))
}

/// For each order α and its share of δ the largest divergence that implies (ε, δ_α)-DP: ε less what the conversion of Canonne,
/// Kamath and Steinke (2020, Proposition 12) adds. 0 where that is more than ε.
///
/// The planned order is the one at which ρ could be largest, if divergences were ρ·α.
pub(super) fn rdp(epsilon: &Ratio, delta: &Ratio, elsewhere: &Ratio) -> Option<[u128; ORDERS.len()]> {
    let whole = left(delta, elsewhere)?;
    let float = float(epsilon).lo();
    // ε at a divergence of 64, because an ε below 0 is never reported.
    let conversion =
        |order: f64, delta: f64| Interval::from(rdp::epsilon(order, Interval::from(64.0), delta)) - 64.0;
    let room = |order: f64, delta: f64| Interval::from(float) - conversion(order, delta).hi();
    let finite = ORDERS.iter().filter(|a| a.is_finite());
    let planned =
        finite.max_by(|a, b| (room(**a, whole).lo() / **a).total_cmp(&(room(**b, whole).lo() / **b)))?;
    let share = |order: f64| {
        if order == *planned {
            (Interval::from(whole) * PLANNED).lo()
        } else {
            (Interval::from(whole) * (1.0 - PLANNED) / (ORDERS.len() as f64 - 2.0)).lo()
        }
    };
    Some(ORDERS.map(|order| {
        if order == f64::INFINITY { units_down(epsilon) } else { units_below(room(order, share(order))) }
    }))
}
