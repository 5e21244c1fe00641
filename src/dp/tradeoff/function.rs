//! A trade-off function, and what follows from its values.

use super::lines::{FUZZ, Lines};
use crate::gdp;
use crate::interval::Interval;
use crate::special::{normal, normal_quantile};

/// A trade-off function.
#[derive(Clone, Debug)]
pub enum TradeOff {
    /// G_μ: N(0, 1) against N(μ, 1).
    Gaussian {
        /// μ >= 0.
        mu: f64,
    },
    /// Continuous Laplace noise with Δ/b = ε.
    Laplace {
        /// ε >= 0.
        epsilon: f64,
    },
    /// The function of (ε, δ)-DP; at δ = 0 that of randomised response.
    Approximate {
        /// ε >= 0.
        epsilon: f64,
        /// 0 <= δ <= 1.
        delta: f64,
    },
    /// Straight lines between points.
    Lines(Lines),
    /// Groups of k units: 1 - (1 - f)^∘k.
    Group(Box<TradeOff>, u32),
}

/// Order of two functions: which is above the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The first is at least the second everywhere: at least as private.
    Above,
    /// The second is at least the first everywhere.
    Below,
    /// Functions that cross.
    Crossing,
    /// No difference was seen.
    Equal,
}

impl TradeOff {
    /// Of randomised response with ε, and so a lower bound for every ε-DP mechanism.
    pub fn randomised_response(epsilon: f64) -> Self {
        Self::Approximate { epsilon, delta: 0.0 }
    }

    /// From points (ε, δ(ε)) of a privacy profile with ε >= 0, for neighbours in either order: the supremum of the functions
    /// of (ε, δ)-DP (Dong, Roth and Su, Proposition 2.12). With δ from above, it is a lower bound.
    pub fn from_profile(points: &[(f64, f64)]) -> Self {
        Self::Lines(Lines::from_profile(points))
    }

    /// f(α), between bounds. Outside of [0, 1] nothing is known.
    pub fn at(&self, alpha: f64) -> Interval {
        if !(0.0..=1.0).contains(&alpha) {
            return Interval::new(0.0, 1.0);
        }
        let value = match self {
            // Φ(Φ⁻¹(1-α) - μ) = Φ(-Φ⁻¹(α) - μ).
            Self::Gaussian { mu } => match alpha {
                0.0 => Interval::from(1.0),
                1.0 => Interval::from(0.0),
                _ => normal(-normal_quantile(alpha) - *mu),
            },
            Self::Laplace { epsilon } => laplace(*epsilon, alpha),
            Self::Approximate { epsilon, delta } => approximate(*epsilon, *delta, alpha),
            Self::Lines(lines) => lines.at(alpha),
            Self::Group(base, k) => {
                // 1-f rises, so its ends give the ends.
                let power = |start: Interval| {
                    (0..*k).fold(start, |x, _| {
                        let at = base.at(x.lo()).hull(base.at(x.hi()));
                        (-at + 1.0).at_least(0.0).at_most(1.0)
                    })
                };
                -power(alpha.into()) + 1.0
            }
        };
        value.at_least(0.0).at_most(1.0)
    }

    /// f⁻¹(β) = inf{α: f(α) <= β}: the function of the two distributions in the other order.
    pub fn inverse(&self) -> Self {
        match self {
            Self::Lines(lines) => Self::Lines(lines.inverse()),
            // Symmetric as they are; 1-(1-f)^∘k of a symmetric f is symmetric too.
            Self::Group(base, k) => Self::Group(Box::new(base.inverse()), *k),
            _ => self.clone(),
        }
    }

    /// The function for groups of `k` units: 1 - (1 - f)^∘k (Dong, Roth and Su, Theorem 2.14); of a Gaussian, G_kμ.
    pub fn group(&self, k: u32) -> Self {
        match self {
            Self::Gaussian { mu } => Self::Gaussian { mu: gdp::group(*mu, k) },
            Self::Group(base, j) => Self::Group(base.clone(), j.saturating_mul(k)),
            _ => Self::Group(Box::new(self.clone()), k),
        }
    }

