//! The transform M(z) = E e^(zL) of one use's loss on the line z = θ + it, and how wrong its computed value can be.
//!
//! M(z) = e^(zc)·S·R(t) with a centre c and a size S that do not depend on t, chosen such that R(0) is about 1. All bounds
//! count roundings of u = 2^-53 as in Higham, *Accuracy and Stability of Numerical Algorithms* (2002), Section 3.1, each
//! coefficient taken larger than it comes out; sine, cosine and exponential of libm are taken to be right to 4u of 1 or of
//! themselves (its authors claim 2u).

use super::super::interval::Interval;
use super::complex::{Complex, U};
use super::lattice::Lattice;

/// The loss of one use.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    /// Masses on a lattice.
    Lattice(Lattice),
    /// Continuous Laplace noise with Δ/b = ε: mass 1/2 at ε, e^-ε/2 at -ε, and e^((x-ε)/2)/4 dx between them.
    Laplace {
        /// ε.
        epsilon: f64,
    },
    /// Continuous Laplace noise without what `k` uses have where all losses are ±ε: M(z)^k less the power of these two alone.
    Between {
        /// ε.
        epsilon: f64,
    },
    /// Gaussian noise with μ² = `square`, which is that of all uses.
    Gaussian {
        /// μ².
        square: f64,
    },
}

/// R at one t, and how much its computed value is wrong by at most.
pub(super) type Value = (Complex, f64);

/// Transform of one mechanism on one line.
pub(super) struct Tilted {
    /// Uses: the power that is taken.
    pub(super) uses: u32,
    /// c, times the uses.
    pub(super) centre: Interval,
    /// ln S, times the uses.
    pub(super) size: Interval,
    kind: Kind,
    /// Whose power is [`NEVER`].
    floor: f64,
}

/// Powers below this are not computed.
const NEVER: f64 = 1e-35;

enum Kind {
    Lattice(Weights),
    /// What stands before e^(iεt) and e^(-iεt), their sum's parts being right to `error`; θ + 1/2.
    Laplace {
        epsilon: f64,
        up: f64,
        down: f64,
        half: f64,
        error: f64,
        without_ends: bool,
    },
    Gaussian {
        square: f64,
    },
}

/// Tilted masses that sum to about 1.
struct Weights {
    step: f64,
    weights: Vec<f64>,
    /// The index of the centre, among all masses and among these.
    centre: f64,
    pivot: f64,
    /// Σ i·weight, for the error of Horner's scheme.
    mean: f64,
    /// What weights are wrong by in sum, and what was left out of them.
    error: f64,
    /// Sums of absolute differences of orders 1, 2, 4 and 8: of all weights, and of all but the first and the last.
    rough: [f64; 4],
    inner: [f64; 4],
    ends: f64,
}

const ORDERS: [u32; 4] = [1, 2, 4, 8];

/// Weights that are less than this part of the greatest are counted as error, at both ends.
const NOTHING: f64 = 1e-25;

impl Loss {
    /// ln M(θ), roughly: to choose θ.
    pub(super) fn cumulant(&self, theta: f64) -> f64 {
        match self {
            Self::Lattice(lattice) => {
                let last = lattice.masses.len().saturating_sub(1) as f64;
                let terms = lattice.masses.iter().enumerate();
                let sum: f64 =
                    terms.map(|(i, m)| m * libm::exp(theta * lattice.step * (i as f64 - last))).sum();
                libm::log(sum) + theta * lattice.top()
            }
            Self::Laplace { epsilon } | Self::Between { epsilon } => {
                let part = 0.5 / (theta + 0.5);
                let down = libm::exp(-epsilon * (2.0 * theta + 1.0));
                libm::log(0.5 * (1.0 + part) + 0.5 * down * (1.0 - part)) + theta * epsilon
            }
            Self::Gaussian { square } => theta * (theta + 1.0) * square / 2.0,
        }
    }

    /// The greatest loss, from above.
    pub(super) fn top(&self) -> f64 {
        match self {
            Self::Lattice(lattice) => lattice.top(),
            Self::Laplace { epsilon } | Self::Between { epsilon } => *epsilon,
            Self::Gaussian { .. } => f64::INFINITY,
        }
    }

