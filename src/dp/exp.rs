//! e^-x between two bounds, in integers: nothing that is charged or compared with a δ goes through a float.

use num_bigint::BigUint;
use num_traits::{One, Zero};

/// Bits after the binary point. A δ of 2^-96 keeps 160 significant bits.
pub(super) const PRECISION: u64 = 256;

/// 1, in units of 2^-256.
pub(super) fn one() -> BigUint {
    BigUint::one() << PRECISION
}

/// Ceiling of a quotient. `d` is not zero.
pub(super) fn div_ceil(n: BigUint, d: &BigUint) -> BigUint {
    if n.is_zero() { n } else { (n - 1u8) / d + 1u8 }
}

/// Ceiling of a division by 2^`bits`.
pub(super) fn shift_ceil(n: BigUint, bits: u64) -> BigUint {
    if n.is_zero() { n } else { ((n - 1u8) >> bits) + 1u8 }
}

/// Bounds `(low, high)` on e^-x for x = `num`/`den`, in units of 2^-256: low <= e^-x <= high. `den` is not zero.
pub(super) fn exp_neg(num: &BigUint, den: &BigUint) -> (BigUint, BigUint) {
    exp_neg_to(num, den, PRECISION)
}

/// [`exp_neg`] in units of 2^-`precision`, which is at least 64.
///
/// x is halved m times to y <= 2^-8, the Taylor series of e^-y is summed in truncating arithmetic, the sum is widened by
/// more than all truncations can amount to, and the bounds are squared m times, the lower rounded down, the upper up.
pub(super) fn exp_neg_to(num: &BigUint, den: &BigUint, precision: u64) -> (BigUint, BigUint) {
    // e^-precision < 2^-precision.
    if *num >= den * precision {
        return (BigUint::zero(), BigUint::one());
    }
    let one = BigUint::one() << precision;
    let x = (num << precision) / den;
    let halvings = x.bits().saturating_sub(precision - 8);
    let y = x >> halvings;
    let (mut plus, mut minus, mut term) = (one.clone(), BigUint::zero(), one.clone());
    let mut order = 0u32;
    while !term.is_zero() {
        order += 1;
        term = ((term * &y) >> precision) / order;
        if order.is_multiple_of(2) { plus += &term } else { minus += &term }
    }
    // Truncating y loses less than 2 units, and so does e^-y. A term is wrong by e' <= (e·y + 1)/k + 1 < 3 units where the
    // one before it is wrong by e < 3; terms after the first that truncates to 0 are below 4 together.
    let slack = 3 * order + 6;
    // y <= 2^-8, so the sum is near 1 and above the slack.
    let sum = plus - minus;
    let (mut low, mut high) = (&sum - slack, sum + slack);
    for _ in 0..halvings {
        low = (&low * &low) >> precision;
        high = shift_ceil(&high * &high, precision);
    }
    (low, high.min(one))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    /// 60 digits of e^-x after the point, truncated.
    const TABLE: [(u64, u64, &str); 6] = [
        (1, 1, "367879441171442321595523770161460867445811131031767834507836"),
        (1, 10, "904837418035959573164249059446436621194705360980400952056257"),
        (1, 3, "716531310573789250425604096925379667453112059821479157140870"),
        (5, 2, "082084998623898795169528674467159807837804121015436648845758"),
        (20, 1, "000000002061153622438557827965940380155820976375807275599103"),
        (100, 1, "000000000000000000000000000000000000000000037200759760208359"),
    ];

    #[test]
    fn bounds_hold_and_are_tight() {
        for (num, den, digits) in TABLE {
            let (low, high) = exp_neg(&num.into(), &den.into());
            let scale = BigUint::from(10u8).pow(60);
            let value: BigUint = digits.parse().unwrap();
            // value <= e^-x * 10^60 < value + 1
            assert!((&low * &scale) >> PRECISION <= value, "low bound of e^-{num}/{den}");
            assert!(shift_ceil(&high * &scale, PRECISION) > value, "high bound of e^-{num}/{den}");
            assert!(&high - &low < BigUint::one() << 40u8, "e^-{num}/{den} is loose");
            assert!(low <= high);
        }
    }

    /// At any precision the bounds enclose those of a higher one.
    #[test]
    fn precisions_agree() {
        for (num, den) in [(1u64, 1u64), (1, 3), (17, 2), (1, 1_000_000), (60, 1)] {
            let (num, den) = (num.into(), den.into());
            let (low, high) = exp_neg_to(&num, &den, 512);
            for precision in [64u64, 96, 128, 256] {
                let (l, h) = exp_neg_to(&num, &den, precision);
                assert!(l <= &low >> (512 - precision) && h >= shift_ceil(high.clone(), 512 - precision));
                assert!(h - l < BigUint::one() << 20u8);
            }
        }
    }

    #[test]
    fn edges() {
        let (low, high) = exp_neg(&BigUint::zero(), &BigUint::one());
        assert!(low <= one() && high == one());
        assert_eq!(exp_neg(&256u16.into(), &1u8.into()), (BigUint::zero(), BigUint::one()));
        let tiny = exp_neg(&BigUint::one(), &(BigUint::one() << 300u16));
        assert!(tiny.0 < one() && tiny.1 == one());
    }

    /// e^-x · e^-y = e^-(x+y), over a grid.
    #[test]
    fn products_overlap() {
        for a in 1u64..40 {
            for b in 1u64..40 {
                let den = BigUint::from(7u8);
                let (xl, xh) = exp_neg(&a.into(), &den);
                let (yl, yh) = exp_neg(&b.into(), &den);
                let (zl, zh) = exp_neg(&(a + b).into(), &den);
                assert!((xl * yl) >> PRECISION <= zh && shift_ceil(xh * yh, PRECISION) >= zl);
            }
        }
    }
}
