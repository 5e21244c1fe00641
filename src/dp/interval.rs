//! Intervals of floats that contain a real number: how everything here that is not an integer is rounded to the safe
//! side. A bound on privacy loss is the upper end of an interval, a bound on error or on a limit the lower one.
//!
//! Sums, products, quotients and square roots of IEEE 754 doubles are the nearest double, so their neighbours enclose the
//! true value. The functions of libm are taken to be right to `ULPS` units in the last place, which is four times what
//! their authors claim; tests compare them with values of fifty digits.

use super::Ratio;
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// How many units in the last place exp, expm1, log and log1p of libm may be wrong by.
const ULPS: f64 = 4.0;

/// Two floats with a real number between them. Not a number becomes the whole line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    lo: f64,
    hi: f64,
}

impl Interval {
    /// Everything.
    pub const ALL: Self = Self { lo: f64::NEG_INFINITY, hi: f64::INFINITY };
    /// π.
    pub const PI: Self = Self { lo: std::f64::consts::PI, hi: std::f64::consts::PI.next_up() };

    /// From `lo` to `hi`; the whole line if one of them is not a number or they are out of order.
    pub fn new(lo: f64, hi: f64) -> Self {
        if lo <= hi { Self { lo, hi } } else { Self::ALL }
    }

    /// Around a quotient of integers; `d` is not zero.
    pub fn quotient(n: &BigUint, d: &BigUint) -> Self {
        // 64 bits more than a double holds, so that the quotient's own rounding is the only one that counts.
        let shift = 120i64 - n.bits() as i64 + d.bits() as i64;
        let whole = if shift >= 0 { (n << shift as u64) / d } else { n / (d << (-shift) as u64) };
        let down = i32::try_from(-shift).unwrap_or(if shift > 0 { i32::MIN } else { i32::MAX });
        let x = libm::ldexp(whole.to_f64().unwrap_or(f64::INFINITY), down);
        if whole == BigUint::ZERO {
            Self::from(0.0)
        } else {
            Self::new(x.next_down().next_down(), x.next_up().next_up())
        }
    }

    /// Around a rational whose denominator is not zero.
    pub fn ratio(r: &Ratio) -> Self {
        Self::quotient(&BigUint::from(*r.numer()), &BigUint::from(*r.denom()))
    }

    /// The lower end.
    pub fn lo(self) -> f64 {
        self.lo
    }

    /// The upper end.
    pub fn hi(self) -> f64 {
        self.hi
    }

    /// Both ends moved outward by a unit in the last place: for results of one correctly rounded operation.
    fn rounded(lo: f64, hi: f64) -> Self {
        Self::new(lo.next_down(), hi.next_up())
    }

    /// An interval whose ends are moved outward by `relative` of themselves, and a little more.
    pub(super) fn widened(lo: f64, hi: f64, relative: f64) -> Self {
        Self::rounded(lo - lo.abs() * relative, hi + hi.abs() * relative)
    }

    fn increasing(self, f: impl Fn(f64) -> f64) -> Self {
        Self::widened(f(self.lo), f(self.hi), ULPS * f64::EPSILON)
    }

    /// No lower than `bound`, where the true value is known not to be.
    pub fn at_least(self, bound: f64) -> Self {
        Self::new(self.lo.max(bound), self.hi.max(bound))
    }

    /// No higher than `bound`, where the true value is known not to be.
    pub fn at_most(self, bound: f64) -> Self {
        Self::new(self.lo.min(bound), self.hi.min(bound))
    }

    /// The least interval around both.
    pub fn hull(self, other: Self) -> Self {
        Self::new(self.lo.min(other.lo), self.hi.max(other.hi))
    }

    /// The larger of two numbers.
    pub fn max(self, other: Self) -> Self {
        Self::new(self.lo.max(other.lo), self.hi.max(other.hi))
    }

    /// The smaller of two numbers.
    pub fn min(self, other: Self) -> Self {
        Self::new(self.lo.min(other.lo), self.hi.min(other.hi))
    }

    /// e^x.
    pub fn exp(self) -> Self {
        self.increasing(libm::exp).at_least(0.0)
    }

    /// e^x - 1.
    pub fn exp_m1(self) -> Self {
        self.increasing(libm::expm1).at_least(-1.0)
    }

    /// ln x, of the part that is not negative.
    pub fn ln(self) -> Self {
        self.at_least(0.0).increasing(libm::log)
    }

    /// ln(1 + x), of the part that is not below -1.
    pub fn ln_1p(self) -> Self {
        self.at_least(-1.0).increasing(libm::log1p)
    }

    /// The square root, of the part that is not negative.
    pub fn sqrt(self) -> Self {
        let x = self.at_least(0.0);
        Self::rounded(x.lo.sqrt(), x.hi.sqrt()).at_least(0.0)
    }

    /// x².
    pub fn square(self) -> Self {
        (self * self).at_least(0.0)
    }

