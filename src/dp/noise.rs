//! The noise of one aggregate: which distribution, how far it reaches, and its draws.

use super::{DiscreteGaussian, DiscreteLaplace, DpError, Entropy, EntropyError, Ratio, Sensitivity};

/// Integer noise for one aggregate, the same in every group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Change that one unit can make in this aggregate, in grid units.
    pub sensitivity: Sensitivity,
    /// Distribution of the noise.
    pub distribution: Distribution,
}

/// A distribution of integer noise, in grid units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// No noise: for a constant, which no unit can change.
    None,
    /// P(x) ∝ e^(-|x|/b).
    Laplace {
        /// b.
        scale: Ratio,
    },
    /// P(x) ∝ e^(-x²/(2σ²)).
    Gaussian {
        /// σ².
        variance: Ratio,
    },
}

impl Noise {
    /// Half the width of the interval that holds 95 % of the noise, in grid units: the least w with
    /// P(|X| > w) <= 1/20. For display, and to choose between distributions.
    pub fn error95(&self) -> f64 {
        match &self.distribution {
            Distribution::None => 0.0,
            Distribution::Laplace { scale } => {
                // P(|X| > w) = 2q^(w+1)/(1+q), q = e^(-1/b).
                let b = *scale.numer() as f64 / *scale.denom() as f64;
                if b.is_nan() || b <= 0.0 {
                    return 0.0;
                }
                let q = libm::exp(-1.0 / b);
                libm::ceil(b * libm::log(40.0 / (1.0 + q)) - 1.0).max(0.0)
            }
            Distribution::Gaussian { variance } => {
                DiscreteGaussian::new(variance).map_or(0.0, |g| g.error95())
            }
        }
    }

    /// The noise as something to draw from. An aggregate that a unit can change never goes without.
    pub fn sampler(&self) -> Result<Sampler, DpError> {
        match &self.distribution {
            _ if self.sensitivity.is_none() => Ok(Sampler::None),
            Distribution::None => Err(DpError::OutOfRange("an aggregate without noise")),
            Distribution::Laplace { scale } => Ok(Sampler::Laplace(DiscreteLaplace::new(scale)?)),
            Distribution::Gaussian { variance } => Ok(Sampler::Gaussian(DiscreteGaussian::new(variance)?)),
        }
    }
}

/// A sampler of the noise of one column.
pub enum Sampler {
    /// Zeros.
    None,
    /// Discrete Laplace.
    Laplace(DiscreteLaplace),
    /// Discrete Gaussian.
    Gaussian(DiscreteGaussian),
}

impl Sampler {
    /// `count` independent draws.
    pub fn draw(&self, count: usize, rng: &mut impl Entropy) -> Result<Vec<i128>, EntropyError> {
        match self {
            Self::None => Ok(vec![0; count]),
            Self::Laplace(noise) => {
                let mut out = vec![0; count];
                noise.fill(&mut out, rng)?;
                Ok(out)
            }
            Self::Gaussian(noise) => {
                let mut out = vec![0; count];
                noise.fill(&mut out, rng)?;
                Ok(out)
            }
        }
    }
}

#[cfg(test)]
mod tests;
