//! Shares of a statement's price that fall to some of its releases.

use crate::Plan;
use bigdecimal::{ToPrimitive, Zero};
use dp::{Charge, DpError, Ratio, Spec, Used};

/// The charge for a part of a statement's releases: their own events, under the least name that pays for them.
///
/// Each release keeps the noise that it has within the whole statement, so that the rest costs no more than the rest.
///
/// # Errors
/// None that a planned statement can cause.
pub fn rest(plan: &Plan, places: &[usize], whole: &Charge) -> Result<Charge, DpError> {
    let specs: Vec<Spec> =
        places.iter().filter_map(|i| plan.releases.get(*i)).map(|r| r.spec.clone()).collect();
    let named = name(&specs).and_then(|epsilon| Charge::of(&epsilon, &specs).ok());
    match named {
        Some(charge) if charge.epsilon < whole.epsilon => Ok(charge),
        _ => Charge::of(&whole.epsilon, &specs),
    }
}

/// The ε that names the price of these releases: exact for Laplace noise, rounded up to millionths else.
fn name(specs: &[Spec]) -> Option<Ratio> {
    let used = Used::by(specs)?;
    if used.squares.is_zero() {
        return Some(Ratio::new(used.pure.numer().to_u128()?, used.pure.denom().to_u128()?));
    }
    let square = used.square();
    let root = (square.numer().to_f64()? / square.denom().to_f64()?).sqrt();
    let millionths = (root * 1e6).ceil() + 1.0;
    // Too large a number, or none.
    (millionths < 1e15).then(|| Ratio::new(millionths as u128, 1_000_000))
}
