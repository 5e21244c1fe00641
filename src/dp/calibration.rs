//! How much Gaussian noise a guarantee needs: from ρ, from μ, and from (ε, δ).
//!
//! A release is a vector of integers of which one unit changes the Euclidean norm by at most Δ₂ (add/remove neighbours);
//! Δ₂² is rational where Δ₂ is not: with l0 groups and Δᵢ in each, Δ₂² = l0·ΣΔᵢ². Results are rounded up in the scale of
//! the noise, by integer arithmetic that certifies the guarantee; floats only say where to look.

use super::certified::{
    from_float, is_usual_delta, ln_inverse_up, narrow, normal_tail, round_up, sqrt_up, to_float,
};
use super::exp::{div_ceil, exp_neg_to};
use super::spec::{BigRatio, exact};
use super::{DpError, Ratio};
use num_bigint::BigUint;
use num_traits::{One, Zero};

/// ε beyond which nothing is calibrated: it would promise nothing.
const MAX_EPSILON: u128 = 512;

fn positive(r: &Ratio) -> bool {
    *r.numer() != 0 && *r.denom() != 0
}

/// Bits of Δ₂²'s terms: enough for 2^32 groups of the largest integers, and few enough to calculate with.
fn usable(square: &BigRatio) -> Result<(), DpError> {
    if square.numer().is_zero() || square.numer().bits() > 512 || square.denom().bits() > 512 {
        return Err(DpError::OutOfRange("a sensitivity"));
    }
    Ok(())
}

fn fit(r: &BigRatio) -> Result<Ratio, DpError> {
    narrow(r).ok_or(DpError::OutOfRange("a noise scale"))
}

/// The σ² at which discrete or rounded Gaussian noise is ρ-zCDP: Δ₂²/(2ρ), exactly.
///
/// Bun and Steinke, "Concentrated Differential Privacy" (2016), Proposition 1.6; for the discrete Gaussian Canonne, Kamath
/// and Steinke (2020), Theorem 4 and 14. `square` is Δ₂² > 0, and `rho` > 0.
pub fn variance_for_rho(square: &BigRatio, rho: &Ratio) -> Result<Ratio, DpError> {
    usable(square)?;
    if !positive(rho) {
        return Err(DpError::Budget("rho must be greater than zero"));
    }
    fit(&(square / (exact(rho) * BigUint::from(2u8))))
}

/// A σ at which rounded Gaussian noise is μ-GDP: Δ₂/μ, rounded up.
///
/// Dong, Roth and Su, "Gaussian Differential Privacy" (2022), Theorem 2.7; rounding is post-processing. Not for the
/// discrete Gaussian (soundness rule 21). `square` is Δ₂² > 0, and `mu` > 0.
pub fn sigma_for_mu(square: &BigRatio, mu: &Ratio) -> Result<Ratio, DpError> {
    usable(square)?;
    if !positive(mu) {
        return Err(DpError::Budget("mu must be greater than zero"));
    }
    let mu = exact(mu);
    fit(&sqrt_up(&(square / (&mu * &mu))))
}

/// A σ at which rounded Gaussian noise is (ε, δ)-DP: the least there is, but for a relative 2^-36 on the safe side.
///
/// Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy: Analytical Calibration and Optimal
/// Denoising" (2018), Theorem 8: N(0, σ²) is (ε, δ)-DP if and only if
/// Φ(Δ₂/(2σ) - εσ/Δ₂) - e^ε·Φ(-Δ₂/(2σ) - εσ/Δ₂) <= δ. Rounding is post-processing. Not for the discrete Gaussian
/// (soundness rule 21).
///
/// `square` is Δ₂² > 0; 0 < ε <= 512; 2^-96 <= δ <= 1/2.
pub fn sigma_for_epsilon_delta(square: &BigRatio, epsilon: &Ratio, delta: &Ratio) -> Result<Ratio, DpError> {
    usable(square)?;
    check(epsilon, delta)?;
    let fits = |sigma: &BigRatio| holds(square, sigma, epsilon, delta);
    // Around the guess: `high` fits, `low` does not, and they are a relative 2^-36 apart.
    let guess = guess(square, epsilon, delta).ok_or(DpError::OutOfRange("a noise scale"))?;
    let unit = BigRatio::new(guess.numer().clone(), guess.denom() << 37u8);
    let (mut low, mut high, mut step) = (guess.clone(), guess, unit.clone());
    while !fits(&high) {
        low = high.clone();
        high += &step;
        step *= BigUint::from(2u8);
    }
    step = unit.clone();
    // σ -> 0 never fits.
    while fits(&low) {
        high = low.clone();
        low = if low > step { low - &step } else { low / BigUint::from(2u8) };
        step *= BigUint::from(2u8);
    }
    while &high - &low > unit {
        let middle = (&high + &low) / BigUint::from(2u8);
        if fits(&middle) { high = middle } else { low = middle }
    }
    fit(&round_up(&high))
}

