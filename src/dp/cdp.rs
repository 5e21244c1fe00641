//! Zero-concentrated differential privacy (Bun and Steinke, "Concentrated Differential Privacy", 2016).
//!
//! A mechanism is ρ-zCDP when its Rényi divergence of every order α is at most ρ·α. ρ adds up under adaptive composition,
//! also when mechanisms are chosen from earlier answers (Feldman and Zrnic 2021). Arguments are taken as exact numbers.

use super::interval::{Interval, golden_section, largest};
use super::rdp;

/// The ρ of any ε-DP mechanism, rounded up: ε·tanh(ε/2) (Harrison and Manurangsi, "Exact zCDP Characterizations", 2026).
/// Randomised response, and so discrete Laplace noise at sensitivity 1, has no less.
pub fn of_pure(epsilon: f64) -> f64 {
    rdp::Curve::Pure { epsilon: epsilon.into() }.kl().hi()
}

/// The older ρ of any ε-DP mechanism, rounded up: ε²/2 (Bun and Steinke 2016, Proposition 1.4).
pub fn of_pure_loosely(epsilon: f64) -> f64 {
    (Interval::from(epsilon).square() / 2.0).hi()
}

/// ρ of *continuous* Laplace noise with Δ/b = ε, rounded up: ε + e^-ε - 1. Wrong for discrete noise (soundness rule 19), and
/// so no price of any mechanism here.
pub fn of_continuous_laplace(epsilon: f64) -> f64 {
    rdp::Curve::ContinuousLaplace { epsilon: epsilon.into() }.kl().hi()
}

/// ε of ρ-zCDP at δ, rounded up: ρ + 2√(ρ ln(1/δ)) (Bun and Steinke 2016, Proposition 1.3).
pub fn epsilon_loosely(rho: f64, delta: f64) -> f64 {
    let rho = Interval::from(rho);
    (rho + (rho * -Interval::from(delta).ln()).sqrt() * 2.0).hi()
}

/// ε of ρ-zCDP at δ, rounded up (Canonne, Kamath and Steinke 2020, Corollary 13). Each order gives a valid ε, so the search
/// for the best need not be trusted.
pub fn epsilon(rho: f64, delta: f64) -> f64 {
    best(|order| rdp::epsilon(order, Interval::from(rho) * order, delta))
}

/// δ of ρ-zCDP at ε, rounded up: the least over orders α of e^((α-1)(αρ-ε))/(α-1)·(1-1/α)^α (Canonne, Kamath and Steinke
/// 2020, Corollary 13).
pub fn delta(rho: f64, epsilon: f64) -> f64 {
    let ln = best(|order| rdp::ln_delta(order, Interval::from(rho) * order, epsilon).hi());
    Interval::from(ln).exp().hi().min(1.0)
}

/// The largest ρ that implies (ε, δ)-DP, rounded down; 0 if there is none.
pub fn rho(epsilon: f64, delta: f64) -> f64 {
    largest(|rho| self::delta(rho, epsilon) <= delta).unwrap_or(0.0)
}

/// The least value of a function of the order that falls and then rises in ln(α - 1).
fn best(f: impl Fn(f64) -> f64) -> f64 {
    golden_section(|log| f(1.0 + libm::exp(log)), (-30.0, 30.0), 80).1
}

#[cfg(test)]
mod tests;
