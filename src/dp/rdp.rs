//! Rényi differential privacy (Mironov, "Rényi Differential Privacy", 2017).
//!
//! A mechanism is (α, r)-RDP when the Rényi divergence of order α between its outcomes on neighbours is at most r. Order 1
//! is the Kullback-Leibler divergence, order ∞ the max divergence, which is ε. At a fixed order divergences add up under
//! adaptive composition (Proposition 1), which is what the filter relies on. Discrete noise is priced as discrete noise
//! (soundness rule 19).

use super::interval::Interval;

/// A bound on the Rényi divergence as a function of its order. Parameters are enclosed by intervals.
#[derive(Clone, Copy, Debug)]
pub enum Curve {
    /// Any ε-DP mechanism: randomised response is the worst (Mironov 2017, Proposition 5).
    Pure {
        /// ε.
        epsilon: Interval,
    },
    /// Discrete Laplace noise on an integer: its own divergence, summed in closed form.
    DiscreteLaplace {
        /// Δ.
        sensitivity: Interval,
        /// 1/b.
        rate: Interval,
    },
    /// Continuous Laplace noise (Mironov 2017, Proposition 6). No mechanism here draws it; it is the textbook's measure.
    ContinuousLaplace {
        /// Δ/b.
        epsilon: Interval,
    },
    /// Gaussian noise: α·μ²/2. Real (Mironov 2017, Proposition 7), rounded (post-processing), and discrete (Canonne,
    /// Kamath and Steinke 2020, Proposition 5).
    Gaussian {
        /// (Δ₂/σ)².
        square: Interval,
    },
    /// A mechanism of bounded range ε, such as the exponential mechanism of sensitivity ε/2 per unit of score: α·ε²/8
    /// (Cesar and Rogers 2020), and like any ε-DP mechanism. Permute-and-flip is [`Self::Pure`] (soundness rule 20).
    BoundedRange {
        /// ε.
        epsilon: Interval,
    },
}

/// The orders of `dp_accounting`: 1.1, 1.2 … 10.9, 11, 12 … 63, 128, 256, 512, 1024.
pub fn usual_orders() -> Vec<f64> {
    let tenths = (11..110).map(|i| f64::from(i) / 10.0);
    tenths.chain((11..64).map(f64::from)).chain([128.0, 256.0, 512.0, 1024.0]).collect()
}

impl Curve {
    /// The divergence of order α >= 1, from above; the true value of a pure, Laplace or Gaussian curve lies in it, up to
    /// rounding.
    pub fn divergence(&self, order: f64) -> Interval {
        if order == f64::INFINITY {
            return self.max_divergence();
        }
        if order.is_nan() || order < 1.0 {
            return Interval::ALL;
        }
        if order == 1.0 {
            return self.kl();
        }
        match *self {
            Self::Pure { epsilon } => pure(epsilon, order),
            Self::DiscreteLaplace { sensitivity, rate } => {
                let bound = pure(sensitivity * rate, order);
                if sensitivity.hi() <= 1.0 { bound } else { laplace(sensitivity, rate, order).min(bound) }
            }
            Self::ContinuousLaplace { epsilon } => continuous(epsilon, order).min(pure(epsilon, order)),
            Self::Gaussian { square } => square * order / 2.0,
            Self::BoundedRange { epsilon } => (epsilon.square() * order / 8.0).min(pure(epsilon, order)),
        }
    }

    /// The Kullback-Leibler divergence: the limit α → 1, and the mean of the privacy loss.
    pub fn kl(&self) -> Interval {
        match *self {
            Self::Pure { epsilon } => epsilon * (epsilon / 2.0).tanh(),
            Self::DiscreteLaplace { sensitivity, rate } => {
                let epsilon = sensitivity * rate;
                let bound = epsilon * (epsilon / 2.0).tanh();
                if sensitivity.hi() <= 1.0 { bound } else { laplace_kl(sensitivity, rate).min(bound) }
            }
            Self::ContinuousLaplace { epsilon } => (epsilon + (-epsilon).exp_m1()).at_least(0.0),
            Self::Gaussian { square } => square / 2.0,
            Self::BoundedRange { epsilon } => (epsilon.square() / 8.0).min(epsilon * (epsilon / 2.0).tanh()),
        }
    }

    /// The max divergence: the limit α → ∞, which is the ε of pure differential privacy. Infinite for Gaussian noise.
    pub fn max_divergence(&self) -> Interval {
        match *self {
            Self::Pure { epsilon } | Self::ContinuousLaplace { epsilon } | Self::BoundedRange { epsilon } => {
                epsilon
            }
            Self::DiscreteLaplace { sensitivity, rate } => sensitivity * rate,
            Self::Gaussian { square } if square.hi() == 0.0 => Interval::from(0.0),
            Self::Gaussian { .. } => Interval::from(f64::INFINITY),
        }
    }
}