/// Δ₂·√(2·ln(1.25/δ))/ε: the classical formula (Dwork and Roth 2014, Theorem 3.22 and Appendix A), to show what it costs.
/// Nothing is ever calibrated by it.
///
/// Its proof needs ε <= 1, and above it is wrong: it is refused there.
pub fn classical_sigma(square: &BigRatio, epsilon: &Ratio, delta: &Ratio) -> Result<Ratio, DpError> {
    usable(square)?;
    check(epsilon, delta)?;
    if *epsilon > Ratio::from_integer(1) {
        return Err(DpError::Budget("the classical Gaussian formula is not valid for epsilon above 1"));
    }
    let ln = ln_inverse_up(&(exact(delta) / BigRatio::new(5u8.into(), 4u8.into())));
    let ln = ln.ok_or(DpError::SelectionDelta)?;
    let epsilon = exact(epsilon);
    fit(&sqrt_up(&(square * ln * BigUint::from(2u8) / (&epsilon * &epsilon))))
}

/// Whether Gaussian noise of standard deviation `sigma` is (ε, δ)-DP at Δ₂² = `square`: certified, so that false may also
/// mean that it is too close to tell.
pub fn is_private(square: &BigRatio, sigma: &Ratio, epsilon: &Ratio, delta: &Ratio) -> Result<bool, DpError> {
    usable(square)?;
    check(epsilon, delta)?;
    if !positive(sigma) {
        return Ok(false);
    }
    Ok(holds(square, &exact(sigma), epsilon, delta))
}

fn check(epsilon: &Ratio, delta: &Ratio) -> Result<(), DpError> {
    if !positive(epsilon) || *epsilon > Ratio::from_integer(MAX_EPSILON) {
        return Err(DpError::Epsilon);
    }
    if !is_usual_delta(delta) {
        return Err(DpError::Budget("delta of Gaussian noise must be between 2^-96 and 1/2"));
    }
    Ok(())
}

/// The condition of Theorem 8, with every bound on the safe side. δ(μ) rises with μ = Δ₂/σ, which is rounded up.
fn holds(square: &BigRatio, sigma: &BigRatio, epsilon: &Ratio, delta: &Ratio) -> bool {
    let mu = sqrt_up(&(square / (sigma * sigma)));
    let epsilon = exact(epsilon);
    // Φ(-a) - e^ε·Φ(-b) with a = ε/μ - μ/2, b = ε/μ + μ/2.
    let (shift, half) = (&epsilon / &mu, &mu / BigUint::from(2u8));
    let b = &shift + &half;
    // δ >= 2^-96, and e^ε < 2^(3ε/2).
    let whole = div_ceil(epsilon.numer().clone(), epsilon.denom());
    let precision = 192 + 2 * u64::try_from(whole).unwrap_or(u64::MAX).min(1024);
    let one = BigUint::one() << precision;
    let first = if shift >= half {
        let a = &shift - &half;
        normal_tail(a.numer(), a.denom(), precision).1
    } else {
        let a = &half - &shift;
        &one - normal_tail(a.numer(), a.denom(), precision).0
    };
    let (tail, _) = normal_tail(b.numer(), b.denom(), precision);
    // e^ε·Φ(-b) from below: a quotient by e^-ε from above.
    let (_, inverse) = exp_neg_to(epsilon.numer(), epsilon.denom(), precision);
    let second = (tail << precision) / inverse;
    let spent = if first > second { first - second } else { BigUint::zero() };
    spent * *delta.denom() <= BigUint::from(*delta.numer()) << precision
}

/// σ by the same condition in floats.
fn guess(square: &BigRatio, epsilon: &Ratio, delta: &Ratio) -> Option<BigRatio> {
    let (epsilon, delta) = (to_float(&exact(epsilon)), to_float(&exact(delta)));
    let tail = |x: f64| libm::erfc(x / std::f64::consts::SQRT_2) / 2.0;
    let spent = |mu: f64| tail(epsilon / mu - mu / 2.0) - libm::exp(epsilon) * tail(epsilon / mu + mu / 2.0);
    let (mut low, mut high) = (-80.0f64, 8.0f64); // log2(μ)
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if spent(libm::exp2(middle)) <= delta { low = middle } else { high = middle }
    }
    from_float(to_float(square).sqrt() / libm::exp2(low))
}

#[cfg(test)]
mod tests;
