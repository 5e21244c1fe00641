//! Exact rationals, and why a parameter cannot be used.

use num_bigint::BigUint;
use num_traits::{CheckedDiv, ToPrimitive, Zero};

/// Exact non-negative rationals: scales, ε, δ.
pub type Ratio = num_rational::Ratio<u128>;

/// Why a parameter cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DpError {
    /// ε is zero (or not a number).
    #[error("epsilon must be greater than zero")]
    Epsilon,
    /// δ of group selection is out of range.
    #[error("delta of group selection must be between 2^-96 and 1/2")]
    SelectionDelta,
    /// A unit touches no group.
    #[error("a release must allow at least one group per unit")]
    NoGroups,
    /// A numerator or denominator does not fit 96 bits.
    #[error("noise scale or price is out of range: {0}")]
    OutOfRange(&'static str),
    /// The specifications cost another ε than the one that names the price.
    #[error("the releases of a statement do not cost the epsilon that names its price")]
    Mispriced,
    /// A budget's δ does not fit its notion.
    #[error("{0}")]
    Budget(&'static str),
}

/// A decimal as an exact rational; None if it is negative or has more than 38 digits before or after the point.
pub fn ratio(decimal: &bigdecimal::BigDecimal) -> Option<Ratio> {
    let (digits, scale) = decimal.normalized().into_bigint_and_exponent();
    let digits = u128::try_from(digits).ok()?;
    let power = 10u128.checked_pow(u32::try_from(scale.unsigned_abs()).ok()?);
    match scale {
        0.. => Some(Ratio::new(digits, power?)),
        _ if digits == 0 => Some(Ratio::from_integer(0)),
        _ => digits.checked_mul(power?).map(Ratio::from_integer),
    }
}

/// A rational that nothing overflows.
pub type BigRatio = num_rational::Ratio<BigUint>;

/// The rational without a bound that is the same number, in lowest terms as that is. The denominator is not zero.
pub(crate) fn exact(r: &Ratio) -> BigRatio {
    BigRatio::new_raw(BigUint::from(*r.numer()), BigUint::from(*r.denom()))
}

pub(crate) fn exact_integer(n: impl Into<BigUint>) -> BigRatio {
    BigRatio::from_integer(n.into())
}

/// An equal share of ε (or δ) for each of `n`. The shares add up to it exactly.
pub fn split(whole: &Ratio, n: usize) -> Result<Ratio, DpError> {
    let n = u128::try_from(n).unwrap_or(u128::MAX);
    whole.checked_div(&Ratio::from_integer(n)).ok_or(DpError::OutOfRange("a price split over its releases"))
}

/// The largest decimal of six digits whose square is no more, for what lies between 10^-30 and 10^30; 0 for 0.
pub(crate) fn root_down(square: &BigRatio) -> Option<Ratio> {
    if square.is_zero() {
        return Some(Ratio::from_integer(0));
    }
    // 10^d·√x, rounded down, has six digits or more from some d on.
    (0..=30).find_map(|d| {
        let power = 10u128.pow(d);
        let scaled = square.numer() * power * power / square.denom();
        let root = scaled.sqrt().to_u128()?;
        (root >= 100_000).then(|| Ratio::new(root, power))
    })
}

/// The bounded rational that is the same number, where it fits.
pub(crate) fn narrow(r: &BigRatio) -> Option<Ratio> {
    Some(Ratio::new_raw(r.numer().to_u128()?, r.denom().to_u128()?))
}
