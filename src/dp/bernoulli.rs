//! Uniform numbers and Bernoulli variables from raw bits, exactly.
//!
//! Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 1. Integers only;
//! uniform numbers come from raw bits by rejection, so that each probability is exactly the one that is written here.

use super::{Entropy, EntropyError};
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::Zero;

/// A machine word that the sampler works in: u64 where the scale allows, else u128.
pub(super) trait Word: Copy + Ord + std::ops::Sub<Output = Self> + From<u32> {
    fn checked_mul(self, other: Self) -> Option<Self>;
    fn bit_length(self) -> u32;
    fn from_bits(bits: u128) -> Self;
}

macro_rules! word {
    ($t:ty) => {
        impl Word for $t {
            #[inline]
            fn checked_mul(self, other: Self) -> Option<Self> {
                <$t>::checked_mul(self, other)
            }
            #[inline]
            fn bit_length(self) -> u32 {
                <$t>::BITS - self.leading_zeros()
            }
            #[inline]
            fn from_bits(bits: u128) -> Self {
                bits as $t // `bits` was drawn with no more bits than the word has
            }
        }
    };
}
word!(u64);
word!(u128);

/// Uniform on 0, …, n-1: raw bits, as many as n-1 has, until they are below n (fewer than two tries on average).
/// n is not zero; n = 1 draws nothing.
#[inline]
pub(super) fn uniform_below<W: Word>(n: W, rng: &mut impl Entropy) -> Result<W, EntropyError> {
    let bits = (n - W::from(1)).bit_length();
    loop {
        let candidate = W::from_bits(rng.bits(bits)?);
        if candidate < n {
            return Ok(candidate);
        }
    }
}

/// True with probability n/d, for n <= d and d > 0.
#[inline]
pub(super) fn bernoulli<W: Word>(n: W, d: W, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
    Ok(n >= d || uniform_below(d, rng)? < n)
}

/// True with probability e^-(n/d), for n <= d and d > 0 (CKS20, Algorithm 1, its first branch).
///
/// K is the first index at which Bernoulli(n/(dK)) fails; e^-γ = P(K is odd).
#[inline]
pub(super) fn bernoulli_exp<W: Word>(n: W, d: W, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
    let mut k: u32 = 1;
    loop {
        let hit = match d.checked_mul(W::from(k)) {
            Some(dk) => bernoulli(n, dk, rng)?,
            // Bernoulli(n/(dk)) is the conjunction of two independent draws: nothing can overflow.
            None => bernoulli(n, d, rng)? && bernoulli(W::from(1), W::from(k), rng)?,
        };
        if !hit {
            return Ok(k % 2 == 1);
        }
        k += 1; // P(k reaches 2^32) < 1/(2^32)!
    }
}

/// Bits of a digit where numbers are too long for a machine word.
pub(super) const DIGIT: u32 = 64;

/// True with probability n/d, for n <= d and d > 0: digits of `width` bits of n/d, each computed only if all before it
/// were drawn. With 64 bits the second one is needed once in 2^64 draws.
pub(super) fn bernoulli_wide(
    n: &BigUint,
    d: &BigUint,
    width: u32,
    rng: &mut impl Entropy,
) -> Result<bool, EntropyError> {
    if n >= d {
        return Ok(true);
    }
    let mut rest = n.clone();
    while !rest.is_zero() {
        let (digit, remainder) = (rest << width).div_rem(d);
        match BigUint::from(rng.bits(width)?).cmp(&digit) {
            std::cmp::Ordering::Less => return Ok(true),
            std::cmp::Ordering::Greater => return Ok(false),
            std::cmp::Ordering::Equal => rest = remainder,
        }
    }
    Ok(false)
}

/// [`bernoulli_exp`] for numbers of any length.
pub(super) fn bernoulli_exp_wide(
    n: &BigUint,
    d: &BigUint,
    width: u32,
    rng: &mut impl Entropy,
) -> Result<bool, EntropyError> {
    let mut k: u32 = 1;
    while bernoulli_wide(n, &(d * k), width, rng)? {
        k += 1;
    }
    Ok(k % 2 == 1)
}

/// Bounds of a number from 0 to 1, in units of 2^-64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) low: u128,
    pub(super) high: u128,
}

/// True with probability e^-x for an x within `bounds` that is n/d for `exact`'s (n, d).
///
/// CKS20, Algorithm 1, with digits of `width` (at most 64) bits of each uniform number: U·k < x is decided by the bounds
/// and the first digit where these suffice, else by more digits and exact numbers. With 64 bits and tight bounds that is
/// once in some 2^60 draws, and where it happens depends on the draw.
#[inline]
pub(super) fn bernoulli_exp_within(
    bounds: Bounds,
    exact: impl Fn() -> (BigUint, BigUint),
    width: u32,
    rng: &mut impl Entropy,
) -> Result<bool, EntropyError> {
    let shift = 64 - width.min(64);
    let mut k: u32 = 1;
    loop {
        // U is at least `drawn` and below the next digit.
        let drawn = rng.bits(width)?;
        let hit = if ((drawn + 1) << shift) * u128::from(k) <= bounds.low {
            true
        } else if (drawn << shift) * u128::from(k) >= bounds.high {
            false
        } else {
            let (n, d) = exact();
            bernoulli_wide_after(drawn, &n, &(d * k), width, rng)?
        };
        if !hit {
            return Ok(k % 2 == 1);
        }
        k += 1;
    }
}

/// U < n/d, for n <= d, where the first digit of U is drawn.
#[cold]
fn bernoulli_wide_after(
    drawn: u128,
    n: &BigUint,
    d: &BigUint,
    width: u32,
    rng: &mut impl Entropy,
) -> Result<bool, EntropyError> {
    let (digit, remainder) = (n << width).div_rem(d);
    match BigUint::from(drawn).cmp(&digit) {
        std::cmp::Ordering::Less => Ok(true),
        std::cmp::Ordering::Greater => Ok(false),
        std::cmp::Ordering::Equal => bernoulli_wide(&remainder, d, width, rng),
    }
}

/// True with probability e^-count: as many draws of e^-1, until the first that fails.
#[inline]
pub(super) fn bernoulli_exp_times(count: u64, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
    for _ in 0..count {
        if !bernoulli_exp(1u64, 1u64, rng)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
