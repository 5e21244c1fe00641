//! Real functions from above, in integers: logarithm, square root. For scales of noise, which must lie on the safe side
//! without an argument about floats.

use super::Ratio;
use super::exp::{PRECISION, div_ceil, exp_neg};
use super::ratio::BigRatio;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

/// Significant bits of what is rounded here: a relative 2^-47.
pub(super) const DIGITS: u64 = 48;

/// The least number of [`DIGITS`] significant bits that is at least √r.
pub(super) fn sqrt_up(r: &BigRatio) -> BigRatio {
    let (n, d) = (r.numer(), r.denom());
    if n.is_zero() {
        return BigRatio::from_integer(BigUint::zero());
    }
    // √(n·4^s/d) has about as many bits as are asked for.
    let (have, want) = (n.bits(), 2 * DIGITS + d.bits());
    let up = want.saturating_sub(have) / 2;
    let down = have.saturating_sub(want) / 2;
    let quotient = div_ceil(n << (2 * up), &(d << (2 * down)));
    let floor = quotient.sqrt();
    let root = if &floor * &floor < quotient { floor + 1u8 } else { floor };
    BigRatio::new(root << down, BigUint::one() << up)
}

/// The least number of [`DIGITS`] significant bits that is at least r.
pub(super) fn round_up(r: &BigRatio) -> BigRatio {
    let (have, want) = (r.numer().bits(), DIGITS + r.denom().bits());
    let (up, down) = (want.saturating_sub(have), have.saturating_sub(want));
    BigRatio::new(div_ceil(r.numer() << up, &(r.denom() << down)) << down, BigUint::one() << up)
}

/// A number, little above it, that is at least ln(1/p), for 2^-200 <= p <= 1 (else None).
pub(super) fn ln_inverse_up(p: &BigRatio) -> Option<BigRatio> {
    let (n, d) = (p.numer(), p.denom());
    if n > d || n.is_zero() {
        return None;
    }
    // As a float, from the leading bits of both.
    let float = |x: &BigUint| {
        let drop = x.bits().saturating_sub(64);
        (x >> drop).to_f64().map(|m| (m, drop as f64))
    };
    let ((nm, ne), (dm, de)) = (float(n)?, float(d)?);
    let guess = libm::log(dm / nm) + (de - ne) * std::f64::consts::LN_2;
    let unit = BigUint::one() << DIGITS;
    let mut candidate = BigUint::from((guess.max(0.0) * (1u64 << DIGITS) as f64) as u128);
    let mut step = BigUint::one();
    // e^-candidate <= p.
    let holds = |c: &BigUint| exp_neg(c, &unit).1 * d <= n << PRECISION;
    while !holds(&candidate) {
        if candidate > &unit * 256u16 {
            return None;
        }
        candidate += &step;
        step <<= 1u8;
    }
    Some(BigRatio::new(candidate, unit))
}

/// 2^-96 <= δ <= 1/2, in lowest terms.
pub(super) fn is_usual_delta(delta: &Ratio) -> bool {
    *delta.denom() != 0
        && *delta.numer() != 0
        && *delta <= Ratio::new(1, 2)
        && *delta >= Ratio::new(1, 1 << 96)
}

/// In floats.
#[cfg(test)]
pub(super) fn to_float(r: &BigRatio) -> f64 {
    let float = |x: &BigUint| {
        let drop = x.bits().saturating_sub(64);
        ((x >> drop).to_f64().unwrap_or(f64::NAN), i32::try_from(drop).unwrap_or(i32::MAX))
    };
    let ((n, ne), (d, de)) = (float(r.numer()), float(r.denom()));
    libm::ldexp(n / d, ne - de)
}

#[cfg(test)]
mod tests;
