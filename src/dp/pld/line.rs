//! δ(ε) as a sum over points of a vertical line, from above.

use super::super::interval::Interval;
use super::complex::{Complex, U};
use super::transform::Tilted;

/// A term, but for what depends on ε.
struct Node {
    t: f64,
    /// How often it counts: twice, but for the ends, which are their own conjugates.
    weight: f64,
    /// What stands before 1 and before -e^ε; on no lattice all of it is in the first.
    first: Complex,
    second: Complex,
    /// What both together are wrong by at most, and their modulus.
    wrong: f64,
    modulus: f64,
}

/// The terms of one distribution on one line.
pub(super) struct Line {
    theta: f64,
    /// The losses' centre, and the logarithm of what all terms are divided by.
    centre: Interval,
    size: Interval,
    step: Option<f64>,
    share: f64,
    nodes: Vec<Node>,
    /// At least the modulus of what is left out.
    tail: f64,
}

/// The plan of a line: where it lies, when it repeats, and its purpose.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) theta: f64,
    /// Losses that are so far apart are not told apart.
    pub(super) period: f64,
    /// About where, and about how large, δ will be.
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    /// Part of δ that may be left out.
    pub(super) negligible: f64,
}

/// No line has more terms.
const MOST: u32 = 1 << 21;

/// Length of a line after which the rest may be left out, in t; infinite when it never may.
pub(super) fn reach(parts: &[Tilted], plan: Plan) -> f64 {
    let (allowed, _) = allowance(parts, plan);
    let mut t = plan.theta;
    while t < 1e9 {
        if rest(parts, t, f64::INFINITY) * (1.0 / (t * t) + plan.period / (6.0 * t)) < allowed {
            return t;
        }
        t *= 1.2;
    }
    f64::INFINITY
}

/// What terms may be left out, as a sum of them.
fn allowance(parts: &[Tilted], plan: Plan) -> (f64, f64) {
    let centre: Interval = parts.iter().map(|p| p.centre).sum();
    let size: Interval = parts.iter().map(|p| p.size).sum();
    let position = plan.epsilon - centre.hi();
    (plan.negligible * plan.delta * libm::exp(plan.theta * position - size.hi()) * plan.period, position)
}

/// What a term is at most from t on, but for 1/(z(z+1)).
fn rest(parts: &[Tilted], t: f64, half: f64) -> f64 {
    libm::exp(parts.iter().map(|p| p.beyond(t, half)).sum::<f64>()) * (1.0 + 1e-9)
}

impl Line {
    /// `step` where all losses lie on a lattice of it.
    pub(super) fn new(parts: &[Tilted], step: Option<f64>, plan: Plan) -> Self {
        let theta = plan.theta;
        let count = step.map(|h| (plan.period / h).ceil().clamp(2.0, f64::from(MOST)));
        let period = match (step, count) {
            (Some(h), Some(n)) => n * h,
            _ => plan.period,
        };
        let (allowed, _) = allowance(parts, Plan { period: count.unwrap_or(period), ..plan });
        let half =
            if step.is_some() { std::f64::consts::PI * count.unwrap_or(1.0) / period } else { f64::INFINITY };
        let (mut nodes, mut tail) = (vec![], 0.0);
        let last = count.map_or(MOST, |n| (n / 2.0).floor() as u32);
        for j in 0..=last {
            let t = std::f64::consts::TAU * f64::from(j) / period;
            if j >= 8 && j % 8 == 0 || (j == last && step.is_none()) {
                let most = rest(parts, t, half);
                let left = match (step, count) {
                    // So many terms are left, each with two quotients that fall up to half the period.
                    (Some(h), Some(n)) => {
                        let (a, b) = quotients(theta, t, h);
                        (n - 2.0 * f64::from(j) + 2.0) * most * (a.modulus() + b.modulus())
                    }
                    // Σ 1/t² over the points from t on, twice.
                    _ => 2.0 * most * (1.0 / (t * t) + period / (std::f64::consts::TAU * t)),
                };
                if left <= allowed || (j == last && step.is_none()) {
                    tail += left * 1.01;
                    break;
                }
            }
            let own_conjugate = j == 0 || count.is_some_and(|n| f64::from(j) * 2.0 == n);
            let weight = if own_conjugate { 1.0 } else { 2.0 };
            let (value, wrong) = product(parts, t);
            let (first, second, kernel) = match step {
                Some(h) => {
                    let (a, b) = quotients(theta, t, h);
                    (value * a, value * b, a.modulus() + b.modulus())
                }
                None => {
                    let (a, b) = (
                        Complex { re: theta, im: t }.inverse(),
                        Complex { re: theta + 1.0, im: t }.inverse(),
                    );
                    (value * a * b, value * b, (a * b).modulus())
                }
            };
            let modulus = value.modulus() * kernel;
            let wrong = (wrong * kernel + 40.0 * U * modulus) * 1.01;
            if modulus == 0.0 {
                tail += weight * wrong;
            } else {
                nodes.push(Node { t, weight, first, second, wrong, modulus });
            }
        }
        let centre = parts.iter().map(|p| p.centre).sum();
        let size = parts.iter().map(|p| p.size).sum();
        Self { theta, centre, size, step, share: 1.0 / count.unwrap_or(period), nodes, tail }
    }

