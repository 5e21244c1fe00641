//! The discrete Laplace distribution, sampled exactly.
//!
//! Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020): Algorithm 1 is
//! Bernoulli(e^-γ), Algorithm 2 the discrete Laplace distribution. Integers only.

mod batch;
mod distribution;

use super::bernoulli::{Word, bernoulli_exp, uniform_below};
use super::{Entropy, EntropyError};
pub(super) use batch::Batch;
pub use distribution::DiscreteLaplace;

/// The draws of CKS20, Algorithm 2, before the division by s: U uniform below t and kept with probability e^(-U/t),
/// V geometric with ratio e^-1. Then U + tV is geometric with ratio e^(-1/t).
#[inline]
fn parts<W: Word>(t: W, rng: &mut impl Entropy) -> Result<(W, u64), EntropyError> {
    let u = loop {
        let u = uniform_below(t, rng)?;
        if bernoulli_exp(u, t, rng)? {
            break u;
        }
    };
    let mut v = 0u64;
    while bernoulli_exp(1u64, 1u64, rng)? {
        v += 1;
    }
    Ok((u, v))
}

impl DiscreteLaplace {
    /// From this number of draws on a batch pays for the tables that it needs.
    pub const BATCH: usize = 256;

    /// A draw.
    ///
    /// A magnitude of 2^127 or more would need V >= 2^31, which has probability e^(-2^31): it
    /// saturates.
    pub fn sample(&self, rng: &mut impl Entropy) -> Result<i128, EntropyError> {
        loop {
            let magnitude = self.magnitude(rng)?;
            let negative = rng.bits(1)? == 1;
            // Zero would otherwise be drawn twice as often as it should be.
            if negative && magnitude == 0 {
                continue;
            }
            let value = i128::try_from(magnitude).unwrap_or(i128::MAX);
            return Ok(if negative { -value } else { value });
        }
    }

    /// Independent draws into `out`. From [`Self::BATCH`] on they come by bit planes, several times faster.
    ///
    /// The time depends on what is drawn and on how many, never on what it is added to.
    pub fn fill(&self, out: &mut [i128], rng: &mut impl Entropy) -> Result<(), EntropyError> {
        if out.len() >= Self::BATCH {
            return Batch::new(self).fill(out, rng);
        }
        out.iter_mut().try_for_each(|place| self.sample(rng).map(|x| *place = x))
    }

    /// Independent draws into `out`, in a time that depends on their number and on b alone (but once in 2^120 draws).
    pub fn fill_in_constant_time(
        &self,
        out: &mut [i128],
        rng: &mut impl Entropy,
    ) -> Result<(), EntropyError> {
        Batch::in_constant_time(self).fill(out, rng)
    }

    /// Geometric with ratio e^(-1/b): floor((U + tV)/s).
    #[inline]
    fn magnitude(&self, rng: &mut impl Entropy) -> Result<u128, EntropyError> {
        if let (Ok(t), Ok(s)) = (u64::try_from(self.t), u64::try_from(self.s)) {
            let (u, v) = parts(t, rng)?;
            return Ok(match t.checked_mul(v).and_then(|tv| tv.checked_add(u)) {
                Some(x) => u128::from(x / s),
                // t·v + u <= (2^64-1)^2 + 2^64 - 1 fits 128 bits.
                None => (u128::from(t) * u128::from(v) + u128::from(u)) / u128::from(s),
            });
        }
        let (u, v) = parts(self.t, rng)?;
        let x = self.t.checked_mul(u128::from(v)).and_then(|tv| tv.checked_add(u)).unwrap_or(u128::MAX);
        Ok(x / self.s)
    }
}

#[cfg(test)]
mod tests;
