//! Threshold selection of private groups.
//!
//! A group is released only if its number of distinct units (after the l0 bound) plus discrete noise reaches a threshold T.
//! Wilson et al., "Differentially Private SQL with Bounded User Contribution" (2020), section 5, with the discrete tail in
//! place of the continuous one: of Laplace noise, or of Gaussian noise, which is in proportion to √l0 and not to l0.
//!
//! Where keys are all that is asked for, units weigh less the more groups they are in, so that all of a unit's weights together
//! have the norm of one (Gopi et al., "Differentially Private Set Union", 2020, sections 3 and 5), and the threshold holds for
//! a unit in any number of groups up to l0.

use super::certified::is_usual_delta;
use super::exp::{PRECISION, div_ceil, exp_neg, one};
use super::spec::{Selection, Weights};
use super::{Distribution, DpError, Noise, Ratio, Sampler};
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

    /// P(X >= t), in units of 2^-256 and rounded up.
    ///
    /// Laplace: q^t/(1+q), q = e^(-1/b). Gaussian: terms from t on fall at least as fast as e^(-(2t+1)/(2σ²)) from one to the
    /// next, so that they add up to at most e^(-t²/(2σ²))/(1 - e^(-(2t+1)/(2σ²))).
    fn from(&self, t: u128) -> BigUint {
        let t = BigUint::from(t);
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

    /// Probability, in units of 2^-96 and rounded up, that any of the groups is kept of a unit that is alone in all of them and
    /// has so many at most: 1-(1-p)^s with p = P(X >= T-w), for each number s of groups and the weight w of each; at most
    /// what `enough` says where that is enough to know.
    fn leak(&self, numbers: &[Groups], threshold: i128, enough: &BigUint) -> BigUint {
        let mut most = BigUint::zero();
        for n in numbers {
            // What is not above a unit's weight keeps it half of the time.
            let Ok(t) = u128::try_from(threshold.saturating_sub(n.weight)) else {
                return BigUint::from(1u8) << DELTA_BITS;
            };
            let any = any_of_up(&self.from(t), n.last);
            most = most.max(div_ceil(any, &(BigUint::from(1u8) << (PRECISION - u64::from(DELTA_BITS)))));
            if most > *enough {
                break;
            }
        }
        most
    }
}

/// Numbers of groups that are looked at together: a unit in any of them weighs no more in each, and has no more of them.
struct Groups {
    weight: i128,
    last: u32,
}

