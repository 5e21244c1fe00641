//! The discrete Gaussian distribution, sampled exactly.
//!
//! Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 3: rejection from the
//! discrete Laplace distribution. Integers only: the variance is rational, its root is never taken.

use super::bernoulli::{Bounds, DIGIT, bernoulli_exp_times, bernoulli_exp_wide, bernoulli_exp_within};
use super::laplace::Batch;
use super::{DiscreteLaplace, DpError, Entropy, EntropyError, Ratio};
use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::ToPrimitive;

/// P(x) ∝ e^(-x²/(2σ²)) on the integers, for a rational σ² > 0.
///
/// Guarantee: for add/remove neighbours, adding one independent draw to each of l0 integers that one unit changes by at
/// most Δ is ρ-zCDP with ρ = l0·Δ²/(2σ²) (CKS20, Theorem 14, with Δ₂² = l0·Δ²). It is not ε-DP for any ε. Its
/// (ε, δ) are close to those of the continuous Gaussian, but not bounded by them: they are never used in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscreteGaussian {
    /// σ² = n/d in lowest terms.
    n: u128,
    d: u128,
    /// floor(σ) + 1: the scale of the proposal. Any scale is right; this one rejects least.
    t: u64,
    proposal: DiscreteLaplace,
    fixed: Fixed,
}

/// 1/(√2·σ) and σ/(√2·t) from below, in fixed point: each number lies between this and one unit more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fixed {
    /// 1/(√2·σ) in units of 2^-`shift`, with 64 significant bits.
    slope: u64,
    shift: u32,
    /// σ/(√2·t) < 1, in units of 2^-60.
    offset: u64,
}

/// Bits after the point.
const POINT: u32 = 60;

impl Fixed {
    fn new(n: u128, d: u128, t: u64) -> Option<Self> {
        let (n, d) = (BigUint::from(n), BigUint::from(d));
        let twice = &n << 1u8;
        // slope² = d/(2n)·4^shift has 127 or 128 bits.
        let mut shift = (128 + twice.bits()).saturating_sub(d.bits()) / 2;
        let square = |shift: u64| (&d << (2 * shift)) / &twice;
        while square(shift).bits() > 128 {
            shift = shift.checked_sub(1)?;
        }
        while square(shift).bits() < 127 {
            shift += 1;
        }
        let offset = (n << (2 * POINT)) / ((&d * t * t) << 1u8);
        Some(Self {
            slope: square(shift).sqrt().to_u64()?,
            shift: u32::try_from(shift).ok()?,
            offset: offset.sqrt().to_u64()?,
        })
    }

    /// (|y|/(√2·σ) - σ/(√2·t))² as a whole number and bounds of the rest. None where the bounds do not tell, which they
    /// do for |y| up to 11σ but once in some 2^50 numbers.
    #[inline]
    fn exponent(&self, y: u128) -> Option<(u64, Bounds)> {
        let y = u128::from(u64::try_from(y).ok()?);
        let (low, high) = if y == 0 {
            (0, 0)
        } else {
            let drop = self.shift.checked_sub(POINT).filter(|d| *d < 128)?;
            let low = (y * u128::from(self.slope)) >> drop;
            (low, ((y * (u128::from(self.slope) + 1)) >> drop) + 1)
        };
        // Below 8, so that squares fit.
        if high >= 8 << POINT {
            return None;
        }
        let offset = u128::from(self.offset);
        let (s_low, s_high) = if low > offset {
            (low - offset - 1, high - offset)
        } else if high < offset {
            (offset - high, offset + 1 - low)
        } else {
            (0, (high - offset).max(offset + 1 - low))
        };
        let fraction = 2 * POINT - 64;
        let (low, high) = ((s_low * s_low) >> fraction, ((s_high * s_high) >> fraction) + 1);
        let whole = low >> 64;
        if high >> 64 != whole {
            return None;
        }
        let base = whole << 64;
        Some((u64::try_from(whole).ok()?, Bounds { low: low - base, high: high - base }))
    }
}

impl DiscreteGaussian {
    /// Numerator and denominator of a variance, in lowest terms, are below 2^120.
    pub const MAX_TERM: u128 = 1 << 120;
    /// From this number of draws on the proposals come in batches.
    pub const BATCH: usize = 256;

