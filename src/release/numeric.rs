//! PostgreSQL's binary `numeric`, to and from integers.
//!
//! The format (`numeric_send` in PostgreSQL's source, `utils/adt/numeric.c`): four 16-bit words (number of digits,
//! weight, sign, display scale), then digits in base 10000. The value is Σ digit·10000^(weight - index).

use bytes::{BufMut, Bytes, BytesMut};

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;
/// PostgreSQL's largest display scale.
const MAX_DISPLAY_SCALE: u16 = 0x3fff;

/// An integer; saturates at the edges of i128. None for a fractional part, NaN, an infinity, or malformed bytes.
pub(super) fn decode(raw: &[u8]) -> Option<i128> {
    let mut words = raw.chunks(2).map(|w| <[u8; 2]>::try_from(w).map(u16::from_be_bytes));
    let mut word = || words.next()?.ok();
    let count = word()?;
    let weight = word()?.cast_signed();
    let sign = word()?;
    let _display_scale = word()?;
    if sign != POSITIVE && sign != NEGATIVE {
        return None;
    }
    if raw.len() != 8 + 2 * usize::from(count) {
        return None;
    }
    let mut magnitude = 0u128;
    for index in 0..i32::from(count) {
        let digit = word()?;
        if digit > 9999 {
            return None;
        }
        if index > i32::from(weight) {
            // After the point: only zeros are an integer.
            if digit != 0 {
                return None;
            }
        } else {
            magnitude = magnitude.saturating_mul(10_000).saturating_add(digit.into());
        }
    }
    // Trailing zero digits are not sent.
    for _ in i32::from(count)..=i32::from(weight) {
        if magnitude == 0 || magnitude == u128::MAX {
            break;
        }
        magnitude = magnitude.saturating_mul(10_000);
    }
    Some(if sign == NEGATIVE {
        i128::try_from(magnitude).map_or(i128::MIN, |m| -m)
    } else {
        i128::try_from(magnitude).unwrap_or(i128::MAX)
    })
}

/// `value`·10^-`scale` as a binary `numeric` that displays `scale` digits after the point (at most 16383).
pub fn encode(value: i128, scale: u16) -> Bytes {
    let mut rest = value.unsigned_abs();
    // Digits of base 10000 from the least significant; the lowest one is filled up to a whole digit.
    let fractional_digits = u32::from(scale).div_ceil(4);
    let padding = fractional_digits * 4 - u32::from(scale);
    let mut digits: Vec<u16> = Vec::new();
    if rest != 0 {
        let low = 10u128.pow(4 - padding);
        digits.push((rest % low * 10u128.pow(padding)) as u16); // below 10^4
        rest /= low;
        while rest != 0 {
            digits.push((rest % 10_000) as u16);
            rest /= 10_000;
        }
    }
    let trailing = digits.iter().take_while(|&&d| d == 0).count();
    // The most significant digit stands for 10000^weight. At most 11 digits and 16384 fractional ones fit an i16.
    let weight = digits.len() as i32 - 1 - fractional_digits as i32;
    let weight = if digits.is_empty() { 0 } else { weight as i16 };
    let digits = digits.get(trailing..).unwrap_or_default();
    let mut out = BytesMut::with_capacity(8 + 2 * digits.len());
    out.put_u16(digits.len() as u16);
    out.put_i16(weight);
    out.put_u16(if value < 0 { NEGATIVE } else { POSITIVE });
    out.put_u16(scale.min(MAX_DISPLAY_SCALE));
    digits.iter().rev().for_each(|&d| out.put_u16(d));
    out.freeze()
}

#[cfg(test)]
mod tests;
