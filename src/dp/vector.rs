//! Laplace and Gaussian mechanisms for vectors of aggregates, by their joint sensitivity.
//!
//! A release is a matrix: groups by aggregates. One unit touches at most l0 groups and changes aggregate i by at most Δᵢ
//! in each, so the whole by Δ₁ = l0·ΣΔᵢ in the sum of absolute values and by Δ₂ = √(l0·ΣΔᵢ²) in the Euclidean norm. All
//! noise has one scale, from one of these. (A release of [`super::Spec`] divides ε over the aggregates instead, so that
//! each has noise in proportion to its own Δᵢ.)

use super::calibration::{sigma_for_epsilon_delta, sigma_for_mu, variance_for_rho};
use super::certified::narrow;
use super::guarantee::Guarantee;
use super::spec::{BigRatio, exact};
use super::{DiscreteGaussian, DiscreteLaplace, DpError, Entropy, EntropyError, Ratio, RoundedGaussian};
use num_bigint::BigUint;

/// What one unit (add/remove neighbours) can change of a matrix of integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joint {
    l0: u32,
    linf: Vec<u128>,
}

impl Joint {
    /// At most `l0` >= 1 rows, and at most `linf[i]` in column i of each. Not all of them may be 0.
    pub fn new(l0: u32, linf: Vec<u128>) -> Result<Self, DpError> {
        if l0 == 0 {
            return Err(DpError::NoGroups);
        }
        if linf.iter().all(|l| *l == 0) {
            return Err(DpError::OutOfRange("nothing that a unit can change"));
        }
        Ok(Self { l0, linf })
    }

    /// Δ₁ = l0·ΣΔᵢ.
    pub fn l1(&self) -> BigUint {
        self.linf.iter().map(|l| BigUint::from(*l)).sum::<BigUint>() * self.l0
    }

    /// Δ₂² = l0·ΣΔᵢ².
    pub fn l2_squared(&self) -> BigRatio {
        let squares = self.linf.iter().map(|l| BigUint::from(*l) * *l).sum::<BigUint>();
        BigRatio::from_integer(squares * self.l0)
    }

    /// The Laplace mechanism (Dwork and Roth 2014, Theorem 3.6, with discrete noise): scale Δ₁/ε everywhere.
    ///
    /// Guarantee: ε-DP. P(M(D) = y)/P(M(D′) = y) is the product of e^((|yᵢ-fᵢ(D′)| - |yᵢ-fᵢ(D)|)/b), at most e^(Δ₁/b).
    pub fn laplace(&self, epsilon: &Ratio) -> Result<VectorNoise, DpError> {
        if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        let scale = narrow(&(BigRatio::from_integer(self.l1()) / exact(epsilon)));
        let noise = DiscreteLaplace::new(&scale.ok_or(DpError::OutOfRange("a noise scale"))?)?;
        let guarantee = Guarantee::Pure { epsilon: *epsilon };
        Ok(VectorNoise { columns: self.linf.len(), noise: Additive::Laplace(noise), guarantee })
    }

    /// Discrete Gaussian noise of σ² = Δ₂²/(2ρ) everywhere.
    ///
    /// Guarantee: ρ-zCDP (Canonne, Kamath and Steinke 2020, Theorem 14).
    pub fn gaussian_for_rho(&self, rho: &Ratio) -> Result<VectorNoise, DpError> {
        let noise = DiscreteGaussian::new(&variance_for_rho(&self.l2_squared(), rho)?)?;
        let guarantee = Guarantee::Concentrated { rho: exact(rho) };
        Ok(VectorNoise { columns: self.linf.len(), noise: Additive::Gaussian(noise), guarantee })
    }

    /// Rounded Gaussian noise of σ = Δ₂/μ everywhere.
    ///
    /// Guarantee: μ-GDP (Dong, Roth and Su 2022, Theorem 2.7, and post-processing).
    pub fn gaussian_for_mu(&self, mu: &Ratio) -> Result<VectorNoise, DpError> {
        self.rounded(sigma_for_mu(&self.l2_squared(), mu)?)
    }

    /// Rounded Gaussian noise by the analytic calibration.
    ///
    /// Guarantee: (ε, δ)-DP (Balle and Wang 2018, Theorem 8, and post-processing), and μ-GDP with μ = Δ₂/σ, which is what
    /// the result states: it implies (ε, δ) and composes better.
    pub fn gaussian_for_epsilon_delta(&self, epsilon: &Ratio, delta: &Ratio) -> Result<VectorNoise, DpError> {
        self.rounded(sigma_for_epsilon_delta(&self.l2_squared(), epsilon, delta)?)
    }

    fn rounded(&self, sigma: Ratio) -> Result<VectorNoise, DpError> {
        let noise = RoundedGaussian::new(&sigma)?;
        let sigma = exact(&sigma);
        let guarantee = Guarantee::Gaussian { square: self.l2_squared() / (&sigma * &sigma) };
        Ok(VectorNoise { columns: self.linf.len(), noise: Additive::Rounded(noise), guarantee })
    }
}

/// Integer noise that is added to each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Additive {
    /// Discrete Laplace.
    Laplace(DiscreteLaplace),
    /// Discrete Gaussian.
    Gaussian(DiscreteGaussian),
    /// Rounded Gaussian.
    Rounded(RoundedGaussian),
}

/// A mechanism for matrices of one joint sensitivity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorNoise {
    columns: usize,
    noise: Additive,
    guarantee: Guarantee,
}

impl VectorNoise {
    /// The noise of every number.
    pub fn noise(&self) -> &Additive {
        &self.noise
    }

    /// What one release costs.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise of a release of so many rows, all at once and before their values are looked at.
    pub fn draw(&self, rows: usize, rng: &mut impl Entropy) -> Result<Draws, EntropyError> {
        let mut values = vec![0; rows.saturating_mul(self.columns)];
        match &self.noise {
            Additive::Laplace(noise) => noise.fill(&mut values, rng)?,
            Additive::Gaussian(noise) => noise.fill(&mut values, rng)?,
            Additive::Rounded(noise) => noise.fill(&mut values, rng)?,
        }
        Ok(Draws { values })
    }
}

/// Noise for one release. It is added once: it can neither be copied nor read.
///
/// ```compile_fail,E0382
/// # use noisegate_dp::{Ratio, SecureRng, vector::Joint};
/// let joint = Joint::new(1, vec![1]).unwrap();
/// let noise = joint.laplace(&Ratio::new(1, 10)).unwrap();
/// let draws = noise.draw(1, &mut SecureRng::new().unwrap()).unwrap();
/// draws.release(&[4]);
/// draws.release(&[5]); // the same noise again would give the difference away
/// ```
pub struct Draws {
    values: Vec<i128>,
}

impl Draws {
    /// The release of `exact` values, row by row; sums saturate at the ends of i128. None, and the noise is lost, where
    /// there are more or fewer values than draws.
    pub fn release(self, exact: &[i128]) -> Option<Vec<i128>> {
        (exact.len() == self.values.len())
            .then(|| exact.iter().zip(&self.values).map(|(x, noise)| x.saturating_add(*noise)).collect())
    }
}

#[cfg(test)]
mod tests;
