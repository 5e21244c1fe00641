//! The central limit theorem of privacy, for display and planning only: no price and no limit is computed from it.

use super::super::gdp;
use super::super::interval::Interval;
use super::function::TradeOff;
use super::functionals::Functionals;

/// The Gaussian that many answers together come near to, and how near: Dong, Roth and Su, Theorem 3.4, whose γ is the
/// Berry-Esseen bound with constant 0.56.
#[derive(Clone, Copy, Debug)]
pub struct Clt {
    /// μ = 2·Σkl/√(Σκ2 - Σkl²).
    pub mu: f64,
    /// γ = 0.56·Σκ̄3/(Σκ2 - Σkl²)^(3/2), from above.
    pub gamma: f64,
}

/// A statement of the theorem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Approximation {
    /// The true value lies between these two.
    Within(f64, f64),
    /// Nothing.
    Vacuous,
}

impl Clt {
    /// For answers, each with its number of uses. None where a functional is infinite or no answer says anything.
    pub fn of(uses: &[(TradeOff, u32)]) -> Option<Self> {
        let each: Vec<(Functionals, f64)> =
            uses.iter().map(|(f, n)| Some((f.functionals()?, f64::from(*n)))).collect::<Option<_>>()?;
        let total =
            |f: fn(&Functionals) -> Interval| -> Interval { each.iter().map(|(x, n)| f(x) * *n).sum() };
        let variance = total(|f| f.kappa2) - total(|f| f.kl.square());
        if variance.lo() <= 0.0 {
            return None;
        }
        let deviation = variance.sqrt();
        let mu = (total(|f| f.kl) * 2.0 / deviation).hi();
        let gamma = (total(|f| f.kappa3_bar) * 0.56 / (variance * deviation)).hi();
        Some(Self { mu, gamma })
    }

    /// Whether the theorem applies at all: γ < 1/2.
    pub fn applicable(&self) -> bool {
        self.gamma < 0.5
    }

    /// The trade-off function of all answers together: G_μ(α+γ) - γ <= f(α) <= G_μ(α-γ) + γ for α in [γ, 1-γ].
    pub fn at(&self, alpha: f64) -> Approximation {
        if !self.applicable() || !(self.gamma..=1.0 - self.gamma).contains(&alpha) {
            return Approximation::Vacuous;
        }
        let g = TradeOff::Gaussian { mu: self.mu };
        let low = g.at((alpha + self.gamma).min(1.0)).lo() - self.gamma;
        let high = g.at((alpha - self.gamma).max(0.0)).hi() + self.gamma;
        let (low, high) = (low.max(0.0), high.min(1.0 - alpha));
        if low <= 0.0 && high >= 1.0 - alpha {
            Approximation::Vacuous
        } else {
            Approximation::Within(low, high)
        }
    }

    /// δ(ε) of all answers together: by duality within δ of G_μ, plus and minus γ(1 + e^ε). Vacuous where that is all of
    /// [0, 1], or where the upper bound says no more than γ itself: never a statement about a δ of 10^-6.
    pub fn delta(&self, epsilon: f64) -> Approximation {
        if !self.applicable() {
            return Approximation::Vacuous;
        }
        let centre = gdp::delta(self.mu, epsilon);
        let slack = self.gamma * (1.0 + libm::exp(epsilon));
        if centre <= slack || centre + slack >= 1.0 {
            return Approximation::Vacuous;
        }
        Approximation::Within(centre - slack, centre + slack)
    }
}