    /// The hyperbolic tangent: (e^2x - 1)/(e^2x + 1), without overflow and with x small where it is.
    pub fn tanh(self) -> Self {
        let at = |x: f64| {
            let e = (Self::from(-2.0 * x.abs())).exp_m1();
            let t = -e / (e + 2.0);
            if x < 0.0 { -t } else { t }
        };
        at(self.lo).hull(at(self.hi)).at_least(-1.0).at_most(1.0)
    }

    /// x^n for a non-negative x.
    pub fn power(self, n: u32) -> Self {
        let (mut power, mut base, mut exponent) = (Self::from(1.0), self, n);
        while exponent > 0 {
            if exponent % 2 == 1 {
                power = power * base;
            }
            base = base * base;
            exponent /= 2;
        }
        power
    }
}

impl From<f64> for Interval {
    fn from(x: f64) -> Self {
        Self::new(x, x)
    }
}

impl<T: Into<Self>> Add<T> for Interval {
    type Output = Self;

    fn add(self, other: T) -> Self {
        let other = other.into();
        Self::rounded(self.lo + other.lo, self.hi + other.hi)
    }
}

impl<T: Into<Self>> Sub<T> for Interval {
    type Output = Self;

    fn sub(self, other: T) -> Self {
        self + -other.into()
    }
}

impl Neg for Interval {
    type Output = Self;

    fn neg(self) -> Self {
        Self { lo: -self.hi, hi: -self.lo }
    }
}

impl<T: Into<Self>> Mul<T> for Interval {
    type Output = Self;

    fn mul(self, other: T) -> Self {
        let other = other.into();
        let (a, b) = (self.lo * other.lo, self.lo * other.hi);
        let (c, d) = (self.hi * other.lo, self.hi * other.hi);
        if [a, b, c, d].iter().any(|x| x.is_nan()) {
            return Self::ALL;
        }
        let product = Self::rounded(a.min(b).min(c).min(d), a.max(b).max(c).max(d));
        // Rounding does not change a sign.
        if self.lo >= 0.0 && other.lo >= 0.0 { product.at_least(0.0) } else { product }
    }
}

impl<T: Into<Self>> Div<T> for Interval {
    type Output = Self;

    fn div(self, other: T) -> Self {
        let other = other.into();
        if other.lo <= 0.0 && other.hi >= 0.0 {
            return Self::ALL;
        }
        let (a, b) = (self.lo / other.lo, self.lo / other.hi);
        let (c, d) = (self.hi / other.lo, self.hi / other.hi);
        if [a, b, c, d].iter().any(|x| x.is_nan()) {
            return Self::ALL;
        }
        let quotient = Self::rounded(a.min(b).min(c).min(d), a.max(b).max(c).max(d));
        if self.lo >= 0.0 && other.lo > 0.0 { quotient.at_least(0.0) } else { quotient }
    }
}

impl std::iter::Sum for Interval {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::from(0.0), |sum, x| sum + x)
    }
}

/// A float at which `holds` was seen to hold, as near as floats go to the least in [`low`, `high`] if `holds` is false
/// below some number and true above. None if it does not hold at `high`.
///
/// Whatever `holds` is, it holds at the result: a root found here has been checked on the safe side.
pub(super) fn least(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> Option<f64> {
    if !holds(high) {
        return None;
    }
    if holds(low) {
        return Some(low);
    }
    let (mut low, mut high) = (low, high);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high || middle.is_nan() {
            return Some(high);
        }
        if holds(middle) { high = middle } else { low = middle }
    }
}

/// [`least`] of all numbers from 0, found by doubling from 1.
pub(super) fn least_positive(holds: impl Fn(f64) -> bool) -> Option<f64> {
    let mut high = 1.0;
    while !holds(high) {
        high *= 2.0;
        if !f64::is_finite(high) {
            return None;
        }
    }
    // Halving as well, so that a small root is found to the same relative accuracy.
    let mut low = high / 2.0;
    while low > f64::MIN_POSITIVE && holds(low) {
        (low, high) = (low / 2.0, low);
    }
    if low <= f64::MIN_POSITIVE {
        low = 0.0;
    }
    least(low, high, holds)
}

/// A float at which `holds` was seen to hold, as near as floats go to the largest from 0 up. None if it holds at no
/// number that was tried.
pub(super) fn largest(holds: impl Fn(f64) -> bool) -> Option<f64> {
    // The least of the reciprocals.
    least_positive(|x| holds(1.0 / x)).map(|x| 1.0 / x)
}

/// The place where a function that falls and then rises between two ends is about least, after
/// `steps` steps of the golden section, and the least value that was seen.
pub(super) fn golden_section(f: impl Fn(f64) -> f64, (low, high): (f64, f64), steps: u32) -> (f64, f64) {
    // One of the two inner points is kept.
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (low, high);
    let (mut left, mut right) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_left, mut at_right) = (f(left), f(right));
    let mut least = at_left.min(at_right);
    for _ in 0..steps {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - ratio * (high - low);
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + ratio * (high - low);
            at_right = f(right);
        }
        least = least.min(at_left).min(at_right);
    }
    (f64::midpoint(low, high), least)
}

#[cfg(test)]
mod tests;
