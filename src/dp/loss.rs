//! The privacy loss random variable of a pair of distributions with countably many outcomes, and its exact δ(ε).
//!
//! For the outcome o of M(D) the loss is L = ln(P[M(D) = o]/P[M(D′) = o]). The least δ for which the pair is
//! (ε, δ)-indistinguishable is E[(1 - e^(ε-L))₊], where infinite losses count in full (Balle, Barthe and Gaboardi 2018;
//! Canonne, Kamath and Steinke 2020, Lemma 9). It rises in the mass at every loss and when mass is moved to a larger
//! loss: rounding either up is safe.

use super::interval::{Interval, least_positive};

/// An outcome, or many outcomes of one loss.
#[derive(Clone, Copy, Debug)]
pub struct Atom {
    /// The loss, between bounds.
    pub loss: Interval,
    /// Probability under the first distribution, between bounds.
    pub mass: Interval,
}

/// The distribution of a privacy loss.
#[derive(Clone, Debug)]
pub struct PrivacyLoss {
    atoms: Vec<Atom>,
    infinite: Interval,
}

/// More atoms than this are not listed.
const MANY: f64 = 1_048_576.0;

impl PrivacyLoss {
    /// From its atoms, and the mass at infinite loss.
    pub fn new(atoms: Vec<Atom>, infinite: Interval) -> Self {
        Self { atoms, infinite }
    }

    /// The finite part.
    pub fn atoms(&self) -> &[Atom] {
        &self.atoms
    }

    /// The mass at infinite loss.
    pub fn infinite(&self) -> Interval {
        self.infinite
    }

    /// Randomised response: the dominating pair of every ε-DP mechanism (Kairouz, Oh and Viswanath 2015, Theorem 3.1).
    pub fn randomised_response(epsilon: Interval) -> Self {
        Self::approximate(epsilon, Interval::from(0.0))
    }

    /// The dominating pair of every (ε, δ)-DP mechanism (Kairouz, Oh and Viswanath 2015, Theorem 3.1): δ at infinite loss,
    /// the rest as in randomised response.
    pub fn approximate(epsilon: Interval, delta: Interval) -> Self {
        let rest = (Interval::from(1.0) - delta).at_least(0.0);
        let less = Interval::from(1.0) / (epsilon.exp() + 1.0);
        let more = Interval::from(1.0) / ((-epsilon).exp() + 1.0);
        let atoms =
            vec![Atom { loss: epsilon, mass: rest * more }, Atom { loss: -epsilon, mass: rest * less }];
        Self::new(atoms, delta)
    }

    /// Randomised response over `k` >= 2 values: the truth with probability e^ε/(e^ε + k - 1), each other value with
    /// 1/(e^ε + k - 1).
    pub fn k_ary_response(epsilon: Interval, k: u32) -> Self {
        let others = f64::from(k.max(2)) - 2.0;
        let each = Interval::from(1.0) / (epsilon.exp() + (others + 1.0));
        let truth = Interval::from(1.0) / ((-epsilon).exp() * (others + 1.0) + 1.0);
        let atoms = vec![
            Atom { loss: epsilon, mass: truth },
            Atom { loss: Interval::from(0.0), mass: each * others },
            Atom { loss: -epsilon, mass: each },
        ];
        Self::new(atoms, Interval::from(0.0))
    }

    /// Discrete Laplace noise of scale 1/`rate` on an integer that differs by `sensitivity`: at 1 it is randomised
    /// response. None with more than 2^20 outcomes between the two centres.
    pub fn discrete_laplace(sensitivity: u128, rate: Interval) -> Option<Self> {
        let width = sensitivity as f64;
        if sensitivity == 0 {
            let atom = Atom { loss: Interval::from(0.0), mass: Interval::from(1.0) };
            return Some(Self::new(vec![atom], Interval::from(0.0)));
        }
        if width > MANY {
            return None;
        }
        let epsilon = rate * width;
        let q = (-rate).exp();
        let half = Interval::from(1.0) / (q + 1.0);
        let centre = -(-rate).exp_m1() * half;
        let mut atoms =
            vec![Atom { loss: epsilon, mass: half }, Atom { loss: -epsilon, mass: (-epsilon).exp() * half }];
        let between = (1..sensitivity).map(|x| {
            let x = x as f64;
            Atom { loss: rate * (width - 2.0 * x), mass: centre * (-rate * x).exp() }
        });
        atoms.extend(between);
        Some(Self::new(atoms, Interval::from(0.0)))
    }