/// All numbers of groups up to l0. From 16 on several are taken together, of which the largest is a sixteenth above the least.
fn numbers(weights: Weights, l0: u32) -> Vec<Groups> {
    if weights == Weights::Units {
        return vec![Groups { weight: 1, last: l0 }];
    }
    let mut out = Vec::new();
    let mut first = 1u32;
    loop {
        let last = first.saturating_add(first / 16).min(l0);
        // A u32 at most.
        out.push(Groups { weight: weights.in_each(first) as i128, last });
        match last.checked_add(1).filter(|next| *next <= l0) {
            Some(next) => first = next,
            None => return out,
        }
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
        Self::of(l0, Weights::Units, Distribution::Laplace { scale: *b }, delta)
    }

    /// The same by Gaussian noise of parameter σ² = `variance`.
    ///
    /// Guarantee, for add/remove neighbours of which each unit is in at most l0 groups: outside of that event the selection is
    /// post-processing of the noisy numbers of units of the groups that both neighbours have, of which a unit changes l0 by 1:
    /// l0/(2σ²)-zCDP.
    pub fn gaussian(l0: u32, variance: &Ratio, delta: &Ratio) -> Result<Self, DpError> {
        Self::of(l0, Weights::Units, Distribution::Gaussian { variance: *variance }, delta)
    }

    /// The same for any weights and the noise that they are for: of a sum Laplace noise, of squares Gaussian noise.
    ///
    /// Guarantee, for add/remove neighbours of which each unit is in at most l0 groups and weighs what `weights` says in each:
    /// outside of an event of the stated δ the selection is post-processing of the noisy numbers of the groups that both
    /// neighbours have, of which a unit changes no more than w in l₁ norm (of Gaussian noise, in l₂ norm), whatever others are in.
    pub fn of(l0: u32, weights: Weights, noise: Distribution, delta: &Ratio) -> Result<Self, DpError> {
        if l0 == 0 {
            return Err(DpError::NoGroups);
        }
        Noise::new(weights.sensitivity(l0), noise).sampler()?;
        if !are_for(weights, &noise) {
            return Err(DpError::OutOfRange("the weights of a selection"));
        }
        let tail = Tail::new(&noise).filter(|_| is_usual_delta(delta)).ok_or(DpError::SelectionDelta)?;
        let allowed = (BigUint::from(*delta.numer()) << DELTA_BITS) / BigUint::from(*delta.denom());
        // Thousandths of a whole weight are fine enough.
        let step = i128::try_from(weights.whole() / 1_000).unwrap_or(i128::MAX).max(1);
        let least = i128::try_from(weights.whole()).map_err(|_| DpError::SelectionDelta)?;
        let numbers = worst_first(numbers(weights, l0), &noise, delta);
        let start = numbers.first().map_or(0.0, |(start, _)| *start);
        let numbers: Vec<Groups> = numbers.into_iter().map(|(_, n)| n).collect();
        let at = |n: i128| n.saturating_mul(step).saturating_add(least);
        // The cast turns NaN into 0.
        let start = ((start.min(1e38) as i128).saturating_sub(least) / step).saturating_add(1);
        let fits = |n| tail.leak(&numbers, at(n), &allowed) <= allowed;
        let threshold = least_that_fits(start, 0, fits).map(at).filter(|t| *t < i128::MAX);
        let threshold = threshold.ok_or(DpError::OutOfRange("the selection threshold"))?;
        let delta = tail.leak(&numbers, threshold, &allowed).to_u128().ok_or(DpError::SelectionDelta)?;
        Ok(Self { weights, noise, threshold, delta: Ratio::new(delta, 1 << DELTA_BITS) })
    }

    /// Sampler of the noise on the weights of a group's units.
    pub fn sampler(&self) -> Result<Sampler, DpError> {
        Noise::new(self.weights.sensitivity(1), self.noise).sampler()
    }

    /// Number of units that a group needs at least, without noise, of units that are in no other
    /// group.
    pub fn units(&self) -> i128 {
        let whole = i128::try_from(self.weights.whole()).unwrap_or(i128::MAX).max(1);
        self.threshold / whole + i128::from(self.threshold % whole > 0)
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
        let leak = || tail.leak(&numbers(self.weights, l0), self.threshold, &one());
        l0 > 0
            && are_for(self.weights, &self.noise)
            && self.threshold >= 1
            && leak() * BigUint::from(*self.delta.denom()) <= stated
    }
}

/// Whether the norm of a unit's weights is the one by which this noise protects.
fn are_for(weights: Weights, noise: &Distribution) -> bool {
    match weights {
        Weights::Units => true,
        Weights::Sum(w) => w > 0 && matches!(noise, Distribution::Laplace { .. }),
        Weights::Squares(w) => w > 0 && matches!(noise, Distribution::Gaussian { .. }),
    }
}

/// About which threshold each number of groups needs, the highest first.
fn worst_first(numbers: Vec<Groups>, noise: &Distribution, delta: &Ratio) -> Vec<(f64, Groups)> {
    let float = |r: &Ratio| *r.numer() as f64 / *r.denom() as f64;
    let needed = |n: &Groups| {
        let p = -libm::expm1(libm::log1p(-float(delta)) / f64::from(n.last));
        n.weight as f64
            + match noise {
                Distribution::None => 0.0,
                Distribution::Laplace { scale } => {
                    let b = float(scale);
                    -b * libm::log(p * (1.0 + libm::exp(-1.0 / b)))
                }
                Distribution::Gaussian { variance } => float(variance).sqrt() * above(p),
            }
    };
    let mut out: Vec<(f64, Groups)> = numbers.into_iter().map(|n| (needed(&n), n)).collect();
    out.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    out
}

/// The deviations that a normal number is above with a probability of about `p`, by the bound φ(x)/x.
fn above(p: f64) -> f64 {
    let bound = |x: f64| libm::exp(-x * x / 2.0) / (x * (2.0 * std::f64::consts::PI).sqrt());
    let (mut low, mut high) = (0.1f64, 60.0f64);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if bound(middle) > p { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests;
