//! Binary expansions of probabilities, certified bit by bit, and 64 Bernoulli variables at once from them.
//!
//! U < p is decided by the first bit in which U and p differ. The bits of p come from enclosures in outward-rounded
//! integer arithmetic: a bit is used only where both ends of the enclosure agree on all bits up to it, and the
//! enclosure is narrowed where a comparison goes beyond that. So each variable is true with probability exactly p.

use super::exp::{PRECISION, div_ceil, exp_neg, exp_neg_to};
use super::{Entropy, EntropyError, Ratio};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};

/// Bits that are computed ahead. A comparison goes beyond them once in 2^128.
pub(super) const READY: u32 = 128;

/// Lanes of a plane.
const LANES: u32 = 64;

/// A function of x = e^(-n/d).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// x.
    Exp,
    /// x/(1+x) <= 1/2.
    Logistic,
    /// far·x/(near + far·x): what has weight x against what has weight 1, `far` and `near` of them. Neither is zero.
    Odds {
        /// Outcomes of weight 1.
        near: u64,
        /// Outcomes of weight x.
        far: u64,
    },
    /// (1-x)/(1+x): what a discrete Laplace variable of ratio x is zero with.
    Zero,
}

/// A probability below 1, as its binary digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expansion {
    form: Form,
    n: BigUint,
    d: BigUint,
    /// The first digits, the first of all in the highest bit.
    ready: u128,
    /// How many of them are there.
    count: u32,
}

impl Expansion {
    /// The expansion of `form` of e^-ε, for ε above zero.
    pub(super) fn of(form: Form, epsilon: &Ratio) -> Self {
        let (n, d) = (BigUint::from(*epsilon.numer()), BigUint::from(*epsilon.denom()));
        let x = exp_neg(&n, &d);
        Self::from_bounds(form, n, d, &x, READY)
    }

    /// The expansion of `form` of e^(-n/d), n and d above zero, with `count` (at most [`READY`]) digits computed ahead,
    /// from bounds of e^(-n/d) in units of 2^-256.
    pub(super) fn from_bounds(
        form: Form,
        n: BigUint,
        d: BigUint,
        x: &(BigUint, BigUint),
        count: u32,
    ) -> Self {
        let mut new = Self { form, n, d, ready: 0, count };
        let digits = Self::agreed(new.map(x, PRECISION), PRECISION, count);
        let digits = digits.unwrap_or_else(|| new.digits(count));
        new.ready = digits.to_u128().unwrap_or(u128::MAX) << (READY - count);
        new
    }

    /// Bounds of the probability from bounds of x, in units of 2^-`precision`.
    fn map(&self, (low, high): &(BigUint, BigUint), precision: u64) -> (BigUint, BigUint) {
        let one = BigUint::one() << precision;
        match self.form {
            Form::Exp => (low.clone(), high.clone()),
            // Rising in x.
            Form::Logistic => ((low << precision) / (&one + low), div_ceil(high << precision, &(one + high))),
            Form::Odds { near, far } => {
                let (low, high, near) = (low * far, high * far, one * near);
                ((&low << precision) / (&near + low), div_ceil(&high << precision, &(near + high)))
            }
            // Falling in x.
            Form::Zero => (
                ((&one - high) << precision) / (&one + high),
                div_ceil((&one - low) << precision, &(one + low)),
            ),
        }
    }

    /// The first `count` digits. The probability is irrational for rational n/d > 0 (Lindemann), so that some precision
    /// tells it from every dyadic fraction.
    fn digits(&self, count: u32) -> BigUint {
        let mut precision = u64::from(count) + 64;
        loop {
            let bounds = self.map(&exp_neg_to(&self.n, &self.d, precision), precision);
            if let Some(digits) = Self::agreed(bounds, precision, count) {
                return digits;
            }
            precision *= 2;
        }
    }

    /// The first `count` digits, if both bounds have the same. The upper bound itself is excluded.
    fn agreed((low, high): (BigUint, BigUint), precision: u64, count: u32) -> Option<BigUint> {
        let drop = precision.checked_sub(count.into())?;
        let (low, high) = (low >> drop, (high - 1u8) >> drop);
        (low == high).then_some(low)
    }

    /// The digit at `index`, counted from 0, beyond those that are ready.
    #[cold]
    fn digit(&self, index: u32) -> bool {
        self.digits(index + 1).bit(0)
    }

