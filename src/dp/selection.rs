//! Threshold selection of private groups.
//!
//! A group is released only if its number of distinct units (after the l0 bound) plus discrete Laplace noise reaches
//! a threshold T. Wilson et al., "Differentially Private SQL with Bounded User Contribution" (2020), section 5, with
//! the discrete tail in place of the continuous one.

use super::exp::{PRECISION, div_ceil, exp_neg, one};
use super::spec::Selection;
use super::{DiscreteLaplace, DpError, Ratio, Sampler};
use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

/// δ of selection is counted in units of 2^-96, rounded up.
pub(super) const DELTA_BITS: u32 = 96;

/// The tail of one selection's noise.
struct Tail {
    l0: u32,
    /// b = t/s.
    t: BigUint,
    s: BigUint,
    /// 1 + e^(-1/b), from below.
    norm: BigUint,
}

impl Tail {
    fn new(l0: u32, b: &Ratio) -> Self {
        let (t, s) = (BigUint::from(*b.numer()), BigUint::from(*b.denom()));
        let (q, _) = exp_neg(&s, &t);
        Self { l0, t, s, norm: one() + q }
    }

    /// Probability, in units of 2^-96 and rounded up, that any of l0 groups of one unit each is kept at `threshold` (at
    /// least 1): 1-(1-p)^l0 with p = P(1 + X >= T) = q^(T-1)/(1+q), q = e^(-1/b).
    fn leak(&self, threshold: i128) -> BigUint {
        let distance = BigUint::from(threshold.saturating_sub(1).unsigned_abs());
        let (_, tail) = exp_neg(&(distance * &self.s), &self.t);
        let p = div_ceil(tail << PRECISION, &self.norm).min(one());
        div_ceil(any_of_up(&p, self.l0), &(BigUint::from(1u8) << (PRECISION - u64::from(DELTA_BITS))))
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
    /// Selection by noise of scale `b` such that a unit which touches at most `l0` groups makes a group appear that
    /// nobody else is in with probability at most `delta` (2^-96 <= delta <= 1/2).
    ///
    /// The threshold is the least for which the probability, rounded up to a multiple of 2^-96, is at most `delta`;
    /// that rounded probability is the `delta` of the result.
    pub fn new(l0: u32, b: &Ratio, delta: &Ratio) -> Result<Self, DpError> {
        DiscreteLaplace::new(b)?;
        if l0 == 0 {
            return Err(DpError::NoGroups);
        }
        if *delta.denom() == 0 || *delta > Ratio::new(1, 2) {
            return Err(DpError::SelectionDelta);
        }
        let allowed = (BigUint::from(*delta.numer()) << DELTA_BITS) / BigUint::from(*delta.denom());
        if allowed.is_zero() {
            return Err(DpError::SelectionDelta);
        }
        let tail = Tail::new(l0, b);
        // A float says where to look first.
        let high = least_that_fits(guess(l0, b, delta), 1, |threshold| tail.leak(threshold) <= allowed)
            .ok_or(DpError::OutOfRange("the selection threshold"))?;
        let delta = tail.leak(high).to_u128().ok_or(DpError::SelectionDelta)?;
        Ok(Self { scale: *b, threshold: high, delta: Ratio::new(delta, 1 << DELTA_BITS) })
    }

    /// What draws the noise on the number of units.
    pub fn sampler(&self) -> Result<Sampler, DpError> {
        Ok(Sampler::Laplace(DiscreteLaplace::new(&self.scale)?))
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
        self.threshold >= 1
            && DiscreteLaplace::new(&self.scale).is_ok()
            && Tail::new(l0, &self.scale).leak(self.threshold) * BigUint::from(*self.delta.denom()) <= stated
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