    /// Discrete Gaussian noise of parameter σ² = `variance` on an integer that differs by `sensitivity` (Canonne, Kamath
    /// and Steinke 2020, Theorem 7). Outcomes beyond 39σ, of probability below 2^-1000, count as infinite loss. None with
    /// more than 2^20 outcomes.
    pub fn discrete_gaussian(sensitivity: u128, variance: Interval) -> Option<Self> {
        let reach = (variance.sqrt() * 39.0).hi().ceil() + 1.0;
        let width = sensitivity as f64;
        if !(2.0 * reach <= MANY && width <= MANY && variance.lo() > 0.0) {
            return None;
        }
        let reach = reach as i64;
        let weight = |x: i64| (-(Interval::from(x as f64).square() / variance) / 2.0).exp();
        let total = (1..=reach).rev().map(weight).sum::<Interval>() * 2.0 + 1.0;
        // The sum over all integers is larger by less than the tail: 2·∫_reach^∞ e^(-x²/2σ²) dx < e^-700.
        let total = Interval::new(total.lo(), total.hi() + 1e-300);
        let loss = |x: i64| {
            // ((x - Δ)² - x²)/2σ² = Δ(Δ - 2x)/2σ².
            Interval::from(width) * (width - 2.0 * x as f64) / (variance * 2.0)
        };
        let atoms = (-reach..=reach).map(|x| Atom { loss: loss(x), mass: weight(x) / total }).collect();
        Some(Self::new(atoms, Interval::new(0.0, 1e-300)))
    }

    /// `k` uses of randomised response together: C(k, l) outcomes of loss (k - 2l)ε.
    pub fn repeated_response(epsilon: Interval, k: u32) -> Self {
        let (k, uses) = (f64::from(k), k);
        let (more, less) = ((-epsilon).exp().ln_1p(), epsilon.exp().ln_1p());
        let mut ln_choose = Interval::from(0.0);
        let mut atoms = Vec::new();
        for l in 0..=uses {
            let l = f64::from(l);
            if l > 0.0 {
                ln_choose = ln_choose + (Interval::from(k - l + 1.0) / l).ln();
            }
            // ln p^(k-l) q^l, with p = 1/(1 + e^-ε) and q = 1/(1 + e^ε).
            let mass = (ln_choose - more * (k - l) - less * l).exp().at_most(1.0);
            atoms.push(Atom { loss: epsilon * (k - 2.0 * l), mass });
        }
        Self::new(atoms, Interval::from(0.0))
    }

    /// The least δ for which the pair is (ε, δ)-indistinguishable in this order of the two, between bounds.
    pub fn profile(&self, epsilon: f64) -> Interval {
        let term = |atom: &Atom| {
            let share = -(Interval::from(epsilon) - atom.loss).exp_m1();
            atom.mass * share.at_least(0.0)
        };
        (self.infinite + self.atoms.iter().map(term).sum::<Interval>()).at_least(0.0).at_most(1.0)
    }

    /// δ(ε), rounded up.
    pub fn delta(&self, epsilon: f64) -> f64 {
        self.profile(epsilon).hi()
    }

    /// The ε >= 0 at which δ(ε) <= `delta`, rounded up; infinite if there is none.
    pub fn epsilon(&self, delta: f64) -> f64 {
        if self.delta(0.0) <= delta {
            return 0.0;
        }
        least_positive(|e| self.delta(e) <= delta).unwrap_or(f64::INFINITY)
    }

    /// The loss of two steps of which the second is chosen by the outcome of the first: `next` gives the second step's loss
    /// after the atom of that index. Losses of one branch add up, and branches lie side by side.
    pub fn then(&self, next: impl Fn(usize) -> Self) -> Self {
        let (mut atoms, mut infinite) = (Vec::new(), self.infinite);
        for (i, first) in self.atoms.iter().enumerate() {
            let second = next(i);
            infinite = infinite + first.mass * second.infinite;
            atoms.extend(
                second.atoms.iter().map(|a| Atom { loss: first.loss + a.loss, mass: first.mass * a.mass }),
            );
        }
        Self::new(atoms, infinite)
    }

    /// The Kullback-Leibler divergence, the mean of L.
    pub fn kl(&self) -> Interval {
        if self.infinite.lo() > 0.0 {
            return Interval::from(f64::INFINITY);
        }
        let finite = self.atoms.iter().map(|a| a.mass * a.loss).sum::<Interval>();
        if self.infinite.hi() > 0.0 { Interval::new(finite.lo(), f64::INFINITY) } else { finite }
    }
}

#[cfg(test)]
mod tests;
