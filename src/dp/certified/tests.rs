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
