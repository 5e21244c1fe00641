#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use proptest::prelude::*;

fn words(words: &[u16]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_be_bytes()).collect()
}

/// Bytes that `numeric_send` of PostgreSQL 15 gives for these texts.
const KNOWN: &[(&[u16], i128, u16)] = &[
    (&[0, 0, 0, 0], 0, 0),
    (&[1, 0, 0, 0, 1], 1, 0),
    (&[1, 0, 0x4000, 0, 1], -1, 0),
    (&[1, 0, 0, 0, 9999], 9999, 0),
    (&[1, 1, 0, 0, 1], 10_000, 0),
    (&[2, 1, 0, 0, 1, 1], 10_001, 0),
    (&[1, 2, 0x4000, 0, 3], -300_000_000, 0),
    (&[3, 2, 0, 0, 1, 2345, 6789], 123_456_789, 0),
    // 1.5, 0.05, -12345.678, 0.00 and 100.00
    (&[2, 0, 0, 1, 1, 5000], 15, 1),
    (&[1, -1i16 as u16, 0, 2, 500], 5, 2),
    (&[3, 1, 0x4000, 3, 1, 2345, 6780], -12_345_678, 3),
    (&[0, 0, 0, 2], 0, 2),
    (&[1, 0, 0, 2, 100], 10_000, 2),
    // 0.00001 has weight -2.
    (&[1, -2i16 as u16, 0, 5, 1000], 1, 5),
    (&[1, -1i16 as u16, 0, 4, 1], 1, 4),
];

#[test]
fn known_bytes() {
    for (bytes, value, scale) in KNOWN {
        assert_eq!(encode(*value, *scale), words(bytes), "{value}e-{scale}");
        if *scale == 0 {
            assert_eq!(decode(&words(bytes)), Some(*value));
        }
    }
}

#[test]
fn integers_with_a_display_scale_are_integers() {
    assert_eq!(decode(&words(&[1, 0, 0, 2, 100])), Some(100)); // 100.00
    assert_eq!(decode(&words(&[2, 0, 0, 4, 7, 0])), Some(7)); // zeros after the point, sent by others
    assert_eq!(decode(&words(&[1, -1i16 as u16, 0, 4, 0])), Some(0));
    assert_eq!(decode(&words(&[0, 0x7fff, 0, 0])), Some(0));
}

#[test]
fn what_is_no_integer_is_refused() {
    for bad in [
        &[2u16, 0, 0, 1, 1, 5000][..], // 1.5
        &[1, -1i16 as u16, 0, 4, 1],   // 0.0001
        &[0, 0, 0xc000, 0],            // NaN
        &[0, 0, 0xd000, 0],            // Infinity
        &[0, 0, 0xf000, 0],            // -Infinity
        &[1, 0, 0, 0],                 // a digit is missing
        &[1, 0, 0, 0, 1, 1],           // one too many
        &[1, 0, 0, 0, 10_000],         // no digit
        &[1, 0],
        &[],
    ] {
        assert_eq!(decode(&words(bad)), None, "{bad:?}");
    }
    assert_eq!(decode(&[0, 0, 0, 0, 0, 0, 0]), None);
}

#[test]
fn edges_saturate() {
    assert_eq!(decode(&encode(i128::MAX, 0)), Some(i128::MAX));
    assert_eq!(decode(&encode(i128::MIN, 0)), Some(i128::MIN));
    // 10^40 and -10^40, by weight; then a number of the largest weight there is.
    assert_eq!(decode(&words(&[1, 10, 0, 0, 1])), Some(i128::MAX));
    assert_eq!(decode(&words(&[1, 10, 0x4000, 0, 1])), Some(i128::MIN));
    assert_eq!(decode(&words(&[1, 0x7fff, 0, 0, 9])), Some(i128::MAX));
    // i128::MAX + 1
    let edge = 1u128 << 127;
    let mut digits: Vec<u16> = Vec::new();
    let mut rest = edge;
    while rest > 0 {
        digits.insert(0, (rest % 10_000) as u16);
        rest /= 10_000;
    }
    let mut head = vec![digits.len() as u16, digits.len() as u16 - 1, 0, 0];
    head.extend(&digits);
    assert_eq!(decode(&words(&head)), Some(i128::MAX));
    head[2] = NEGATIVE;
    assert_eq!(decode(&words(&head)), Some(i128::MIN));
    // The largest scales.
    assert_eq!(encode(1, u16::MAX).len(), 10);
}

/// The value of binary numeric as text, the slow way.
fn text(bytes: &[u8]) -> String {
    let word = |i: usize| u16::from_be_bytes([bytes[2 * i], bytes[2 * i + 1]]);
    let (count, weight, scale) = (word(0), word(1).cast_signed(), usize::from(word(3)));
    let digit = |position: i32| {
        let index = i32::from(weight) - position;
        if (0..i32::from(count)).contains(&index) { word(4 + index as usize) } else { 0 }
    };
    let whole: String = (0..=i32::from(weight).max(0)).rev().map(|p| format!("{:04}", digit(p))).collect();
    let fraction: String = (1..=scale.div_ceil(4) as i32).map(|p| format!("{:04}", digit(-p))).collect();
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let sign = if word(2) == NEGATIVE { "-" } else { "" };
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{}", &fraction[..scale]) }
}

proptest! {
    #[test]
    fn round_trip(value in any::<i128>(), shift in 0u32..127) {
        let value = value >> shift;
        prop_assert_eq!(decode(&encode(value, 0)), Some(value));
    }

    #[test]
    fn the_value_is_scaled_by_a_power_of_ten(value in any::<i128>(), shift in 0u32..127, scale in 0u16..50) {
        let value = value >> shift;
        let digits = format!("{:0>width$}", value.unsigned_abs(), width = usize::from(scale) + 1);
        let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
        let point = if scale > 0 { "." } else { "" };
        let sign = if value < 0 { "-" } else { "" };
        let bytes = encode(value, scale);
        prop_assert_eq!(text(&bytes), format!("{sign}{whole}{point}{fraction}"));
        // No leading or trailing zero digit is sent, as PostgreSQL does not.
        let ends = [bytes.get(8..10), bytes.get(bytes.len() - 2..)];
        prop_assert!(value == 0 || ends.iter().all(|d| *d != Some(&[0, 0][..])));
    }
}
