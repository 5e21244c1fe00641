//! Threshold selection of private groups.
//!
//! A group is released only if its number of distinct units (after the l0 bound) plus discrete noise reaches a threshold T.
//! Wilson et al., "Differentially Private SQL with Bounded User Contribution" (2020), section 5, with the discrete tail in
//! place of the continuous one: of Laplace noise, or of Gaussian noise, which is in proportion to √l0 and not to l0.

use super::certified::is_usual_delta;
use super::exp::{PRECISION, div_ceil, exp_neg, one};
use super::spec::Selection;
use super::{DiscreteGaussian, DiscreteLaplace, Distribution, DpError, Noise, Ratio, Sampler};
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

/// δ of selection is counted in units of 2^-96, rounded up.
pub(super) const DELTA_BITS: u32 = 96;

/// The tail of one selection's noise.
enum Tail {
    Laplace {
        /// b = t/s.
        t: BigUint,
        s: BigUint,
        /// 1 + e^(-1/b), from below.
        norm: BigUint,
    },
    Gaussian {
        /// 2σ² = n/d.
        n: BigUint,
        d: BigUint,
        /// The sum of e^(-x²/(2σ²)) over all integers, from below.
        norm: BigUint,
    },
}

impl Tail {
    /// None for no noise.
    fn new(noise: &Distribution) -> Option<Self> {
        match noise {
            Distribution::None => None,
            Distribution::Laplace { scale } => {
                let (t, s) = (BigUint::from(*scale.numer()), BigUint::from(*scale.denom()));
                let (q, _) = exp_neg(&s, &t);
                Some(Self::Laplace { t, s, norm: one() + q })
            }
            Distribution::Gaussian { variance } => {
                let (n, d) = (BigUint::from(*variance.numer()), BigUint::from(*variance.denom()));
                // √(2π)·σ, by Poisson summation (Canonne, Kamath and Steinke 2020, Fact 18), with 2π > 6.283; and the term of 0.
                let square = ((BigUint::from(6_283u32) * &n) << (2 * PRECISION)) / (&d * 1_000u32);
                Some(Self::Gaussian { n: n * 2u8, d, norm: square.sqrt().max(one()) })
            }
        }
    }

    /// Probability, in units of 2^-256 and rounded up, that a group of one unit is kept at `threshold` (at least 1):
    /// P(X >= t) with t = T-1.
    ///
    /// Laplace: q^t/(1+q), q = e^(-1/b). Gaussian: terms from t on fall at least as fast as e^(-(2t+1)/(2σ²)) from one to the
    /// next, so that they add up to at most e^(-t²/(2σ²))/(1 - e^(-(2t+1)/(2σ²))).
    fn of_one(&self, threshold: i128) -> BigUint {
        let t = BigUint::from(threshold.saturating_sub(1).unsigned_abs());
        let (sum, norm) = match self {
            Self::Laplace { t: b, s, norm } => (exp_neg(&(t * s), b).1, norm),
            Self::Gaussian { n, d, norm } => {
                let (_, first) = exp_neg(&(&t * &t * d), n);
                let (_, ratio) = exp_neg(&((t * 2u8 + 1u8) * d), n);
                let rest = one() - ratio.min(one());
                if rest.is_zero() {
                    return one();
                }
                (div_ceil(first << PRECISION, &rest), norm)
            }
        };
        div_ceil(sum << PRECISION, norm).min(one())
    }

    /// Probability, in units of 2^-96 and rounded up, that any of l0 groups of one unit each is kept: 1-(1-p)^l0.
    fn leak(&self, l0: u32, threshold: i128) -> BigUint {
        let any = any_of_up(&self.of_one(threshold), l0);
        div_ceil(any, &(BigUint::from(1u8) << (PRECISION - u64::from(DELTA_BITS))))
    }
}

/// 1 - (1-p)^`times` from above, p and the result in units of 2^-256.
pub(super) fn any_of_up(p: &BigUint, times: u32) -> BigUint {
    // (1-p)^times, rounded down at every step.
    let (mut power, mut base, mut exponent) = (one(), one() - p.min(&one()), times);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = (power * &base) >> PRECISION;
        }
        base = (&base * &base) >> PRECISION;
        exponent /= 2;
    }
    one() - power
}

