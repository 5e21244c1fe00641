#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;

fn big(n: u128, d: u128) -> BigRatio {
    BigRatio::new(n.into(), d.into())
}

#[test]
fn roots_are_the_least_above() {
    for (n, d) in
        [(2u128, 1u128), (1, 3), (4, 1), (1 << 100, 7), (3, 1 << 100), (u128::MAX, 1), (1, u128::MAX)]
    {
        let r = big(n, d);
        let root = sqrt_up(&r);
        assert!(&root * &root >= r, "{n}/{d}");
        let less = &root * big((1 << 46) - 1, 1 << 46);
        assert!(&less * &less < r, "{n}/{d} is loose");
    }
    assert_eq!(sqrt_up(&big(9, 4)), big(3, 2));
    assert!(sqrt_up(&big(0, 1)).numer().is_zero());
}

#[test]
fn logarithms_are_from_above_and_tight() {
    for (n, d) in [(1u128, 2u128), (1, 3), (999_999, 1_000_000), (1, 10u128.pow(15)), (1, 1 << 120), (1, 1)] {
        let up = to_float(&ln_inverse_up(&big(n, d)).unwrap());
        let exact = (d as f64 / n as f64).ln();
        assert!(up >= exact * (1.0 - 1e-15) && up <= exact * (1.0 + 1e-12) + 1e-13, "{n}/{d}: {up}");
        let l = ln_inverse_up(&big(n, d)).unwrap();
        assert!(exp_neg(l.numer(), l.denom()).1 * d <= BigUint::from(n) << PRECISION);
    }
    assert_eq!(ln_inverse_up(&big(2, 1)), None);
    assert_eq!(ln_inverse_up(&big(0, 1)), None);
}

/// 60 digits of π and of P(Z > x) after the point, truncated (mpmath).
const PI: &str = "3141592653589793238462643383279502884197169399375105820974944";
const TAILS: [(u64, u64, &str); 5] = [
    (0, 1, "500000000000000000000000000000000000000000000000000000000000"),
    (1, 2, "308537538725986896362295389391662260116397824445422063179223"),
    (1, 1, "158655253931457051414767454367962077522087033273395609012605"),
    (5, 1, "000000286651571879193911673752332874645353854423013611889573"),
    (11, 1, "000000000000000000000000000191065957449867571115041563370779"),
];

#[test]
fn bounds_of_pi_hold() {
    let (low, high) = pi(300);
    let value: BigUint = PI.parse().unwrap();
    let scale = BigUint::from(10u8).pow(60);
    assert!((&low * &scale) >> 300u32 <= value && shift_ceil(&high * &scale, 300) > value);
    assert!(high - low <= BigUint::from(3u8));
}

#[test]
fn tails_are_the_normal_ones() {
    for (n, d, digits) in TAILS {
        let (low, high) = normal_tail(&n.into(), &d.into(), 256);
        assert!(low <= high && &high - &low <= BigUint::from(4u8), "{n}/{d}");
        // value <= P·10^60 < value + 1.
        let (scale, value): (BigUint, BigUint) = (BigUint::from(10u8).pow(60), digits.parse().unwrap());
        assert!((&low * &scale) >> 256u32 <= value && shift_ceil(&high * &scale, 256) >= value, "{n}/{d}");
        let exact: f64 = format!("0.{digits}").parse().unwrap();
        let value = to_float(&BigRatio::new(high, BigUint::one() << 256u32));
        assert!((value - exact).abs() <= 1e-15 * exact, "{n}/{d}: {value} against {exact}");
        let libm = libm::erfc(n as f64 / d as f64 / std::f64::consts::SQRT_2) / 2.0;
        assert!((value - libm).abs() <= 1e-14 * libm, "{n}/{d}: {value} against {libm}");
    }
}

/// Bounds at any precision enclose those at a higher one; far out they are 0 and 1.
#[test]
fn precisions_agree() {
    for (n, d) in [(1u64, 3u64), (7, 2), (12, 1), (31, 1), (63, 1)] {
        let (low, high) = normal_tail(&n.into(), &d.into(), 3000);
        assert!(low < high && !low.is_zero());
        for precision in [64u64, 256, 700] {
            let (l, h) = normal_tail(&n.into(), &d.into(), precision);
            assert!(l <= &low >> (3000 - precision) && h >= shift_ceil(high.clone(), 3000 - precision));
        }
    }
    assert_eq!(normal_tail(&65u8.into(), &1u8.into(), 256), (BigUint::zero(), BigUint::one()));
}

#[test]
fn floats_come_and_go() {
    for x in [1.0, 0.1, 1e-30, 3e40, 12345.678] {
        assert!((to_float(&from_float(x).unwrap()) / x - 1.0).abs() < 1e-14);
    }
    assert!(from_float(0.0).is_none() && from_float(f64::NAN).is_none() && from_float(-1.0).is_none());
}