/// Randomised response: ln(1 + (e^((α-1)ε) - 1)(1 - e^(-αε))/(1 + e^-ε))/(α-1), in which nothing cancels; for large
/// exponents (α-1)ε is taken out.
fn pure(epsilon: Interval, order: f64) -> Interval {
    let excess = Interval::from(order) - 1.0;
    let rise = epsilon * excess;
    let fall = -(-(epsilon * order)).exp_m1();
    let rest = (-epsilon).exp() + 1.0;
    let divergence = if rise.hi() < 500.0 {
        (rise.exp_m1() * fall / rest).at_least(0.0).ln_1p() / excess
    } else {
        let inner = (-(epsilon * (Interval::from(order) * 2.0 - 1.0))).exp() + 1.0;
        epsilon + (inner.ln() - rest.ln()) / excess
    };
    divergence.at_least(0.0).at_most(epsilon.hi())
}

/// Discrete Laplace at Δ >= 2: Σ P^α Q^(1-α) has two tails of one loss each and a geometric sum between the centres. With
/// q = e^(-1/b) and r = e^(-(2α-1)/b) it is
/// e^((α-1)Δ/b)/(1+q)·(1 + e^(-(2α-1)Δ/b) + (1-q)·r·(1 - r^(Δ-1))/(1-r)).
fn laplace(sensitivity: Interval, rate: Interval, order: f64) -> Interval {
    let excess = Interval::from(order) - 1.0;
    let decay = rate * (Interval::from(order) * 2.0 - 1.0);
    let within =
        (-rate).exp_m1() / (-decay).exp_m1() * (-decay).exp() * -(-(decay * (sensitivity - 1.0))).exp_m1();
    let tails = (-(decay * sensitivity)).exp() + 1.0;
    let epsilon = sensitivity * rate;
    (epsilon + ((tails + within) / ((-rate).exp() + 1.0)).ln() / excess).at_least(0.0)
}

/// Its limit α → 1: Σ P·L, with L = ±Δ/b in the tails and (Δ - 2x)/b between the centres.
fn laplace_kl(sensitivity: Interval, rate: Interval) -> Interval {
    let (n, q) = (sensitivity - 1.0, (-rate).exp());
    let epsilon = sensitivity * rate;
    let decayed = (-epsilon).exp();
    let one = -(-rate).exp_m1();
    // Σ_{x=1}^{n} q^x, and Σ x·q^x.
    let sum = (q - decayed) / one;
    let weighted = (sum - n * decayed) / one;
    let between = one * (epsilon * sum - rate * weighted * 2.0);
    (epsilon * -(-epsilon).exp_m1() + between) / (q + 1.0)
}

/// Continuous Laplace: ln(α/(2α-1)·e^((α-1)ε) + (α-1)/(2α-1)·e^(-αε))/(α-1).
fn continuous(epsilon: Interval, order: f64) -> Interval {
    let a = Interval::from(order);
    let (excess, twice) = (a - 1.0, a * 2.0 - 1.0);
    let tail = (-(epsilon * twice)).exp() * excess;
    (epsilon + ((a + tail) / twice).ln() / excess).at_least(0.0)
}

/// ε of an (α, r)-RDP mechanism at δ, rounded up: r + ln(1/δ)/(α-1) (Mironov 2017, Proposition 3).
pub fn epsilon_of_mironov(order: f64, divergence: f64, delta: f64) -> f64 {
    (Interval::from(divergence) - Interval::from(delta).ln() / (Interval::from(order) - 1.0)).hi().max(0.0)
}

/// ε of an (α, r)-RDP mechanism at δ, rounded up: r + ln(1 - 1/α) - (ln δ + ln α)/(α-1) (Canonne, Kamath and Steinke 2020,
/// Proposition 12; Balle et al. 2020, Theorem 21).
pub fn epsilon(order: f64, divergence: Interval, delta: f64) -> f64 {
    if delta == 0.0 {
        return if order == f64::INFINITY { divergence.hi() } else { f64::INFINITY };
    }
    if order == f64::INFINITY {
        return divergence.hi();
    }
    let a = Interval::from(order);
    let excess = a - 1.0;
    let gain = (Interval::from(delta).ln() + a.ln()) / excess;
    (divergence - (Interval::from(1.0) / excess).ln_1p() - gain).hi().max(0.0)
}

/// δ of an (α, r)-RDP mechanism at ε, rounded up: e^((α-1)(r-ε))/(α-1)·(1 - 1/α)^α (Canonne, Kamath and Steinke 2020,
/// Proposition 12).
pub fn delta(order: f64, divergence: Interval, epsilon: f64) -> f64 {
    ln_delta(order, divergence, epsilon).exp().hi().min(1.0)
}

/// ln of [`delta`].
pub(super) fn ln_delta(order: f64, divergence: Interval, epsilon: f64) -> Interval {
    let a = Interval::from(order);
    let excess = a - 1.0;
    let last = a * (Interval::from(1.0) / excess).ln_1p();
    excess * (divergence - epsilon) - excess.ln() - last
}

/// The least ε at δ over `orders`, and the order that gives it, for mechanisms with a number of
/// uses each. A price that is fixed in advance: to pick the order after adaptively chosen
/// mechanisms is not a filter.
pub fn best_epsilon(uses: &[(Curve, u32)], orders: &[f64], delta: f64) -> Option<(f64, f64)> {
    let at = |&order: &f64| {
        let sum = uses.iter().map(|(curve, n)| curve.divergence(order) * f64::from(*n)).sum();
        (epsilon(order, sum, delta), order)
    };
    orders.iter().map(at).min_by(|a, b| a.0.total_cmp(&b.0))
}

#[cfg(test)]
mod tests;
