//! What an event costs, rounded up, in integers.

use super::{UNITS_PER_ONE, Unpriced};
use crate::dp::exp::{PRECISION, div_ceil, exp_neg, one};
use crate::dp::{Event, Mechanism};
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

/// ε of one use, Δ/b, as a fraction. None for what costs nothing.
fn fraction(event: &Event) -> Result<Option<(BigUint, BigUint)>, Unpriced> {
    let Mechanism::DiscreteLaplace { sensitivity, scale } = &event.mechanism;
    if *sensitivity == 0 || event.times == 0 {
        return Ok(None);
    }
    if *scale.numer() == 0 || *scale.denom() == 0 {
        return Err(Unpriced::Unbounded);
    }
    Ok(Some((BigUint::from(*sensitivity) * *scale.denom(), BigUint::from(*scale.numer()))))
}

/// Σ times·Δ/b: exact, then rounded up once.
pub(super) fn epsilon(events: &[Event]) -> Result<u128, Unpriced> {
    let (mut num, mut den) = (BigUint::zero(), BigUint::from(1u8));
    for event in events {
        if let Some((n, d)) = fraction(event)? {
            num = num * &d + n * event.times * &den;
            den *= d;
            let g = num.gcd(&den);
            num /= &g;
            den /= &g;
        }
    }
    div_ceil(num * UNITS_PER_ONE, &den).to_u128().ok_or(Unpriced::Unbounded)
}

/// Σ times·ρ, each ρ from above, rounded up once.
///
/// Discrete Laplace of scale b at sensitivity Δ is ε-DP with ε = Δ/b, and an ε-DP mechanism is ε·tanh(ε/2)-zCDP
/// (Harrison and Manurangsi, "Exact zCDP Characterizations", 2026). At Δ = 1 this is exact: the discrete Laplace is
/// randomised response there. The smaller ε + e^-ε - 1 of continuous Laplace is wrong for it (soundness rule 19).
pub(super) fn rho(events: &[Event]) -> Result<u128, Unpriced> {
    let mut sum = BigUint::zero();
    // Events of a release have equal shares of its ε: most have the same ε as the one before.
    let mut last: Option<(BigUint, BigUint, BigUint)> = None;
    for event in events {
        let Some((n, d)) = fraction(event)? else { continue };
        let rho = match last {
            Some((ln, ld, rho)) if &n * &ld == &ln * &d => rho,
            _ => rho_of(&n, &d),
        };
        sum += &rho * event.times;
        last = Some((n, d, rho));
    }
    div_ceil(sum * UNITS_PER_ONE, &one()).to_u128().ok_or(Unpriced::Unbounded)
}

/// ε·tanh(ε/2) for ε = `n`/`d`, rounded up to units of 2^-256.
fn rho_of(n: &BigUint, d: &BigUint) -> BigUint {
    // ε·(1-x)/(1+x) with x = e^-ε falls in x: the lower bound of x gives the upper one of ρ.
    let (x, _) = exp_neg(n, d);
    div_ceil((n * (one() - &x)) << PRECISION, &(d * (one() + x)))
}
