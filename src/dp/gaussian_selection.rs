//! Selection of private groups by a threshold with Gaussian noise: for units in many groups, where noise in proportion to
//! √l0 beats noise in proportion to l0.
//!
//! Wilson et al., "Differentially Private SQL with Bounded User Contribution" (2020), section 5, with Gaussian noise on
//! integers and the exact tail of it.

use super::certified::{DIGITS, is_usual_delta, normal_tail};
use super::exp::PRECISION;
use super::guarantee::Guarantee;
use super::selection::{DELTA_BITS, any_of_up, least_that_fits};
use super::spec::{BigRatio, exact, exact_integer};
use super::vector::Additive;
use super::{DiscreteGaussian, DpError, Entropy, EntropyError, Ratio, RoundedGaussian};
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};

/// Keeps a group of n units if n - (k-1) + X >= T, for Gaussian X of parameter σ on the integers.
///
/// Guarantee, for add/remove neighbours of which each unit is in at most l0 groups: outside of an event of probability δ
/// the selection is post-processing of the noisy numbers of units of the groups that both neighbours have, of which a
/// unit changes l0 by 1: l0/(2σ²)-zCDP with discrete noise, √l0/σ-GDP with rounded noise. The event is that a group is
/// kept that the unit alone is in: δ = 1 - (1-p)^l0, p = P(1 - (k-1) + X >= T).
///
/// The tail of both kinds of noise: P(X >= t) = P(Z >= (t-1/2)/σ) for the rounded Gaussian, by definition; for the
/// discrete Gaussian this is an upper bound where t - 1/2 >= σ, because e^(-x²/(2σ²)) is convex there, so that each term is
/// below its integral from x-1/2 to x+1/2, and the sum of all terms is at least √(2π)·σ (Poisson summation).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GaussianSelection {
    l0: u32,
    minimum: u32,
    noise: Additive,
    square: BigRatio,
    threshold: i128,
    delta: Ratio,
}

impl GaussianSelection {
    /// With discrete noise of parameter σ² = `variance`; the least threshold that keeps `delta` (2^-96 to 1/2), of those
    /// where the tail's bound holds. k = `minimum` is 1 or more.
    pub fn discrete(l0: u32, variance: &Ratio, delta: &Ratio, minimum: u32) -> Result<Self, DpError> {
        let noise = Additive::Gaussian(DiscreteGaussian::new(variance)?);
        Self::new(l0, noise, exact(variance), delta, minimum)
    }

    /// With rounded noise of standard deviation `sigma` before rounding.
    pub fn rounded(l0: u32, sigma: &Ratio, delta: &Ratio, minimum: u32) -> Result<Self, DpError> {
        let noise = Additive::Rounded(RoundedGaussian::new(sigma)?);
        Self::new(l0, noise, exact(sigma) * exact(sigma), delta, minimum)
    }

    fn new(
        l0: u32,
        noise: Additive,
        variance: BigRatio,
        delta: &Ratio,
        minimum: u32,
    ) -> Result<Self, DpError> {
        if l0 == 0 {
            return Err(DpError::NoGroups);
        }
        if !is_usual_delta(delta) {
            return Err(DpError::SelectionDelta);
        }
        if minimum == 0 {
            return Err(DpError::OutOfRange("the least number of units is 1 or more"));
        }
        let allowed = (BigUint::from(*delta.numer()) << DELTA_BITS) / BigUint::from(*delta.denom());
        let sigma = super::certified::to_float(&variance).sqrt();
        // t = T - 1 is at least σ + 1/2.
        let least = sigma_ceil(&variance).ok_or(DpError::OutOfRange("a noise variance"))?;
        let at = |threshold: i128| leak(l0, &variance, threshold);
        let guess = least.saturating_add((sigma * 6.0).min(1e30) as i128);
        let threshold = least_that_fits(guess, least, |t| at(t) <= allowed)
            .ok_or(DpError::OutOfRange("the selection threshold"))?;
        let spent = at(threshold).to_u128().ok_or(DpError::SelectionDelta)?;
        // With a minimum the group of one unit is k-1 further from the threshold.
        let spent = match i128::from(minimum - 1) {
            0 => spent,
            more => at(threshold.saturating_add(more)).to_u128().unwrap_or(spent),
        };
        let delta = Ratio::new(spent, 1 << DELTA_BITS);
        Ok(Self { l0, minimum, noise, square: variance, threshold, delta })
    }

    /// The noise of every group's number of units.
    pub fn noise(&self) -> &Additive {
        &self.noise
    }

    /// T.
    pub fn threshold(&self) -> i128 {
        self.threshold
    }

    /// δ, rounded up: it adds up apart from the guarantee of the noise.
    pub fn delta(&self) -> &Ratio {
        &self.delta
    }

    /// What the noise costs, beside δ.
    pub fn guarantee(&self) -> Guarantee {
        let square = exact_integer(self.l0) / &self.square;
        match self.noise {
            Additive::Gaussian(_) => Guarantee::Concentrated { rho: square / BigUint::from(2u8) },
            _ => Guarantee::Gaussian { square },
        }
    }

    /// Noise for a batch of groups, before their numbers of units are looked at.
    pub fn draw(&self, groups: usize, rng: &mut impl Entropy) -> Result<Vec<i128>, EntropyError> {
        let mut out = vec![0; groups];
        match &self.noise {
            Additive::Gaussian(noise) => noise.fill(&mut out, rng)?,
            Additive::Rounded(noise) => noise.fill(&mut out, rng)?,
            Additive::Laplace(noise) => noise.fill(&mut out, rng)?,
        }
        Ok(out)
    }

    /// Whether a group of `units` units is kept with this noise: the minimum shifts, it does not filter (soundness rule 5).
    pub fn keeps(&self, units: u64, noise: i128) -> bool {
        let shifted = i128::from(units) - i128::from(self.minimum - 1);
        shifted.saturating_add(noise) >= self.threshold
    }
}

/// The least integer T with T - 1 >= σ + 1/2.
fn sigma_ceil(variance: &BigRatio) -> Option<i128> {
    let floor = (variance.numer() / variance.denom()).sqrt();
    // floor(σ) + 1 > σ, so T = floor(σ) + 3 is enough, and at most one too many.
    (floor + 3u8).to_i128()
}

/// δ at a threshold, in units of 2^-96 and rounded up. `threshold` - 3/2 >= σ.
fn leak(l0: u32, variance: &BigRatio, threshold: i128) -> BigUint {
    // x = (2t-1)/(2σ) with t = T-1, from below.
    let twice = BigUint::from((threshold.saturating_mul(2) - 3).max(1).unsigned_abs());
    let square = BigRatio::from_integer(&twice * &twice) / (variance * BigUint::from(4u8));
    let digits = 2 * DIGITS;
    let floor = ((square.numer() << (2 * digits)) / square.denom()).sqrt();
    let (_, p) = normal_tail(&floor, &(BigUint::one() << digits), PRECISION);
    super::exp::shift_ceil(any_of_up(&p, l0), PRECISION - u64::from(DELTA_BITS))
}

#[cfg(test)]
mod tests;
