//! The four functionals of a trade-off function that the central limit theorem needs (Dong, Roth and Su, Section 3.2):
//! moments of the privacy loss L = -ln |f′(U)| with U uniform.

use super::super::interval::Interval;
use super::super::special::{density, normal};
use super::function::TradeOff;
use super::lines::Lines;

/// Moments of a privacy loss, between bounds.
#[derive(Clone, Copy, Debug)]
pub struct Functionals {
    /// E L, the Kullback-Leibler divergence.
    pub kl: Interval,
    /// E L².
    pub kappa2: Interval,
    /// E |L|³.
    pub kappa3: Interval,
    /// E |L - kl|³.
    pub kappa3_bar: Interval,
}

impl TradeOff {
    /// kl, κ2, κ3 and κ̄3 in closed form; None where they are infinite (δ > 0) or have none (groups).
    pub fn functionals(&self) -> Option<Functionals> {
        match self {
            Self::Gaussian { mu } => Some(gaussian(*mu)),
            Self::Laplace { epsilon } => Some(laplace((*epsilon).into())),
            Self::Approximate { epsilon, delta: 0.0 } => Some(response((*epsilon).into())),
            Self::Lines(lines) => of_lines(lines),
            Self::Approximate { .. } | Self::Group(..) => None,
        }
    }
}

/// L is normal with mean μ²/2 and variance μ².
fn gaussian(mu: f64) -> Functionals {
    let mu = Interval::from(mu);
    let (mean, square) = (mu.square() / 2.0, mu.square());
    let third = Interval::from(2.0) * (Interval::from(2.0) / Interval::PI).sqrt() * mu * square;
    // E|X|³ of N(m, s²) at m = μ²/2, s = μ: (m³ + 3ms²)(1 - 2Φ(-m/s)) + 2(m² + 2s²)·s·φ(m/s).
    let (m, ratio) = (mean, mu / 2.0);
    let odd = m * (m.square() + square * 3.0) * (-(normal(-ratio) * 2.0) + 1.0);
    let even = (m.square() + square * 2.0) * mu * density(ratio) * 2.0;
    Functionals { kl: mean, kappa2: square + mean.square(), kappa3: odd + even, kappa3_bar: third }
}

/// Two losses, ε and -ε. With t = tanh(ε/2): εt, ε², ε³, ε³(1 - t⁴).
fn response(epsilon: Interval) -> Functionals {
    let t = (epsilon / 2.0).tanh();
    let cube = epsilon * epsilon.square();
    let bar = cube * (-t.square().square() + 1.0);
    Functionals { kl: epsilon * t, kappa2: epsilon.square(), kappa3: cube, kappa3_bar: bar }
}

/// Loss ε with probability 1/2, -ε with e^-ε/2, and between them εv with density ε/4·e^(-ε/2)·e^(εv/2) on (-1, 1).
///
/// The textbook's closed forms cancel below ε = 0.05; these sums have positive terms only.
fn laplace(epsilon: Interval) -> Functionals {
    let (half, shrink) = (epsilon / 2.0, (-epsilon).exp());
    let scale = epsilon / 4.0 * (-half).exp();
    // ∫ |v|^n e^(εv/2) = 2 Σ (ε/2)^2j/(2j)!/(2j + n + 1).
    let even = |n: f64| series(half, 0, n) * 2.0;
    let square = epsilon.square();
    let ends = (shrink + 1.0) / 2.0;
    let kl = epsilon + (-epsilon).exp_m1();
    // For small ε the sum of ends and middle does not cancel: ε(1 - e^-ε)/2 + scale·ε·∫ v e^(εv/2).
    let by_parts = epsilon * -(-epsilon).exp_m1() / 2.0 + scale * epsilon * (series(half, 1, 1.0) * 2.0);
    let kl = if epsilon.hi() < 0.5 { by_parts } else { kl };
    let kappa2 = square * ends + scale * square * even(2.0);
    let kappa3 = epsilon * square * ends + scale * epsilon * square * even(3.0);
    // |εv - kl|³ on both sides of v₀ = kl/ε: ε³·∫ w³ e^(ε(v₀ ± w)/2) dw.
    let centre = kl / epsilon;
    let (right, left) = (-centre + 1.0, centre + 1.0);
    let outer = cube(epsilon - kl) / 2.0 + shrink * cube(epsilon + kl) / 2.0;
    let middle = (half * centre).exp() * (growing(half, right) + falling(half, left));
    let kappa3_bar = outer + scale * epsilon * square * middle;
    Functionals { kl, kappa2, kappa3, kappa3_bar }
}

fn cube(x: Interval) -> Interval {
    x * x.square()
}

/// Enough terms for x up to 50.
const TERMS: u32 = 120;

/// Σ x^i/i!/(i + n + 1) over i = `parity`, `parity` + 2, …, with its tail.
fn series(x: Interval, parity: u32, n: f64) -> Interval {
    let mut term = Interval::from(1.0);
    let mut sum = Interval::from(0.0);
    for i in 0..TERMS {
        let i = f64::from(i);
        if i > 0.0 {
            term = term * x / i;
        }
        if i as u32 % 2 == parity {
            sum = sum + term / (i + n + 1.0);
        }
    }
    sum + tail(x, term)
}

/// What is left after the last term, if terms fall by half from there on; unbounded otherwise.
fn tail(x: Interval, term: Interval) -> Interval {
    if x.hi() * 2.0 < f64::from(TERMS) {
        Interval::new(0.0, term.hi() * 2.0)
    } else {
        Interval::new(0.0, f64::INFINITY)
    }
}

/// ∫_0^W w³ e^(xw) dw = Σ x^i/i!·W^(i+4)/(i+4).
fn growing(x: Interval, width: Interval) -> Interval {
    let mut term = width.square().square();
    let mut sum = term / 4.0;
    for i in 1..TERMS {
        let i = f64::from(i);
        term = term * x * width / i;
        sum = sum + term / (i + 4.0);
    }
    sum + tail(x * width, term)
}

/// ∫_0^W w³ e^(-xw) dw = e^(-xW)·Σ x^i·W^(i+4)/(4·5·…·(4+i)).
fn falling(x: Interval, width: Interval) -> Interval {
    let mut term = width.square().square() / 4.0;
    let mut sum = term;
    for i in 1..TERMS {
        term = term * x * width / (f64::from(i) + 4.0);
        sum = sum + term;
    }
    (-(x * width)).exp() * (sum + tail(x * width, term))
}

/// Finite sums over outcomes; infinite where an outcome is impossible on one side.
fn of_lines(lines: &Lines) -> Option<Functionals> {
    let outcomes = lines.outcomes();
    if outcomes.iter().any(|o| o.absent <= 0.0 || o.present <= 0.0) {
        return None;
    }
    // Under absence, L = ln(absent/present).
    let loss = |o: &super::lines::Outcome| (Interval::from(o.absent) / o.present).ln();
    let mean = |f: &dyn Fn(Interval) -> Interval| -> Interval {
        outcomes.iter().map(|o| f(loss(o)) * o.absent).sum()
    };
    let magnitude = |x: Interval| x.max(-x).at_least(0.0);
    let kl = mean(&|l| l);
    Some(Functionals {
        kl,
        kappa2: mean(&Interval::square),
        kappa3: mean(&|l| cube(magnitude(l))),
        kappa3_bar: mean(&|l| cube(magnitude(l - kl))),
    })
}
