//! The noise of one aggregate: which distribution, how far it reaches, and its draws.

use super::{DiscreteGaussian, DiscreteLaplace, DpError, Entropy, EntropyError, Ratio, Sensitivity};

/// Integer noise for one aggregate, the same in every group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Change that one unit can make in this aggregate, in grid units.
    pub sensitivity: Sensitivity,
    /// Distribution of the noise.
    pub distribution: Distribution,
    /// Grid steps that are one of the released number: what is drawn is rounded to multiples of so many, and divided by them.
    pub steps: u32,
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
    /// Noise on numbers of one grid step each.
    pub fn new(sensitivity: Sensitivity, distribution: Distribution) -> Self {
        Self { sensitivity, distribution, steps: 1 }
    }

    /// Half the width of the interval that holds 95 % of the noise, in released numbers. For display,
    /// and to choose between distributions.
    pub fn error95(&self) -> f64 {
        match self.steps {
            0 | 1 => self.steps95(),
            steps => libm::ceil(self.steps95() / f64::from(steps)),
        }
    }

    /// The variance of the noise and its fourth cumulant, in released numbers. Rounding to numbers of
    /// several steps adds a variance of at most 1/12.
    pub fn cumulants(&self) -> (f64, f64) {
        let (variance, fourth) = self.distribution.cumulants();
        match self.steps {
            0 | 1 => (variance, fourth),
            steps => {
                let square = f64::from(steps) * f64::from(steps);
                (variance / square + 1.0 / 12.0, fourth / (square * square))
            }
        }
    }

    /// Change that one unit can make in one group, in released numbers, rounded up.
    pub fn linf(&self) -> u128 {
        self.sensitivity.linf.div_ceil(self.steps.max(1).into())
    }

    /// The released number of a sum of grid steps: the nearest.
    pub fn number(&self, steps: i128) -> i128 {
        match i128::from(self.steps) {
            0 | 1 => steps,
            one => steps.saturating_add(one / 2).div_euclid(one),
        }
    }

    /// The least w with P(|X| > w) <= 1/20, in grid steps.
    fn steps95(&self) -> f64 {
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

impl Distribution {
    /// The variance and the fourth cumulant, in grid steps.
    ///
    /// The discrete Laplace distribution P(x) ∝ q^|x| is that of the difference of two geometric
    /// variables, whose cumulants add up: with p = 1 - q the second is 2q/p², the fourth
    /// 2q(p² + 6q)/p⁴. The discrete Gaussian has at most the variance σ² (Canonne, Kamath and Steinke
    /// 2020, Corollary 9), and is as good as normal from σ = 1 on.
    pub fn cumulants(&self) -> (f64, f64) {
        let float = |x: &Ratio| *x.numer() as f64 / *x.denom() as f64;
        match self {
            Self::Laplace { scale } => {
                let q = libm::exp(-1.0 / float(scale));
                let p = -libm::expm1(-1.0 / float(scale));
                (2.0 * q / (p * p), 2.0 * q * (p * p + 6.0 * q) / (p * p * p * p))
            }
            Self::Gaussian { variance } => (float(variance), 0.0),
            Self::None => (0.0, 0.0),
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
