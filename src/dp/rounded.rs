//! A real normal deviate, sampled exactly and rounded to the integers.
//!
//! Karney, "Sampling exactly from the normal distribution" (2016), Algorithm N. A real number is its digits so far: more
//! are drawn where a comparison asks for them, and none is ever rounded before the end. So the result is what rounding
//! would make of a true normal variable, and a release with it is post-processing of the Gaussian mechanism.

use super::bernoulli::{bernoulli_exp, bernoulli_exp_times};
use super::{DpError, Entropy, EntropyError, Ratio};
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

/// round(σ·Z) for a standard normal Z and a rational σ > 0.
///
/// Guarantee: for add/remove neighbours, adding one independent draw to each of l0 integers that one unit changes by at
/// most Δ is exactly μ-GDP with μ = √l0·Δ/σ (Dong, Roth and Su, "Gaussian Differential Privacy", Theorem 2.7: an integer
/// plus a rounded real is the rounded sum), hence μ²/2-zCDP, and (ε, δ)-DP by the analytic formula of Balle and Wang
/// (2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundedGaussian {
    /// σ = p/q in lowest terms.
    p: u128,
    q: u128,
}

/// A uniform real number from 0 to 1 whose first digits are drawn.
struct Lazy {
    /// The first `bits` binary digits as a whole number; the number is in [digits, digits+1)·2^-bits.
    digits: BigUint,
    bits: u64,
}

impl Lazy {
    fn extend(&mut self, width: u32, rng: &mut impl Entropy) -> Result<(), EntropyError> {
        self.digits = (&self.digits << width) + rng.bits(width)?;
        self.bits += u64::from(width);
        Ok(())
    }
}

impl RoundedGaussian {
    /// Numerator and denominator of σ, in lowest terms, are below 2^120.
    pub const MAX_TERM: u128 = 1 << 120;

    /// The distribution of standard deviation `sigma` before rounding; above zero, both terms below
    /// [`Self::MAX_TERM`].
    pub fn new(sigma: &Ratio) -> Result<Self, DpError> {
        if *sigma.numer() == 0 || *sigma.denom() == 0 {
            return Err(DpError::OutOfRange("a standard deviation must be greater than zero"));
        }
        let sigma = sigma.reduced();
        if *sigma.numer() >= Self::MAX_TERM || *sigma.denom() >= Self::MAX_TERM {
            return Err(DpError::OutOfRange("a standard deviation has terms of more than 120 bits"));
        }
        Ok(Self { p: *sigma.numer(), q: *sigma.denom() })
    }

    /// One draw.
    pub fn sample(&self, rng: &mut impl Entropy) -> Result<i128, EntropyError> {
        self.sample_by(64, rng)
    }

    /// Independent draws into `out`. The time depends on what is drawn and on how many, never on what it is added to.
    pub fn fill(&self, out: &mut [i128], rng: &mut impl Entropy) -> Result<(), EntropyError> {
        out.iter_mut().try_for_each(|place| self.sample(rng).map(|x| *place = x))
    }

    /// One draw by digits of `width` bits, at most 64.
    fn sample_by(&self, width: u32, rng: &mut impl Entropy) -> Result<i128, EntropyError> {
        loop {
            // N1: k with probability e^(-k/2)·(1 - e^(-1/2)).
            let mut k = 0u64;
            while bernoulli_exp(1u64, 2u64, rng)? {
                k += 1;
            }
            // N2: e^(-k(k-1)/2).
            if !bernoulli_exp_times(k.saturating_mul(k.saturating_sub(1)) / 2, rng)? {
                continue;
            }
            // N3 and N4: x uniform, kept with probability e^(-x(2k+x)/2): k+x has the density of |Z|.
            let first = u64::try_from(rng.bits(width)?).unwrap_or(u64::MAX);
            let Some(x) = keep(k, first, width, rng)? else { continue };
            // N5 to N7.
            let negative = rng.bits(1)? == 1;
            let magnitude = self.round(k, x, width, rng)?;
            let value = i128::try_from(magnitude).unwrap_or(i128::MAX);
            return Ok(if negative { -value } else { value });
        }
    }

    /// floor(σ(k+x) + 1/2).
    fn round(&self, k: u64, x: X, width: u32, rng: &mut impl Entropy) -> Result<u128, EntropyError> {
        if let X::First(first) = &x
            && let Some(rounded) = self.round_word(k, *first, width)
        {
            return Ok(rounded);
        }
        let mut x = x.lazy(width);
        loop {
            // (2p(k+x) + q)/(2q) for both ends of x; the upper one is excluded.
            let ends = |digits: BigUint| {
                let y = (BigUint::from(k) << x.bits) + digits;
                (y * self.p * 2u8) + (BigUint::from(self.q) << x.bits)
            };
            let unit = BigUint::from(self.q) << (x.bits + 1);
            let low = ends(x.digits.clone()) / &unit;
            let high = (ends(&x.digits + 1u8) - 1u8) / &unit;
            if low == high {
                return Ok(low.to_u128().unwrap_or(u128::MAX));
            }
            x.extend(width, rng)?;
        }
    }

