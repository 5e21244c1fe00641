//! Complex numbers by IEEE operations in a fixed order, so that they are the same on every machine.

use std::ops::{Add, Mul, Sub};

/// 2^-53: what one rounding is wrong by at most, as a part of its result.
pub(super) const U: f64 = f64::EPSILON / 2.0;

/// x + iy. A product is wrong by at most √5·u of its modulus (Brent, Percival and Zimmermann 2007).
#[derive(Clone, Copy, Debug)]
pub(super) struct Complex {
    pub(super) re: f64,
    pub(super) im: f64,
}

impl Complex {
    pub(super) const ONE: Self = Self { re: 1.0, im: 0.0 };

    /// e^(ix).
    pub(super) fn phase(x: f64) -> Self {
        let (im, re) = libm::sincos(x);
        Self { re, im }
    }

    /// |z|², wrong by at most 2u of itself.
    pub(super) fn square(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    /// |z|.
    pub(super) fn modulus(self) -> f64 {
        self.square().sqrt()
    }

    pub(super) fn times(self, x: f64) -> Self {
        Self { re: self.re * x, im: self.im * x }
    }

    /// 1/z: wrong by at most 5u of itself.
    pub(super) fn inverse(self) -> Self {
        let square = self.square();
        Self { re: self.re / square, im: -self.im / square }
    }

    /// z^n by squaring, n >= 1: wrong by at most (n - 1)·√5·u of itself, but for higher powers of u.
    pub(super) fn power(self, n: u32) -> Self {
        let (mut power, mut base, mut left) = (Self::ONE, self, n);
        loop {
            if left % 2 == 1 {
                power = power * base;
            }
            left /= 2;
            if left == 0 {
                return power;
            }
            base = base * base;
        }
    }
}

impl Add for Complex {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Complex {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Complex {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}