    /// The distribution of parameter σ² = `variance` (its variance is a little less); it is above zero and both its
    /// terms are below [`Self::MAX_TERM`].
    pub fn new(variance: &Ratio) -> Result<Self, DpError> {
        if *variance.numer() == 0 || *variance.denom() == 0 {
            return Err(DpError::OutOfRange("a noise variance must be greater than zero"));
        }
        let variance = variance.reduced();
        let (n, d) = (*variance.numer(), *variance.denom());
        if n >= Self::MAX_TERM || d >= Self::MAX_TERM {
            return Err(DpError::OutOfRange("a noise variance has terms of more than 120 bits"));
        }
        // floor(σ) = floor(√floor(σ²)) < 2^60.
        let t = u64::try_from((n / d).isqrt() + 1).map_err(|_| DpError::OutOfRange("a noise variance"))?;
        let proposal = DiscreteLaplace::new(&Ratio::from_integer(t.into()))?;
        let fixed = Fixed::new(n, d, t).ok_or(DpError::OutOfRange("a noise variance"))?;
        Ok(Self { n, d, t, proposal, fixed })
    }

    /// A draw.
    pub fn sample(&self, rng: &mut impl Entropy) -> Result<i128, EntropyError> {
        loop {
            let y = self.proposal.sample(rng)?;
            if self.keep(y.unsigned_abs(), DIGIT, rng)? {
                return Ok(y);
            }
        }
    }

    /// Independent draws into `out`. From [`Self::BATCH`] on their proposals come by bit planes.
    ///
    /// The time depends on what is drawn and on how many, never on what it is added to.
    pub fn fill(&self, out: &mut [i128], rng: &mut impl Entropy) -> Result<(), EntropyError> {
        if out.len() < Self::BATCH {
            return out.iter_mut().try_for_each(|place| self.sample(rng).map(|x| *place = x));
        }
        let batch = Batch::new(&self.proposal);
        let mut proposals = [0i128; Self::BATCH];
        let mut places = out.iter_mut();
        let mut place = places.next();
        while place.is_some() {
            batch.fill(&mut proposals, rng)?;
            for y in proposals {
                if self.keep(y.unsigned_abs(), DIGIT, rng)?
                    && let Some(free) = place
                {
                    *free = y;
                    place = places.next();
                }
                if place.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// True with probability e^-x, x = (|y| - σ²/t)²/(2σ²), by digits of `width` bits.
    #[inline]
    fn keep(&self, y: u128, width: u32, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
        match self.fixed.exponent(y) {
            Some((whole, bounds)) => Ok(bernoulli_exp_times(whole, rng)?
                && bernoulli_exp_within(bounds, || self.fraction(y), width, rng)?),
            None => self.keep_wide(y, width, rng),
        }
    }

    #[cold]
    fn keep_wide(&self, y: u128, width: u32, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
        let (whole, r, b) = self.exponent(y);
        // e^(-2^64) and less: nobody waits for the difference.
        let whole = whole.to_u64().unwrap_or(u64::MAX);
        Ok(bernoulli_exp_times(whole, rng)? && bernoulli_exp_wide(&r, &b, width, rng)?)
    }

    /// The exponent as a whole number and a fraction r/b below 1: x = a²/b, a = | |y|·d·t - n |, b = 2·n·d·t².
    fn exponent(&self, y: u128) -> (BigUint, BigUint, BigUint) {
        let (n, dt) = (BigUint::from(self.n), BigUint::from(self.d) * self.t);
        let at = &dt * y;
        let a = if at > n { at - &n } else { &n - at };
        let b = n * dt * self.t * 2u8;
        let (whole, r) = (&a * &a).div_rem(&b);
        (whole, r, b)
    }

    fn fraction(&self, y: u128) -> (BigUint, BigUint) {
        let (_, r, b) = self.exponent(y);
        (r, b)
    }

    /// Half the width of the interval that holds 95 % of the noise: the least w with P(|X| > w) <= 1/20. For display.
    pub fn error95(&self) -> f64 {
        let variance = self.n as f64 / self.d as f64;
        let sigma = variance.sqrt();
        if sigma > 64.0 {
            // The sum over integers is the integral to far more digits than a double has.
            return libm::ceil(1.959_963_984_540_054 * sigma - 0.5);
        }
        let mass = |x: f64| libm::exp(-x * x / (2.0 * variance));
        let reach = libm::ceil(40.0 * sigma) + 1.0;
        let mut tail: f64 = 0.0;
        let mut x = reach;
        // From the far end, so that small terms are not lost.
        while x >= 1.0 {
            tail += 2.0 * mass(x);
            x -= 1.0;
        }
        let total = 1.0 + tail;
        let mut w = 0.0;
        while tail > total / 20.0 {
            w += 1.0;
            tail -= 2.0 * mass(w);
        }
        w
    }
}

#[cfg(test)]
mod tests;