    /// δ at ε, from above, and about its derivative.
    pub(super) fn delta(&self, epsilon: f64) -> (f64, f64) {
        let x = (Interval::from(epsilon) - self.centre).lo();
        let (position, ratio) = match self.step {
            Some(h) => {
                // A loss that is taken for one above ε and is not has no part in δ(ε); one that is above ε is never missed.
                let below = x - 16.0 * U * x.abs();
                let next = (below / h).ceil() * h;
                (next, (libm::exp(below - next) * (1.0 - (32.0 + 8.0 * next.abs()) * U)).min(1.0))
            }
            None => (x, 1.0),
        };
        let (mut sum, mut slope, mut wrong, mut all) = (0.0, 0.0, 0.0, 0.0);
        for node in &self.nodes {
            let turn = Complex::phase(-node.t * position);
            let term = match self.step {
                Some(_) => node.first - node.second.times(ratio),
                None => node.first,
            };
            sum += node.weight * (term * turn).re;
            slope += node.weight * (node.second * turn).re;
            all += node.weight * node.modulus;
            wrong += node.weight * (node.wrong + node.modulus * (8.0 * node.t * position.abs() + 16.0) * U);
        }
        let rounding = (self.nodes.len() as f64 + 4.0) * 2.0 * U * all;
        let total = (sum + (wrong + rounding + self.tail) * 1.01).max(0.0);
        // The share is the nearest float to its value, and so is a lattice's position.
        let scale = (self.size - Interval::from(self.theta) * position).exp()
            * self.share
            * (1.0 + (8.0 + 8.0 * self.theta * position.abs()) * U);
        ((scale * total).hi().min(1.0), -(scale.hi() * slope * ratio))
    }
}

/// 1/(1 - e^(-zh)) at z = θ + it and at z + 1.
fn quotients(theta: f64, t: f64, h: f64) -> (Complex, Complex) {
    let half = libm::sin(t * h / 2.0);
    let sine = libm::sin(t * h);
    let at = |theta: f64| {
        // 1 - e^-x·cos y = (1 - e^-x) + e^-x·2 sin²(y/2): nothing cancels.
        let shrunk = libm::exp(-theta * h);
        Complex { re: -libm::expm1(-theta * h) + 2.0 * shrunk * half * half, im: shrunk * sine }.inverse()
    };
    (at(theta), at(theta + 1.0))
}

/// The product of all powers, and what it is wrong by at most.
fn product(parts: &[Tilted], t: f64) -> (Complex, f64) {
    parts.iter().map(|p| p.at(t)).fold((Complex::ONE, 0.0), |(a, wrong), (b, also)| {
        let (x, y) = (a.modulus(), b.modulus());
        let product = a * b;
        (product, (wrong * (y + also) + also * x + 4.0 * U * x * y) * 1.01 + f64::MIN_POSITIVE)
    })
}
