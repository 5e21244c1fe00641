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
const DELTA_BITS: u32 = 96;

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
        // (1-p)^l0, rounded down at every step.
        let (mut power, mut base, mut exponent) = (one(), one() - p, self.l0);
        while exponent > 0 {
            if exponent % 2 == 1 {
                power = (power * &base) >> PRECISION;
            }
            base = (&base * &base) >> PRECISION;
            exponent /= 2;
        }
        div_ceil(one() - power, &(BigUint::from(1u8) << (PRECISION - u64::from(DELTA_BITS))))
    }
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
        let fits = |threshold: i128| tail.leak(threshold) <= allowed;
        // A float says where to look first; from there on `high` fits and `low` does not (0 is never allowed).
        let start = guess(l0, b, delta);
        let (mut low, mut high, mut step) = (start, start, 1i128);
        if fits(start) {
            low = 0;
            while high > 1 {
                let below = high.saturating_sub(step).max(1);
                if !fits(below) {
                    low = below;
                    break;
                }
                high = below;
                step = step.saturating_mul(2);
            }
        } else {
            loop {
                high = low.checked_add(step).ok_or(DpError::OutOfRange("the selection threshold"))?;
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
        let delta = tail.leak(high).to_u128().ok_or(DpError::SelectionDelta)?;
        Ok(Self { scale: *b, threshold: high, delta: Ratio::new(delta, 1 << DELTA_BITS) })
    }

    /// What draws the noise on the number of units.
    pub fn sampler(&self) -> Result<Sampler, DpError> {
        Ok(Sampler::Laplace(DiscreteLaplace::new(&self.scale)?))
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