    /// On the line of θ.
    pub(super) fn tilted(&self, theta: f64, uses: u32) -> Tilted {
        let times = f64::from(uses);
        let floor = libm::pow(NEVER, 1.0 / times);
        match self {
            Self::Lattice(lattice) => {
                let (weights, size) = Weights::of(lattice, theta);
                let centre = Interval::from(weights.centre) * lattice.step + lattice.first;
                let size = Interval::from(size).ln() * times;
                Tilted { uses, centre: centre * times, size, kind: Kind::Lattice(weights), floor }
            }
            Self::Laplace { epsilon } | Self::Between { epsilon } => {
                // M(z)·e^(-zε) without tilt is (1 + 1/2a)/2 + e^(-2εa)(1 - 1/2a)/2 with a = z + 1/2: S is its value at θ.
                let half = theta + 0.5;
                let down = libm::exp(-2.0 * epsilon * half);
                let size = 0.5 * (1.0 + 0.5 / half) + 0.5 * down * (1.0 - 0.5 / half);
                let (up, down) = (0.5 / size, 0.5 * down / size);
                let error = (12.0 + 8.0 * epsilon * half) * U;
                let without_ends = matches!(self, Self::Between { .. });
                let kind = Kind::Laplace { epsilon: *epsilon, up, down, half, error, without_ends };
                // e^(zε): the centre is ε.
                let centre = Interval::from(*epsilon) * times;
                Tilted { uses, centre, size: Interval::from(size).ln() * times, kind, floor }
            }
            Self::Gaussian { square } => {
                // (z² + z)μ²/2 = zc - θ²μ²/2 - t²μ²/2 with c = (2θ + 1)μ²/2.
                let half = Interval::from(*square) / 2.0;
                let (centre, size) =
                    (half * (Interval::from(theta) * 2.0 + 1.0), -(half * Interval::from(theta).square()));
                Tilted { uses: 1, centre, size, kind: Kind::Gaussian { square: *square }, floor }
            }
        }
    }
}

impl Tilted {
    /// R(t)^uses, and what it is wrong by at most. `t` itself may be wrong by 4u of itself.
    pub(super) fn at(&self, t: f64) -> Value {
        match &self.kind {
            Kind::Lattice(weights) => self.power(weights.at(t)),
            Kind::Laplace { epsilon, up, down, half, error, without_ends } => {
                // Relative to the centre ε: e^(0) and e^(-2iεt).
                let turn = Complex::phase(-2.0 * epsilon * t).times(*down);
                let part = Complex { re: 2.0 * half, im: 2.0 * t }.inverse();
                let ends = Complex { re: *up, im: 0.0 } + turn;
                let all = ends + (Complex { re: *up, im: 0.0 } - turn) * part;
                let error = error + (24.0 + 24.0 * epsilon * t) * U;
                let (all, wrong) = self.power((all, error));
                if !without_ends {
                    return (all, wrong);
                }
                let (ends, also) = self.power((ends, error));
                (all - ends, wrong + also + 2.0 * U)
            }
            Kind::Gaussian { square } => {
                let exponent = 0.5 * square * t * t;
                let value = libm::exp(-exponent);
                (Complex { re: value, im: 0.0 }, value * (8.0 + 16.0 * exponent) * U + f64::MIN_POSITIVE)
            }
        }
    }

    /// The power of a value that is wrong by `error`: with m = |value| + error, the true power differs by at most
    /// n·error·m^(n-1), and squaring adds (n-1)·√5·u of the modulus.
    fn power(&self, (value, error): Value) -> Value {
        let n = f64::from(self.uses);
        let modulus = value.modulus() * (1.0 + 4.0 * U) + error;
        // Far below what counts: not computed.
        if modulus < self.floor {
            return (Complex { re: 0.0, im: 0.0 }, NEVER * 1.01);
        }
        let power = value.power(self.uses);
        // m^(n-1): from the power itself, where that is right to a hundredth.
        let around = if n * (error + 16.0 * U * modulus) < 0.005 * modulus {
            power.modulus() / modulus * 1.02
        } else {
            libm::exp((n - 1.0) * libm::log(modulus)) * (1.0 + 16.0 * n * U)
        };
        (power, n * (error + 4.0 * U * modulus) * around * 1.01)
    }

    /// The most that ln |R|^uses is from `t` on: up to where `half` says the lattice repeats
    /// itself.
    pub(super) fn beyond(&self, t: f64, half: f64) -> f64 {
        let n = f64::from(self.uses);
        match &self.kind {
            Kind::Lattice(weights) => n * libm::log(weights.beyond(t, half)),
            Kind::Laplace { up, down, without_ends, .. } => {
                let sum = (up + down) * (1.0 + 32.0 * U);
                if *without_ends {
                    // (a + b)^n - a^n <= n·b·(a + b)^(n-1), with |b| <= sum/2t.
                    let part = 0.5 / t;
                    return libm::log(n * sum * part) + (n - 1.0) * libm::log(sum * (1.0 + part));
                }
                n * libm::log(sum * (1.0 + 0.5 / t))
            }
            Kind::Gaussian { square } => -0.5 * square * t * t * (1.0 - 8.0 * U),
        }
    }
}

