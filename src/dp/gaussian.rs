//! The discrete Gaussian distribution, sampled exactly.
//!
//! Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020), Algorithm 3: rejection from the
//! discrete Laplace distribution. Integers only: the variance is rational, its root is never taken.

use super::bernoulli::{DIGIT, bernoulli_exp, bernoulli_exp_times, bernoulli_exp_wide};
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
}

/// The exponent -ln of the probability with which a proposal is kept, as a sum of a whole number and r/b below 1.
enum Exponent {
    Word { whole: u64, r: u128, b: u128 },
    Wide { whole: u64, r: BigUint, b: BigUint },
}

impl Exponent {
    /// True with probability e^-x. Numbers too long for a word are looked at in digits of `width` bits.
    fn hit(&self, width: u32, rng: &mut impl Entropy) -> Result<bool, EntropyError> {
        match self {
            Self::Word { whole, r, b } => Ok(bernoulli_exp_times(*whole, rng)?
                && match (u64::try_from(*r), u64::try_from(*b)) {
                    (Ok(r), Ok(b)) => bernoulli_exp(r, b, rng)?,
                    _ => bernoulli_exp(*r, *b, rng)?,
                }),
            Self::Wide { whole, r, b } => {
                Ok(bernoulli_exp_times(*whole, rng)? && bernoulli_exp_wide(r, b, width, rng)?)
            }
        }
    }
}

impl DiscreteGaussian {
    /// Numerator and denominator of a variance, in lowest terms, are below 2^120.
    pub const MAX_TERM: u128 = 1 << 120;

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
        Ok(Self { n, d, t, proposal })
    }

    /// One draw.
    pub fn sample(&self, rng: &mut impl Entropy) -> Result<i128, EntropyError> {
        loop {
            let y = self.proposal.sample(rng)?;
            if self.exponent(y.unsigned_abs()).hit(DIGIT, rng)? {
                return Ok(y);
            }
        }
    }

    /// x = (|y| - σ²/t)²/(2σ²) = a²/b with a = | |y|·d·t - n | and b = 2·n·d·t².
    fn exponent(&self, y: u128) -> Exponent {
        let t = u128::from(self.t);
        let word = || {
            let a = y.checked_mul(self.d)?.checked_mul(t)?.abs_diff(self.n);
            let square = a.checked_mul(a)?;
            let b = self.n.checked_mul(self.d)?.checked_mul(t)?.checked_mul(t)?.checked_mul(2)?;
            let whole = u64::try_from(square / b).ok()?;
            Some(Exponent::Word { whole, r: square % b, b })
        };
        word().unwrap_or_else(|| self.wide(y))
    }

    fn wide(&self, y: u128) -> Exponent {
        let (n, dt) = (BigUint::from(self.n), BigUint::from(self.d) * self.t);
        let at = &dt * y;
        let a = if at > n { at - &n } else { &n - at };
        let b = n * dt * self.t * 2u8;
        let (whole, r) = (&a * &a).div_rem(&b);
        // e^(-2^64) and less: nobody waits for the difference.
        Exponent::Wide { whole: whole.to_u64().unwrap_or(u64::MAX), r, b }
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
