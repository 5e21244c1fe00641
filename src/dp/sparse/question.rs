//! Questions of a stream as whole numbers on the stream's own scale: exact, and moved by one unit
//! by no more than [`SENSITIVITY`].

use num_bigint::{BigInt, BigUint};
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive};

/// The most that one unit may change every question's margin by, whatever the question counts or
/// sums. Questions of one stream share its noise, so each is divided by its own sensitivity
/// (soundness rule 28); this many steps are what keeps the division whole.
pub const SENSITIVITY: u128 = 1 << 20;

/// A comparison of a value with its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// value > threshold
    Above,
    /// value >= threshold
    AtLeast,
    /// value < threshold
    Below,
    /// value <= threshold
    AtMost,
}

impl Test {
    /// The operator.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Above => ">",
            Self::AtLeast => ">=",
            Self::Below => "<",
            Self::AtMost => "<=",
        }
    }

    /// The same test with its sides exchanged: `3 < x` is `x > 3`.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Above => Self::Below,
            Self::AtLeast => Self::AtMost,
            Self::Below => Self::Above,
            Self::AtMost => Self::AtLeast,
        }
    }

    fn rises(self) -> bool {
        matches!(self, Self::Above | Self::AtLeast)
    }
}

/// Whether an integer of known sensitivity passes a public threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// How much one unit may change the integer; at least 1.
    sensitivity: u128,
    /// Numerator of the threshold, in the integer's own steps.
    threshold: BigInt,
    /// Its denominator, above zero.
    denominator: BigUint,
    test: Test,
}

impl Question {
    /// Whether a value that one unit changes by at most `sensitivity` passes `threshold`/`denominator`. None without a
    /// denominator. A value that nobody can change is compared as if one step could be.
    pub fn new(sensitivity: u128, threshold: BigInt, denominator: BigUint, test: Test) -> Option<Self> {
        let sensitivity = sensitivity.max(1);
        (denominator != BigUint::ZERO).then_some(Self { sensitivity, threshold, denominator, test })
    }

    /// The most that one unit may change the integer by.
    pub fn sensitivity(&self) -> u128 {
        self.sensitivity
    }

    /// The comparison.
    pub fn test(&self) -> Test {
        self.test
    }

    /// By how much the value passes, in steps of sensitivity/[`SENSITIVITY`]: not negative exactly where the value
    /// passes.
    ///
    /// One unit moves it by at most [`SENSITIVITY`] where it moves the value by at most the sensitivity: x = (value -
    /// threshold)·[`SENSITIVITY`]/sensitivity moves by so much, and rounding (up or down) keeps whole distances and order.
    /// For the same reason margins of [`Test::Above`] all rise or all fall where values do.
    pub fn margin(&self, value: i128) -> i128 {
        let over = BigInt::from(value) * BigInt::from(self.denominator.clone()) - &self.threshold;
        let over = if self.test.rises() { over } else { -over };
        let (n, d) = (over * BigInt::from(SENSITIVITY), BigInt::from(&self.denominator * self.sensitivity));
        let margin = match self.test {
            Test::AtLeast | Test::AtMost => n.div_floor(&d),
            Test::Above | Test::Below => n.div_ceil(&d) - BigInt::one(),
        };
        saturated(&margin)
    }

    /// The value that has this margin, to the nearest step: what a noisy margin says of the value. Post-processing.
    pub fn value(&self, margin: i128) -> i128 {
        let strict = matches!(self.test, Test::Above | Test::Below);
        let margin = BigInt::from(margin) + BigInt::from(u8::from(strict));
        let margin = if self.test.rises() { margin } else { -margin };
        // threshold/denominator + margin·sensitivity/SENSITIVITY
        let d = BigInt::from(self.denominator.clone());
        let n = &self.threshold * BigInt::from(SENSITIVITY) + margin * BigInt::from(self.sensitivity) * &d;
        let d = d * BigInt::from(SENSITIVITY);
        saturated(&(n * 2u8 + &d).div_floor(&(d * 2u8)))
    }
}

fn saturated(n: &BigInt) -> i128 {
    n.to_i128().unwrap_or(if n.is_negative() { i128::MIN } else { i128::MAX })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use proptest::prelude::*;

    const ALL: [Test; 4] = [Test::Above, Test::AtLeast, Test::Below, Test::AtMost];

    fn question(sensitivity: u128, n: i128, d: u64, test: Test) -> Question {
        Question::new(sensitivity, n.into(), d.into(), test).unwrap()
    }

    fn passes(test: Test, value: i128, n: i128, d: u64) -> bool {
        let (value, n) = (BigInt::from(value) * d, BigInt::from(n));
        match test {
            Test::Above => value > n,
            Test::AtLeast => value >= n,
            Test::Below => value < n,
            Test::AtMost => value <= n,
        }
    }

    proptest! {
        /// Mutations: not divided by the sensitivity, rounded the wrong way, a strict test that takes equality.
        #[test]
        fn rule_28_one_unit_moves_a_margin_by_the_stream_s_sensitivity(
            sensitivity in 1u128..1_000_000_000,
            value in -1_000_000_000_000i128..1_000_000_000_000,
            shift in -1.0f64..=1.0,
            n in -1_000_000_000_000_000i128..1_000_000_000_000_000,
            d in 1u64..2000,
        ) {
            let moved = value + (shift * sensitivity as f64) as i128;
            for test in ALL {
                let q = question(sensitivity, n, d, test);
                let (a, b) = (q.margin(value), q.margin(moved));
                prop_assert!(a.abs_diff(b) <= SENSITIVITY, "{a} and {b}");
                // Ordered as values are, or the other way round: monotone questions stay monotone.
                prop_assert!((a <= b) == (test.rises() == (value <= moved)) || a == b);
                prop_assert_eq!(a >= 0, passes(test, value, n, d));
                let told = q.value(a);
                prop_assert!(told.abs_diff(value) <= 1 + sensitivity / SENSITIVITY, "{told} for {value}");
            }
        }
    }

    /// A whole sensitivity moves a margin by all of it: the division is no coarser than it has to be.
    #[test]
    fn rule_28_a_whole_sensitivity_is_the_stream_s() {
        for test in ALL {
            for sensitivity in [1u128, 3, 20, 120_000, 1 << 40] {
                let q = question(sensitivity, 777, 10, test);
                let moved = q.margin(0).abs_diff(q.margin(sensitivity.to_i128().unwrap()));
                assert_eq!(moved, SENSITIVITY);
            }
        }
    }

    #[test]
    fn values_at_the_edges_saturate() {
        let q = question(1, 0, 1, Test::Above);
        assert_eq!((q.margin(i128::MAX), q.margin(i128::MIN)), (i128::MAX, i128::MIN));
        assert_eq!(question(u128::MAX, 0, 1, Test::AtMost).margin(i128::MIN), SENSITIVITY as i128 / 2);
        assert!(
            q.value(i128::MAX) > 0 && question(1 << 100, 0, 1, Test::Below).value(i128::MAX) == i128::MIN
        );
        assert_eq!(Question::new(1, 0.into(), 0u8.into(), Test::Above), None);
        assert_eq!(question(0, 5, 1, Test::AtLeast).sensitivity(), 1);
    }
}
