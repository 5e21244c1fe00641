//! Real functions between two bounds, in integers: logarithm, square root, the normal tail. For calibrations and
//! thresholds, whose results must lie on the safe side without an argument about floats.

use super::Ratio;
use super::exp::{PRECISION, div_ceil, exp_neg, exp_neg_to, shift_ceil};
use super::spec::BigRatio;
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

/// Bounds of π in units of 2^-`precision`: Machin's 16·atan(1/5) - 4·atan(1/239).
fn pi(precision: u64) -> (BigUint, BigUint) {
    let work = precision + 32;
    // atan(1/n) between two bounds. Each term is short by less than 2 units.
    let atan = |n: u32| {
        let (mut plus, mut minus) = (BigUint::zero(), BigUint::zero());
        let mut power = (BigUint::one() << work) / n;
        let mut k = 0u32;
        while !power.is_zero() {
            let term = &power / (2 * k + 1);
            if k.is_multiple_of(2) {
                plus += term
            } else {
                minus += term
            }
            power /= u64::from(n) * u64::from(n);
            k += 1;
        }
        let slack = BigUint::from(2 * (k + 1));
        let value = plus - minus;
        (&value - &slack, value + slack)
    };
    let (a, b) = (atan(5), atan(239));
    let low = a.0 * 16u8 - b.1 * 4u8;
    let high = a.1 * 16u8 - b.0 * 4u8;
    (low >> 32, shift_ceil(high, 32))
}

/// Bounds of P(Z > x) for a standard normal Z and x = `n`/`d` >= 0, in units of 2^-`precision`. `d` is not zero. The work
/// grows with x²; beyond x = 64 the bounds are 0 and 1 unit, which holds for precisions up to 2900.
///
/// P(Z > x) = 1/2 - φ(x)·Σ x^(2k+1)/(2k+1)!!: all terms are positive, so that each can be rounded its way.
pub(super) fn normal_tail(n: &BigUint, d: &BigUint, precision: u64) -> (BigUint, BigUint) {
    let ceil = div_ceil(n.clone(), d).to_u64().unwrap_or(u64::MAX);
    if ceil > 64 {
        return (BigUint::zero(), BigUint::one());
    }
    // The sum is below e^(x²/2)·√(π/2), that is below 2^(x²): so many bits more.
    let work = precision + ceil * ceil + 32;
    let (n2, d2) = (n * n, d * d);
    let square = (&(&n2 << work) / &d2, div_ceil(&n2 << work, &d2));
    let (mut term_low, mut term_high) = ((n << work) / d, div_ceil(n << work, d));
    let (mut sum_low, mut sum_high) = (term_low.clone(), term_high.clone());
    let mut odd = 1u64;
    // Until terms halve at least and are down to a unit: the rest is no more than the last of them.
    while odd < 2 * ceil * ceil + 2 || term_low > BigUint::one() {
        odd += 2;
        term_low = ((term_low * &square.0) >> work) / odd;
        term_high = div_ceil(shift_ceil(term_high * &square.1, work), &odd.into());
        sum_low += &term_low;
        sum_high += &term_high;
    }
    sum_high += term_high;
    // φ(x) = e^(-x²/2)/√(2π).
    let (e_low, e_high) = exp_neg_to(&n2, &(d2 << 1u8), work);
    let (pi_low, pi_high) = pi(work);
    let root_low = (pi_low << (work + 1)).sqrt();
    let root_high = (pi_high << (work + 1)).sqrt() + 1u8;
    let part_low = (e_low * sum_low) / root_high;
    let part_high = div_ceil(e_high * sum_high, &root_low);
    let half = BigUint::one() << (work - 1);
    let drop = work - precision;
    let below = |x: &BigUint| if *x < half { &half - x } else { BigUint::zero() };
    (below(&part_high) >> drop, shift_ceil(below(&part_low), drop))
}

/// The same number, where numerator and denominator fit.
pub(super) fn narrow(r: &BigRatio) -> Option<Ratio> {
    Some(Ratio::new(r.numer().to_u128()?, r.denom().to_u128()?))
}

/// 2^-96 <= δ <= 1/2, in lowest terms.
pub(super) fn is_usual_delta(delta: &Ratio) -> bool {
    *delta.denom() != 0
        && *delta.numer() != 0
        && *delta <= Ratio::new(1, 2)
        && *delta >= Ratio::new(1, 1 << 96)
}

/// A float as a ratio of [`DIGITS`] significant bits, rounded down; for guesses. None for what is not above zero.
pub(super) fn from_float(x: f64) -> Option<BigRatio> {
    if !x.is_finite() || x <= 0.0 {
        return None;
    }
    let (mantissa, exponent) = libm::frexp(x);
    let digits = BigUint::from((mantissa * (1u64 << DIGITS) as f64) as u64);
    let shift = i64::from(exponent) - i64::try_from(DIGITS).ok()?;
    Some(if shift >= 0 {
        BigRatio::from_integer(digits << shift.unsigned_abs())
    } else {
        BigRatio::new(digits, BigUint::one() << shift.unsigned_abs())
    })
}

/// In floats, for guesses and for display.
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