/// The least number, at least `least`, that fits, where all above one that fits do; looked for near `start` first. None if
/// there is none.
pub(super) fn least_that_fits(start: i128, least: i128, fits: impl Fn(i128) -> bool) -> Option<i128> {
    let start = start.max(least);
    let (mut high, mut step) = (start, 1i128);
    // Nothing up to `low` fits, or is asked for.
    let mut low = least.checked_sub(1)?;
    if fits(start) {
        while high > least {
            let below = high.saturating_sub(step).max(least);
            if !fits(below) {
                low = below;
                break;
            }
            high = below;
            step = step.saturating_mul(2);
        }
    } else {
        low = start;
        loop {
            high = low.checked_add(step)?;
            if fits(high) {
                break;
            }
            low = high;
            step = step.saturating_mul(2);
        }
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

impl Selection {
    /// Selection by Laplace noise of scale `b` such that a unit which touches at most `l0` groups makes a group appear that
    /// nobody else is in with probability at most `delta` (2^-96 <= delta <= 1/2).
    ///
    /// The threshold is the least for which the probability, rounded up to a multiple of 2^-96, is at most `delta`;
    /// that rounded probability is the `delta` of the result.
    pub fn new(l0: u32, b: &Ratio, delta: &Ratio) -> Result<Self, DpError> {
        DiscreteLaplace::new(b)?;
        Self::with(l0, Distribution::Laplace { scale: *b }, delta, |delta| guess(l0, b, delta))
    }

    /// The same by Gaussian noise of parameter σ² = `variance`.
    ///
    /// Guarantee, for add/remove neighbours of which each unit is in at most l0 groups: outside of that event the selection is
    /// post-processing of the noisy numbers of units of the groups that both neighbours have, of which a unit changes l0 by 1:
    /// l0/(2σ²)-zCDP.
    pub fn gaussian(l0: u32, variance: &Ratio, delta: &Ratio) -> Result<Self, DpError> {
        let noise = DiscreteGaussian::new(variance)?;
        // 95 % lie within some two σ.
        let start = (3.0 * noise.error95()).min(1e30) as i128;
        Self::with(l0, Distribution::Gaussian { variance: *variance }, delta, |_| start)
    }

    fn with(
        l0: u32,
        noise: Distribution,
        delta: &Ratio,
        start: impl Fn(&Ratio) -> i128,
    ) -> Result<Self, DpError> {
        if l0 == 0 {
            return Err(DpError::NoGroups);
        }
        let tail = Tail::new(&noise).filter(|_| is_usual_delta(delta)).ok_or(DpError::SelectionDelta)?;
        let allowed = (BigUint::from(*delta.numer()) << DELTA_BITS) / BigUint::from(*delta.denom());
        let threshold = least_that_fits(start(delta), 1, |threshold| tail.leak(l0, threshold) <= allowed)
            .ok_or(DpError::OutOfRange("the selection threshold"))?;
        let delta = tail.leak(l0, threshold).to_u128().ok_or(DpError::SelectionDelta)?;
        Ok(Self { noise, threshold, delta: Ratio::new(delta, 1 << DELTA_BITS) })
    }

    /// What draws the noise on the number of units.
    pub fn sampler(&self) -> Result<Sampler, DpError> {
        Noise { linf: 1, distribution: self.noise }.sampler()
    }

    /// Whether a group of `units` units is kept with this noise, where groups need k = `minimum` units (1: no minimum). The
    /// minimum shifts the number of units (soundness rule 5): as a filter before the selection it would give a unit's
    /// presence away at the step from k-1 to k.
    pub fn keeps(&self, units: u64, minimum: u32, noise: i128) -> bool {
        let shifted = i128::from(units) - i128::from(minimum.saturating_sub(1));
        shifted.saturating_add(noise) >= self.threshold
    }

    /// Whether the threshold gives away no more than the stated δ to a unit in at most `l0` groups. What is asked
    /// again before anything is released.
    pub fn holds(&self, l0: u32) -> bool {
        let stated = BigUint::from(*self.delta.numer()) << DELTA_BITS;
        let Some(tail) = Tail::new(&self.noise).filter(|_| self.sampler().is_ok()) else { return false };
        self.threshold >= 1 && tail.leak(l0, self.threshold) * BigUint::from(*self.delta.denom()) <= stated
    }
}

/// A threshold near the right one, at least 1.
fn guess(l0: u32, b: &Ratio, delta: &Ratio) -> i128 {
    let float = |r: &Ratio| *r.numer() as f64 / *r.denom() as f64;
    let (b, delta) = (float(b), float(delta));
    let p = -libm::expm1(libm::log1p(-delta) / f64::from(l0));
    let q = libm::exp(-1.0 / b);
    let distance = -b * libm::log(p * (1.0 + q));
    // The cast turns NaN into 0.
    ((1.0 + libm::ceil(distance)).clamp(1.0, 1e38) as i128).max(1)
}

#[cfg(test)]
mod tests;
