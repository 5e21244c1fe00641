//! Prices that are proposed: numbers of three digits, so that they can be read and written.

use dp::Ratio;

/// Digits of a proposed ε: three.
const MANTISSAS: u32 = 900;
const LEAST_MANTISSA: u32 = 100;

/// Proposals begin at 10⁻⁹, the least price that a policy may set, and end at 1000.
const LEAST_EXPONENT: u32 = 9;
const DECADES: u32 = 12;

/// Number of proposals.
pub const ALL: u32 = DECADES * MANTISSAS;

/// Numbers of three digits, in ascending order, from 0 to below [`ALL`].
pub fn proposal(index: u32) -> Ratio {
    let (mantissa, decade) = (LEAST_MANTISSA + index % MANTISSAS, index / MANTISSAS);
    // Two of the mantissa's digits stand behind its point.
    let mantissa = u128::from(mantissa);
    match decade.checked_sub(LEAST_EXPONENT + 2) {
        Some(up) => Ratio::from_integer(mantissa * 10u128.pow(up)),
        None => Ratio::new(mantissa, 10u128.pow(LEAST_EXPONENT + 2 - decade)),
    }
}

/// The first proposal that is not below this.
pub fn first_from(epsilon: &Ratio) -> u32 {
    first(0, ALL, |index| proposal(index) >= *epsilon)
}

/// The first of the numbers from `low` to below `high` at which `holds`, if it does not hold below some number and does from
/// there on; else `high`.
pub fn first(mut low: u32, mut high: u32, mut holds: impl FnMut(u32) -> bool) -> u32 {
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposals_are_all_numbers_of_three_digits() {
        assert_eq!(proposal(0), Ratio::new(1, 1_000_000_000));
        assert_eq!(proposal(1), Ratio::new(101, 100_000_000_000));
        assert_eq!(proposal(899), Ratio::new(999, 100_000_000_000));
        assert_eq!(proposal(900), Ratio::new(1, 100_000_000));
        assert_eq!(proposal(ALL - 1), Ratio::from_integer(999));
        assert!((1..ALL).all(|i| proposal(i - 1) < proposal(i)));
        for (epsilon, next) in
            [(Ratio::new(1, 10), Ratio::new(1, 10)), (Ratio::new(1, 3), Ratio::new(334, 1000))]
        {
            assert_eq!(proposal(first_from(&epsilon)), next);
        }
    }
}