    /// The privacy profile, between bounds: the least δ for which f implies (ε, δ)-DP in this order, 1 + f*(-e^ε), that is
    /// sup over α of 1 - f(α) - e^ε·α (Dong, Roth and Su, Proposition 2.12).
    pub fn profile(&self, epsilon: f64) -> Interval {
        let e = Interval::from(epsilon).exp();
        let value = match self {
            Self::Gaussian { mu } => gdp::profile((*mu).into(), epsilon.into()),
            Self::Laplace { epsilon: e0 } => {
                if epsilon >= *e0 {
                    return Interval::from(0.0);
                }
                if epsilon <= -*e0 {
                    -e + 1.0
                } else {
                    // For ε < 0 as well: 1 - e^((ε-ε₀)/2).
                    -((Interval::from(epsilon) - *e0) / 2.0).exp_m1()
                }
            }
            Self::Approximate { epsilon: e0, delta } => {
                let rest = Interval::from(1.0) - *delta;
                let response = response(*e0, epsilon);
                rest * response + *delta
            }
            Self::Lines(lines) => lines.profile(e),
            Self::Group(..) => {
                // f falls: on a cell the supremum is below that of its ends taken apart.
                let grid = fine_grid();
                let upper = grid.windows(2).filter_map(|cell| match cell {
                    [left, right] => Some((-self.at(*right) + 1.0 - e * *left).hi()),
                    _ => None,
                });
                let lower = grid.iter().map(|&a| (-self.at(a) + 1.0 - e * a).lo());
                Interval::new(lower.fold(0.0, f64::max), upper.fold(0.0, f64::max))
            }
        };
        value.at_least(0.0).at_most(1.0)
    }

    /// The order of both by privacy, from their values at some thousand levels. Differences that
    /// floats may have made are none; a crossing between two neighbouring levels only is not seen.
    pub fn compare(&self, other: &Self) -> Order {
        let (mut above, mut below) = (false, false);
        for alpha in grid() {
            let (a, b) = (self.at(alpha), other.at(alpha));
            above |= a.lo() > b.hi() + FUZZ;
            below |= b.lo() > a.hi() + FUZZ;
        }
        match (above, below) {
            (true, true) => Order::Crossing,
            (true, false) => Order::Above,
            (false, true) => Order::Below,
            (false, false) => Order::Equal,
        }
    }

    /// The power of the best test at level α, 1 - f(α), from above: how often somebody who errs with probability α on absent
    /// units finds a present one.
    pub fn power(&self, alpha: f64) -> f64 {
        (-self.at(alpha) + 1.0).hi().clamp(0.0, 1.0)
    }
}

/// δ of randomised response with ε₀ at ε: (e^ε₀ - e^ε)/(1 + e^ε₀) between its losses.
fn response(epsilon: f64, at: f64) -> Interval {
    if at >= epsilon {
        return Interval::from(0.0);
    }
    let e = Interval::from(at).exp();
    if at <= -epsilon {
        return -e + 1.0;
    }
    let gap = Interval::from(at) - epsilon;
    -gap.exp_m1() / ((-Interval::from(epsilon)).exp() + 1.0)
}

/// Dong, Roth and Su, Proposition A.6: three pieces.
fn laplace(epsilon: f64, alpha: f64) -> Interval {
    let e = Interval::from(epsilon);
    let shrink = (-e).exp();
    let first = || -(e.exp() * alpha) + 1.0;
    let second = || shrink / (Interval::from(alpha) * 4.0);
    let third = || shrink * (Interval::from(1.0) - alpha);
    // Pieces meet, so at their border either is right.
    if Interval::from(alpha).hi() < (shrink / 2.0).lo() {
        first()
    } else if alpha <= 0.5 {
        if alpha > (shrink / 2.0).hi() { second() } else { first().hull(second()) }
    } else {
        third()
    }
}

/// Wasserman and Zhou (2010); Dong, Roth and Su, Proposition 2.5: max{0, 1 - δ - e^ε·α, e^-ε·(1 - δ - α)}.
fn approximate(epsilon: f64, delta: f64, alpha: f64) -> Interval {
    let (e, rest) = (Interval::from(epsilon), Interval::from(1.0) - delta);
    let steep = rest - e.exp() * alpha;
    let flat = (-e).exp() * (rest - alpha);
    steep.max(flat).max(Interval::from(0.0))
}

/// [`grid`] with its wide cells cut in 16.
fn fine_grid() -> Vec<f64> {
    let cut = |pair: &[f64]| match pair {
        [a, b] if b - a > 1e-3 => (0..16).map(|i| a + (b - a) * f64::from(i) / 16.0).collect(),
        [a, _] => vec![*a],
        _ => vec![],
    };
    grid().windows(2).flat_map(cut).chain(std::iter::once(1.0)).collect()
}

/// Levels α from 2^-60 to 1 - 2^-60 and the ends: close at both ends, where curves bend.
pub(super) fn grid() -> Vec<f64> {
    let tail = (0..=600).map(|i| libm::exp2(-60.0 + f64::from(i) / 10.0) / 2.0);
    let head: Vec<f64> = tail.collect();
    let mirrored = head.iter().rev().skip(1).map(|a| 1.0 - a);
    let mut all: Vec<f64> = std::iter::once(0.0).chain(head.iter().copied()).chain(mirrored).collect();
    all.push(1.0);
    all.dedup();
    all
}
