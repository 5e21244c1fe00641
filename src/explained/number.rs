//! Numbers for JSON: exact where a reader's double holds them, and otherwise never smaller than they are.

use bigdecimal::BigDecimal;
use num_bigint::BigUint;
use num_traits::{One, Pow, ToPrimitive, Zero};
use serde_json::Value;

/// Digits that are kept of what is not whole.
const DIGITS: u32 = 12;

/// The greatest integer below which a double holds every one.
const EXACT: u128 = 1 << 53;

/// A whole number; as a string where a double would round it.
pub fn integer(n: u128) -> Value {
    match u64::try_from(n) {
        Ok(small) if n <= EXACT => small.into(),
        _ => n.to_string().into(),
    }
}

/// A whole number with a sign.
pub fn signed(n: i128) -> Value {
    match (i64::try_from(n), n.unsigned_abs() <= EXACT) {
        (Ok(small), true) => small.into(),
        _ => n.to_string().into(),
    }
}

/// A quotient, rounded up to twelve significant digits.
pub fn quotient(n: &BigUint, d: &BigUint) -> Value {
    if n.is_zero() || d.is_zero() {
        return 0.into();
    }
    rounded(|power| {
        let (n, d) = scaled(n, d, power);
        num_integer::Integer::div_ceil(&n, &d)
    })
}

/// The square root of a whole number, rounded up to twelve significant digits.
pub fn square_root(n: &BigUint) -> Value {
    let exact = n.sqrt();
    if &exact * &exact == *n {
        return exact.to_u128().map_or_else(|| exact.to_string().into(), integer);
    }
    root_of_quotient(n, &BigUint::one())
}

/// The square root of a quotient, rounded up to twelve significant digits.
pub fn root_of_quotient(n: &BigUint, d: &BigUint) -> Value {
    if n.is_zero() || d.is_zero() {
        return 0.into();
    }
    rounded(|power| {
        let (n, d) = scaled(n, d, 2 * power);
        let (whole, rest) = num_integer::Integer::div_rem(&n, &d);
        let root = whole.sqrt();
        if rest.is_zero() && &root * &root == whole { root } else { root + 1u8 }
    })
}

/// A decimal, exactly.
pub fn decimal(d: &BigDecimal) -> Value {
    if let Some(whole) = d.to_i128().filter(|_| d.is_integer()) {
        return signed(whole);
    }
    let text = d.normalized().to_plain_string();
    match text.parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
        Some(number) if d.digits() <= 15 => number.into(),
        _ => text.into(),
    }
}

/// A measure that is shown, and nothing is computed from: whole numbers without a point.
pub fn measure(x: f64) -> Value {
    match x.to_u128().filter(|_| x.fract() == 0.0) {
        Some(whole) => integer(whole),
        None => serde_json::Number::from_f64(x).map_or(Value::Null, Value::from),
    }
}

/// n/d · 10^power.
fn scaled(n: &BigUint, d: &BigUint, power: i64) -> (BigUint, BigUint) {
    let factor = BigUint::from(10u8).pow(power.unsigned_abs());
    if power >= 0 { (n * factor, d.clone()) } else { (n.clone(), d * factor) }
}

/// The value whose product with 10^power, rounded up, is `of(power)`, with as many digits as are kept.
fn rounded(of: impl Fn(i64) -> BigUint) -> Value {
    let length = |n: &BigUint| i64::try_from(n.to_string().len()).unwrap_or(i64::MAX);
    // A first guess from the whole part; small values need more digits behind the point.
    let mut power = i64::from(DIGITS) - length(&of(0));
    let mut digits = of(power);
    for _ in 0..100 {
        let missing = i64::from(DIGITS) - length(&digits);
        if missing == 0 {
            break;
        }
        power += missing;
        digits = of(power);
    }
    let text = BigDecimal::new(digits.into(), power).normalized().to_string();
    let number = text.parse::<f64>().ok();
    match number.filter(|x| x.fract() == 0.0 && *x < EXACT as f64).and_then(|x| x.to_u128()) {
        Some(whole) => integer(whole),
        None => number.and_then(serde_json::Number::from_f64).map_or_else(|| text.into(), Value::from),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(n: u128, d: u128) -> String {
        quotient(&n.into(), &d.into()).to_string()
    }

    #[test]
    fn quotients_are_exact_or_above() {
        assert_eq!(of(0, 7), "0");
        assert_eq!(of(1, 10), "0.1");
        assert_eq!(of(240, 1), "240");
        assert_eq!(of(3, 2), "1.5");
        assert_eq!(of(1, 3), "0.333333333334");
        assert_eq!(of(2_000_000_000_000, 3), "666666666667");
        assert_eq!(of(1, 1_000_000_000), "1e-9");
        assert_eq!(of(10u128.pow(30), 3), "3.33333333334e+29");
        assert_eq!(of(999_999_999_999_999, 1_000_000_000_000_000), "1");
    }

    #[test]
    fn square_roots_are_exact_or_above() {
        let root = |n: u128| square_root(&n.into()).to_string();
        assert_eq!((root(0), root(64), root(2)), ("0".into(), "8".into(), "1.41421356238".into()));
        // √4 · 48000 is whole, √3 · 8 is not.
        assert_eq!(root(4 * 48_000 * 48_000), "96000");
        assert_eq!(root(3 * 8 * 8), "13.8564064606");
        let of = |n: u128, d: u128| root_of_quotient(&n.into(), &d.into()).to_string();
        assert_eq!((of(9, 4), of(1, 2), of(0, 5)), ("1.5".into(), "0.707106781187".into(), "0".into()));
        for n in [2u128, 3, 5, 7, 192, 10u128.pow(20) + 1, 123_456_789] {
            let shown: f64 = root(n).parse().unwrap();
            assert!(
                shown >= (n as f64).sqrt() * (1.0 - 1e-15) && shown <= (n as f64).sqrt() * (1.0 + 1e-11),
                "{n}"
            );
        }
    }

    #[test]
    fn whole_numbers_and_decimals_are_exact() {
        assert_eq!(integer(EXACT).to_string(), "9007199254740992");
        assert_eq!(integer(EXACT + 1).to_string(), "\"9007199254740993\"");
        assert_eq!(signed(-5).to_string(), "-5");
        assert_eq!(signed(i128::MIN).to_string(), format!("\"{}\"", i128::MIN));
        assert_eq!(decimal(&"-60.0".parse().unwrap()).to_string(), "-60");
        assert_eq!((measure(27.0).to_string(), measure(0.5).to_string()), ("27".into(), "0.5".into()));
        assert_eq!(decimal(&"0.010".parse().unwrap()).to_string(), "0.01");
        assert_eq!(decimal(&"1234567890.123456789".parse().unwrap()).to_string(), "\"1234567890.123456789\"");
    }
}