    /// The same from the first digit, where everything fits a word and the digit tells.
    fn round_word(&self, k: u64, first: u64, width: u32) -> Option<u128> {
        let y =
            (u128::from(k).checked_shl(width).filter(|y| y >> width == u128::from(k))?) + u128::from(first);
        let half = self.q.checked_mul(1 << width.min(64))?;
        let unit = half.checked_mul(2)?;
        let twice = self.p.checked_mul(2)?;
        let low = y.checked_mul(twice)?.checked_add(half)?;
        let high = low.checked_add(twice)? - 1;
        (low / unit == high / unit).then_some(low / unit)
    }
}

/// x as far as it is drawn.
enum X {
    /// Its first digit.
    First(u64),
    /// More.
    Lazy(Lazy),
}

impl X {
    fn lazy(self, width: u32) -> Lazy {
        match self {
            Self::First(first) => Lazy { digits: first.into(), bits: width.into() },
            Self::Lazy(lazy) => lazy,
        }
    }
}

/// Keeps x with probability e^-E, E = x(2k+x)/2 = kx + x²/2.
fn keep(k: u64, first: u64, width: u32, rng: &mut impl Entropy) -> Result<Option<X>, EntropyError> {
    let mut x = X::First(first);
    // Bounds of E in units of 2^-64 from the first digit; k is small, and if it were not, x is extended.
    let shift = 64 - width.min(64);
    let (low, high) = (u128::from(first) << shift, (u128::from(first) + 1) << shift);
    let exponent = |x: u128| {
        let square = if x > u128::from(u64::MAX) { 1 << 63 } else { (x * x) >> 65 };
        u128::from(k).checked_mul(x)?.checked_add(square)
    };
    let bounds = exponent(low).zip(exponent(high).and_then(|h| h.checked_add(1)));
    let whole = match bounds {
        Some((l, h)) if l >> 64 == h >> 64 => u64::try_from(l >> 64).unwrap_or(u64::MAX),
        _ => {
            let mut lazy = x.lazy(width);
            let whole = loop {
                let (l, h) = exact(k, &lazy);
                let unit = 2 * lazy.bits + 1;
                let (l, h) = (l >> unit, (h - 1u8) >> unit);
                if l == h {
                    break l.to_u64().unwrap_or(u64::MAX);
                }
                lazy.extend(width, rng)?;
            };
            x = X::Lazy(lazy);
            whole
        }
    };
    if !bernoulli_exp_times(whole, rng)? {
        return Ok(None);
    }
    // CKS20, Algorithm 1, for the fraction of E.
    let fraction = bounds.filter(|(l, h)| l >> 64 == h >> 64).map(|(l, h)| {
        let base = u128::from(whole) << 64;
        (l - base, h - base)
    });
    let mut round: u32 = 1;
    loop {
        let drawn = rng.bits(width)?;
        let (u_low, u_high) = (drawn << shift, (drawn + 1) << shift);
        let hit = match fraction {
            Some((l, _)) if u_high * u128::from(round) <= l => true,
            Some((_, h)) if u_low * u128::from(round) >= h => false,
            _ => {
                let mut lazy = x.lazy(width);
                let hit = below(drawn, round, k, whole, &mut lazy, width, rng)?;
                x = X::Lazy(lazy);
                hit
            }
        };
        if !hit {
            return Ok((round % 2 == 1).then_some(x));
        }
        round += 1;
    }
}

/// Bounds of E in units of 2^-(2·bits+1); the upper one is excluded.
fn exact(k: u64, x: &Lazy) -> (BigUint, BigUint) {
    let twice = BigUint::from(k) << (x.bits + 1);
    let next = &x.digits + 1u8;
    (&x.digits * (&twice + &x.digits), &next * (twice + &next))
}

/// U·round < E - whole, for a U whose first digit is `drawn`: both get digits until it is decided.
#[cold]
fn below(
    drawn: u128,
    round: u32,
    k: u64,
    whole: u64,
    x: &mut Lazy,
    width: u32,
    rng: &mut impl Entropy,
) -> Result<bool, EntropyError> {
    let mut u = Lazy { digits: drawn.into(), bits: width.into() };
    loop {
        let unit = 2 * x.bits + 1;
        let (low, high) = exact(k, x);
        let base = BigUint::from(whole) << unit;
        // The fraction's lower bound may be below zero while few digits of x are known.
        let low = if low > base { low - &base } else { BigUint::zero() };
        let high = if high > base { high - base } else { BigUint::zero() };
        let (u_low, u_high) = ((&u.digits * round) << unit, ((&u.digits + 1u8) * round) << unit);
        if u_high <= low << u.bits {
            return Ok(true);
        }
        if u_low >= high << u.bits {
            return Ok(false);
        }
        x.extend(width, rng)?;
        u.extend(width, rng)?;
    }
}

#[cfg(test)]
mod tests;