    /// A Bernoulli variable: the first `width` digits of U (at most as many as are ready) by one
    /// draw, which decides but once in 2^`width`, and then one by one.
    #[inline]
    pub(super) fn coin(&self, width: u32, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
        let width = width.clamp(1, self.count);
        let drawn = rng.bits(width)?;
        self.coin_after(drawn, width, rng)
    }

    /// The same where the first `width` digits of U, from one to as many as are ready, were drawn.
    #[inline]
    pub(super) fn coin_after(
        &self,
        drawn: u128,
        width: u32,
        rng: &mut impl Entropy,
    ) -> Result<bool, EntropyError> {
        let digits = self.ready >> (READY - width);
        if drawn == digits { self.coin_from(width, rng) } else { Ok(drawn < digits) }
    }

    /// The same where the first `index` digits of U are those of p.
    #[cold]
    fn coin_from(&self, mut index: u32, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
        loop {
            let ready = index < self.count;
            let digit = if ready { self.ready >> (READY - 1 - index) & 1 == 1 } else { self.digit(index) };
            if digit != (rng.bits(1)? == 1) {
                return Ok(digit);
            }
            index += 1;
        }
    }

    /// Bernoulli variables in the lanes of `mask`: one random word per digit, until every lane is decided.
    #[inline]
    pub(super) fn plane(&self, mask: u64, rng: &mut impl Entropy) -> Result<u64, EntropyError> {
        let (mut open, mut hit, mut ready) = (mask, 0u64, self.ready);
        for _ in 0..self.count {
            if open == 0 {
                return Ok(hit);
            }
            Self::compare(ready >> 127 == 1, &mut open, &mut hit, rng.next_u64()?);
            ready <<= 1;
        }
        self.rest(open, hit, rng)
    }

    /// The same: a random word for each of the first `words` digits, and `each` digits at once for every lane that is open
    /// then. With four words and eight digits that takes half as many random bits.
    #[inline]
    pub(super) fn lanes(
        &self,
        (words, each): (u32, u32),
        mask: u64,
        rng: &mut impl Entropy,
    ) -> Result<u64, EntropyError> {
        if each == 0 || each > LANES || words + each > self.count {
            return self.plane(mask, rng);
        }
        let (mut open, mut hit, mut ready) = (mask, 0u64, self.ready);
        for _ in 0..words {
            Self::compare(ready >> 127 == 1, &mut open, &mut hit, rng.next_u64()?);
            ready <<= 1;
        }
        // At most 64 digits: the cast holds them.
        let (digits, below) = ((ready >> (READY - each)) as u64, u64::MAX >> (LANES - each));
        while open != 0 {
            let lanes = open.count_ones().min(LANES / each);
            let drawn = rng.bits(lanes * each)? as u64;
            // As often whatever is open: a processor that foresees the end of the loop is twice as fast.
            for at in 0..LANES / each {
                let (own, lane) = (drawn >> (at * each) & below, open & open.wrapping_neg());
                let same = own == digits && lane != 0;
                let less = if same { self.coin_from(words + each, rng)? } else { own < digits };
                hit |= lane & u64::from(less).wrapping_neg();
                open ^= lane;
            }
        }
        Ok(hit)
    }

    /// The same as a plane of all lanes, with all ready digits drawn whatever they decide: the time tells nothing, but once in 2^122.
    pub(super) fn plane_in_constant_time(&self, rng: &mut impl Entropy) -> Result<u64, EntropyError> {
        let (mut open, mut hit, mut ready) = (u64::MAX, 0u64, self.ready);
        for _ in 0..self.count {
            Self::compare(ready >> 127 == 1, &mut open, &mut hit, rng.next_u64()?);
            ready <<= 1;
        }
        self.rest(open, hit, rng)
    }

    #[cold]
    fn rest(&self, mut open: u64, mut hit: u64, rng: &mut impl Entropy) -> Result<u64, EntropyError> {
        let mut index = self.count;
        while open != 0 {
            Self::compare(self.digit(index), &mut open, &mut hit, rng.next_u64()?);
            index += 1;
        }
        Ok(hit)
    }

    /// Compares one bit of U in every lane with one digit of p: where they differ, the lane is decided.
    #[inline]
    fn compare(digit: bool, open: &mut u64, hit: &mut u64, drawn: u64) {
        let digit = 0u64.wrapping_sub(u64::from(digit));
        *hit |= *open & digit & !drawn;
        *open &= !(digit ^ drawn);
    }
}

#[cfg(test)]
mod tests;
