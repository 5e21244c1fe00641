//! Gaussian differential privacy (Dong, Roth and Su, "Gaussian Differential Privacy", 2019).
//!
//! A mechanism is μ-GDP when no test between two neighbours does better than the best test between N(0, 1) and N(μ, 1).
//! Real Gaussian noise of standard deviation σ on a vector whose neighbours are at most Δ₂ apart is μ-GDP with
//! μ = Δ₂/σ exactly; so is what is computed from it, such as its rounding. Arguments are taken as exact numbers.

use super::interval::{Interval, largest, least_positive};
use super::special::{density, mills, normal, normal_quantile};

/// The privacy profile of the Gaussian: the least δ for which μ-GDP implies (ε, δ)-DP, between bounds.
///
/// δ(ε) = Φ(μ/2 - ε/μ) - e^ε·Φ(-μ/2 - ε/μ) (Balle and Wang 2018, Theorem 8; Dong, Roth and Su, Corollary 2.13). Written
/// with Mills' ratio M it is φ(t)·(M(t) - M(t + μ)) at t = ε/μ - μ/2 >= 0, in which nothing overflows.
pub fn profile(mu: Interval, epsilon: Interval) -> Interval {
    if epsilon.hi() < 0.0 {
        // δ(-ε) of the other order of the neighbours.
        let shrink = epsilon.exp();
        return Interval::from(1.0) - shrink + shrink * profile(mu, -epsilon);
    }
    if mu.hi() <= 0.0 {
        return Interval::from(0.0);
    }
    if mu.lo() == mu.hi() && epsilon.lo() == epsilon.hi() {
        return profile_at(mu.lo(), epsilon.lo()).at_least(0.0).at_most(1.0);
    }
    // δ rises in μ and falls in ε.
    let low = match mu.lo() {
        mu if mu > 0.0 => profile_at(mu, epsilon.hi()).lo(),
        _ => 0.0,
    };
    Interval::new(low, profile_at(mu.hi(), epsilon.lo().max(0.0)).hi()).at_least(0.0).at_most(1.0)
}

fn profile_at(mu: f64, epsilon: f64) -> Interval {
    let (mu, epsilon) = (Interval::from(mu), Interval::from(epsilon));
    let (ratio, half) = (epsilon / mu, mu / 2.0);
    let near = ratio - half;
    if near.lo() >= 0.0 {
        density(near) * (mills(near) - mills(ratio + half)).at_least(0.0)
    } else {
        normal(-near) - density(near) * mills(ratio + half)
    }
}

/// δ of μ-GDP at ε >= 0, rounded up.
pub fn delta(mu: f64, epsilon: f64) -> f64 {
    profile(mu.into(), epsilon.into()).hi()
}

/// The ε >= 0 for which μ-GDP implies (ε, δ)-DP, rounded up: δ(ε) <= `delta` has been checked. Infinite if there is none
/// (δ = 0).
pub fn epsilon(mu: f64, delta: f64) -> f64 {
    if self::delta(mu, 0.0) <= delta {
        return 0.0;
    }
    least_positive(|e| self::delta(mu, e) <= delta).unwrap_or(f64::INFINITY)
}

/// The largest μ that implies (ε, δ)-DP, rounded down; 0 if there is none.
pub fn mu(epsilon: f64, delta: f64) -> f64 {
    largest(|mu| self::delta(mu, epsilon) <= delta).unwrap_or(0.0)
}

/// The analytic calibration of Gaussian noise (Balle and Wang 2018, Theorem 8 and Algorithm 1): the least σ for which real
/// Gaussian noise on a vector of l2-sensitivity `sensitivity` is (ε, δ)-DP under the neighbours of that sensitivity,
/// rounded up. Valid for every ε > 0 and 0 < δ < 1, which the classical √(2 ln(1.25/δ))·Δ/ε is not. None outside.
///
/// For noise on integers it holds where the noise is a true Gaussian rounded to the grid, and not for the discrete
/// Gaussian (soundness rule 21).
pub fn sigma(epsilon: f64, delta: f64, sensitivity: f64) -> Option<f64> {
    let sensible = epsilon > 0.0 && epsilon.is_finite() && delta > 0.0 && delta < 1.0 && sensitivity > 0.0;
    if !sensible {
        return None;
    }
    let fits = |sigma: f64| profile(Interval::from(sensitivity) / sigma, epsilon.into()).hi() <= delta;
    least_positive(fits)
}

/// μ of several μᵢ-GDP mechanisms on the same data: √Σμᵢ², rounded up. Exact for trade-off functions (Dong, Roth and Su,
/// Corollary 3.3); adaptively chosen μᵢ too, Smith and Thakurta 2022.
pub fn compose(mus: impl IntoIterator<Item = f64>) -> f64 {
    mus.into_iter().map(|mu| Interval::from(mu).square()).sum::<Interval>().sqrt().hi()
}

/// μ for groups of `k` units: kμ (Dong, Roth and Su, Theorem 2.14), rounded up.
pub fn group(mu: f64, k: u32) -> f64 {
    (Interval::from(mu) * f64::from(k)).hi()
}

/// The least μ for which every ε-DP mechanism is μ-GDP, rounded up: -2Φ⁻¹(1/(1+e^ε)).
///
/// The trade-off function of ε-DP is two lines that meet at α = 1/(1+e^ε); the convex G_μ runs through the same ends, so it
/// lies below them everywhere if it does there. For Laplace noise this costs a quarter of μ: prefer Rényi curves.
pub fn of_pure(epsilon: f64) -> f64 {
    let kink = Interval::from(1.0) / (Interval::from(epsilon).exp() + 1.0);
    (-normal_quantile(kink.lo()) * 2.0).hi().max(0.0)
}

#[cfg(test)]
mod tests;