impl Weights {
    /// With the float that they were divided by: mass·e^(θ·step·(i - pivot)) is the weight times it.
    fn of(lattice: &Lattice, theta: f64) -> (Self, f64) {
        let rate = theta * lattice.step;
        let logs = lattice.masses.iter().map(|m| libm::log(*m)).enumerate();
        let heaviest = logs.map(|(i, l)| (i, l + rate * i as f64)).max_by(|a, b| a.1.total_cmp(&b.1));
        let heaviest = heaviest.map_or(0, |h| h.0);
        let most = lattice.masses.get(heaviest).copied().unwrap_or(0.0);
        let exponent = |i: usize| rate * (i as f64 - heaviest as f64);
        // None is heavier than the heaviest, wherever floats end.
        let tilted = |(i, mass): (usize, &f64)| {
            if exponent(i) > 700.0 { most } else { mass * libm::exp(exponent(i)) }
        };
        let all: Vec<f64> = lattice.masses.iter().enumerate().map(tilted).collect();
        let counts = |w: &f64| *w > most * NOTHING;
        let low = all.iter().position(counts).unwrap_or(0);
        let high = all.iter().rposition(counts).unwrap_or(0);
        let weights: Vec<f64> = all.iter().skip(low).take(high + 1 - low).copied().collect();
        let size: f64 = weights.iter().sum();
        let lost: f64 = all.iter().take(low).chain(all.iter().skip(high + 1)).sum::<f64>() / size;
        let weights: Vec<f64> = weights.iter().map(|w| w / size).collect();
        let each = || weights.iter().enumerate();
        let wrong: f64 = each().map(|(i, w)| w * (16.0 + 6.0 * exponent(i + low).abs())).sum();
        let mean = each().map(|(i, w)| w * i as f64).sum();
        let inner = weights.get(1..weights.len().saturating_sub(1)).unwrap_or(&[]);
        let ends = weights.first().copied().unwrap_or(1.0) + weights.last().copied().unwrap_or(0.0);
        let new = Self {
            step: lattice.step,
            pivot: heaviest as f64 - low as f64,
            centre: heaviest as f64,
            mean,
            error: wrong * U + 1.01 * lost + all.len() as f64 * 1e-290,
            rough: roughness(&weights),
            inner: roughness(inner),
            ends: if weights.len() > 1 { ends } else { 1.0 },
            weights,
        };
        (new, size)
    }

    /// By Horner's scheme, the i-th weight being multiplied i times.
    fn at(&self, t: f64) -> Value {
        let x = t * self.step;
        let turn = Complex::phase(x);
        let zero = Complex { re: 0.0, im: 0.0 };
        let sum = self.weights.iter().rev().fold(zero, |sum, w| sum * turn + Complex { re: *w, im: 0.0 });
        let error = (12.0 * self.mean + 8.0 * x * (self.mean + self.pivot) + 16.0) * U;
        (sum * Complex::phase(-x * self.pivot), self.error + error)
    }

    /// By Abel's summation |Σ w e^(ixi)|·|1 - e^(ix)|^r is at most the sum of absolute differences of order r, and
    /// |1 - e^(ix)| = 2 sin(x/2) rises up to x = π.
    fn beyond(&self, t: f64, half: f64) -> f64 {
        let x = t * self.step;
        // Where another lattice sets the period, this one has repeated itself before.
        if half * self.step > std::f64::consts::PI * (1.0 + 1e-9) {
            return 1.0 + self.error;
        }
        let sine = 2.0 * libm::sin(x / 2.0) * (1.0 - 1e-9);
        let bound = |rough: &[f64; 4]| {
            let each = rough.iter().zip(ORDERS).map(|(r, n)| r / libm::pow(sine, f64::from(n)));
            each.fold(f64::INFINITY, f64::min)
        };
        let least = bound(&self.rough).min(self.ends + bound(&self.inner));
        (least * (1.0 + 1e-9) + self.error).min(1.0 + self.error)
    }
}

/// Σ |differences of order r|, from above, the sequence being 0 outside.
fn roughness(weights: &[f64]) -> [f64; 4] {
    let mut differences = weights.to_vec();
    let greatest = weights.iter().copied().fold(0.0, f64::max);
    let mut order = 0;
    ORDERS.map(|wanted| {
        while order < wanted {
            differences.push(0.0);
            let mut before = 0.0;
            for x in &mut differences {
                (before, *x) = (*x, *x - before);
            }
            order += 1;
        }
        // Each difference of order r is wrong by at most r·2^r·u of the greatest weight.
        let wrong = differences.len() as f64 * f64::from(wanted) * libm::ldexp(greatest * U, wanted as i32);
        (differences.iter().map(|x| x.abs()).sum::<f64>() + wrong) * (1.0 + 1e-9)
    })
}
