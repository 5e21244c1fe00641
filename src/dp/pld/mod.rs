//! Numerical composition of privacy losses, as an upper bound.
//!
//! With L the loss of all uses together and M(z) = E e^(zL), which is the product of the transforms of the uses, δ(ε) =
//! E(1 - e^(ε-L))₊ has, for every θ > 0, the transform
//!
//! ∫ e^(zx)·δ(x) dx = E ∫_(x<L) (e^(zx) - e^(zx+x-L)) dx = M(z)·(1/z - 1/(z+1)) = M(z)/(z(z+1)),  z = θ + it.
//!
//! **Theorem.** For every period P > 0, with z_m = θ + 2πim/P,
//!
//! (1/P)·Σ_m M(z_m)/(z_m(z_m+1))·e^(-z_m·ε) = Σ_n e^(θnP)·δ(ε + nP) >= δ(ε).
//!
//! The equality is Poisson's summation formula for e^(θx)·δ(x), which is continuous, of bounded variation, and falls
//! exponentially on both sides (Abate and Whitt, "The Fourier-Series Method for Inverting Transforms of Probability
//! Distributions", 1992, Section 5; Trefethen and Weideman, "The Exponentially Convergent Trapezoidal Rule", 2014). The
//! inequality is that δ is nowhere negative: what a finite sum takes for ε, a period off, can only be added. So no θ and no
//! P make the bound too low; Chernoff's inequality chooses them such that it is near (`Pld::plan`).
//!
//! Where all losses lie on a lattice of step h (randomised response, discrete Laplace, discrete Gaussian, and whatever has a
//! common step with them) nothing is discretised: with s the least point of the lattice that is not below ε, N points, and
//! P = Nh the finite sum
//!
//! (1/N)·Σ_(m<N) M(z_m)·e^(-z_m·s)·(1/(1 - e^(-z_m·h)) - e^(ε-s)/(1 - e^(-(z_m+1)h))) = Σ_n e^(θnP)·Σ_(l >= s+nP) p(l)(1 - e^(ε+nP-l))
//!
//! is an upper bound for the same reason. Uses of Gaussians are together one Gaussian. Continuous Laplace noise has two
//! masses and a density: the uses that all have an extreme loss are a lattice, and what is left has no masses.
//!
//! **What is left out.** Terms beyond some t are bounded by max |M| there (`transform`) and added. Where |M| does not fall
//! for long, one more use of a Gaussian with a tiny μ is composed in: it is a mechanism, so δ can only rise, and it rises
//! by about as much as ε + μ²(1+θ)/2 would; its transform makes the terms fall as e^(-(μt)²/2).
//!
//! **Rounding.** Each term is computed with a bound of what it is wrong by: n uses of one that is wrong by η are wrong by at
//! most n·(η + √5·u)·(|R|+η)^(n-1) (`Tilted::power`), products and sums as in Higham, *Accuracy and Stability of Numerical
//! Algorithms* (2002), Sections 3.1, 3.6 and 4.2. The bounds are added up and put on top. There is no transform of many
//! entries whose error would have to be spread over all of them, because δ is computed at one ε at a time, and so no
//! library whose vector instructions would decide a last digit: only IEEE operations in a fixed order, and libm.
//!
//! **Not a filter.** The bound holds for mechanisms and parameters that are fixed in advance, with questions that may depend
//! on answers (Dong, Roth and Su, Theorem 3.2). Composing after the fact what an analyst chose from answers, and refusing
//! when δ is exceeded, is unsound: two steps suffice to exceed it. So nothing here can be turned into a filter; a
//! budget whose uses are declared beforehand is an envelope.

mod complex;
mod error;
#[cfg(test)]
mod integers;
mod lattice;
mod line;
mod transform;

pub use error::PldError;

use super::gdp;
use super::interval::{Interval, golden_section, least};
use super::loss::PrivacyLoss;
use super::tradeoff::TradeOff;
use lattice::Lattice;
use line::{Line, Plan, reach};
use transform::{Loss, Tilted};

/// Source of one use's loss.
#[derive(Clone, Debug)]
pub enum Source {
    /// By its outcomes.
    Loss(PrivacyLoss),
    /// By a Gaussian or (for comparison with the textbook) continuous Laplace trade-off function.
    Curve(TradeOff),
}

/// Mechanisms, each with its number of uses.
#[derive(Clone, Debug)]
pub struct Pld {
    parts: Vec<(Source, u32)>,
}

/// Losses that add up, each with its uses, and the step of the lattice on which all of them lie.
type Sum = (Vec<(Loss, u32)>, Option<f64>);

/// Distributions that make up the loss of all uses.
struct Composed {
    /// All of it, to plan with.
    whole: Vec<(Loss, u32)>,
    /// Parts of it, one beside the other.
    sums: Vec<Sum>,
    /// The sum of losses that are certain, and the logarithm of their probability.
    certain: Interval,
    size: Interval,
    /// Mass at infinite loss, from above.
    infinite: f64,
}

/// What a period off counts for, as a part e^-LOG of δ.
const LOG: f64 = 22.0;

/// What an added Gaussian may add to ε, and what part of δ may be left out: where a bound is stated, and on the way to it.
const FINE: (f64, f64) = (4e-7, 1e-7);
const COARSE: (f64, f64) = (1e-3, 1e-4);

/// Points of a line that are too many to do without an added Gaussian.
const MANY: f64 = 16_384.0;

impl Pld {
    /// For mechanisms whose numbers of uses are fixed in advance.
    pub fn new(parts: Vec<(Source, u32)>) -> Self {
        Self { parts: parts.into_iter().filter(|p| p.1 > 0).collect() }
    }

    /// The ε for which all uses together are (ε, `delta`)-DP, rounded up; infinite if there is none.
    pub fn epsilon(&self, delta: f64) -> Result<f64, PldError> {
        if self.parts.is_empty() {
            return Ok(0.0);
        }
        if delta.is_nan() || delta <= 0.0 {
            return Ok(f64::INFINITY);
        }
        match (self.gaussian()?, self.parts.as_slice()) {
            (Some(square), _) => Ok(gdp::epsilon(square.sqrt().hi(), delta)),
            // One use alone has a closed form.
            (None, [(Source::Curve(curve @ TradeOff::Laplace { epsilon }), 1)]) => {
                Ok(least(0.0, *epsilon, |e| curve.profile(e).hi() <= delta).unwrap_or(*epsilon))
            }
            _ => Ok(self.composed()?.epsilon(delta)),
        }
    }

    /// The δ for which all uses together are (`epsilon`, δ)-DP, rounded up.
    pub fn delta(&self, epsilon: f64) -> Result<f64, PldError> {
        if self.parts.is_empty() {
            return Ok(0.0);
        }
        match self.gaussian()? {
            Some(square) => Ok(gdp::delta(square.sqrt().hi(), epsilon)),
            None => Ok(self.composed()?.delta(epsilon)),
        }
    }

    /// Σμ², where all are Gaussians (Dong, Roth and Su, Corollary 3.3).
    fn gaussian(&self) -> Result<Option<Interval>, PldError> {
        let square = |(source, n): &(Source, u32)| match source {
            Source::Curve(TradeOff::Gaussian { mu }) => Some(Interval::from(*mu).square() * f64::from(*n)),
            _ => None,
        };
        let sum: Option<Interval> = self.parts.iter().map(square).sum();
        match sum {
            Some(sum) if !sum.hi().is_finite() => Err(PldError::Unsuitable),
            sum => Ok(sum),
        }
    }

    fn composed(&self) -> Result<Composed, PldError> {
        let zero = Interval::from(0.0);
        let (mut lattices, mut others, mut square) = (vec![], vec![], zero);
        let (mut certain, mut size, mut kept) = (zero, zero, zero);
        for (source, n) in &self.parts {
            let times = f64::from(*n);
            match source {
                Source::Loss(loss) => {
                    kept = kept + (-loss.infinite()).ln_1p() * times;
                    match Lattice::of(loss)? {
                        Ok(lattice) => lattices.push((lattice, *n)),
                        Err((loss, mass)) => {
                            certain = certain + Interval::from(loss) * times;
                            size = size + Interval::from(mass).ln() * times;
                        }
                    }
                }
                Source::Curve(TradeOff::Gaussian { mu }) => {
                    square = square + Interval::from(*mu).square() * times
                }
                Source::Curve(TradeOff::Laplace { epsilon }) if epsilon.is_finite() && *epsilon >= 0.0 => {
                    others.push((*epsilon, *n));
                }
                Source::Curve(_) => return Err(PldError::Unsuitable),
            }
        }
        others.retain(|o| o.0 > 0.0);
        if !square.hi().is_finite() || !certain.hi().is_finite() {
            return Err(PldError::Unsuitable);
        }
        let steps: Vec<f64> = lattices.iter().map(|(l, _)| l.step).collect();
        let common = Lattice::common(&steps);
        if let Some((step, counts)) = common.as_ref().filter(|_| others.is_empty() && square.hi() == 0.0) {
            for ((lattice, _), n) in lattices.iter_mut().zip(counts) {
                *lattice = lattice.moved(step * f64::from(*n));
            }
        }
        let mut whole: Vec<(Loss, u32)> = lattices.into_iter().map(|(l, n)| (Loss::Lattice(l), n)).collect();
        whole.extend(others.iter().map(|(epsilon, n)| (Loss::Laplace { epsilon: *epsilon }, *n)));
        if square.hi() > 0.0 {
            whole.push((Loss::Gaussian { square: square.hi() }, 1));
        }
        let sums = match (whole.as_slice(), common) {
            ([], _) => vec![],
            ([(Loss::Laplace { epsilon }, n)], _) => {
                let shrunk = ((-Interval::from(*epsilon)).exp() / 2.0).hi();
                let ends = Lattice { first: -epsilon, step: 2.0 * epsilon, masses: vec![shrunk, 0.5] };
                let step = ends.step;
                vec![
                    (vec![(Loss::Lattice(ends), *n)], Some(step)),
                    (vec![(Loss::Between { epsilon: *epsilon }, *n)], None),
                ]
            }
            (all, Some((step, _))) if others.is_empty() && square.hi() == 0.0 => {
                vec![(all.to_vec(), Some(step))]
            }
            (all, _) => vec![(all.to_vec(), None)],
        };
        // 1 - Π(1 - p∞).
        let infinite = (-kept.exp_m1()).hi().clamp(0.0, 1.0);
        Ok(Composed { whole, sums, certain, size, infinite })
    }
}

impl Composed {
    /// The greatest finite loss, without what is certain.
    fn top(&self) -> f64 {
        self.whole.iter().map(|(l, n)| Interval::from(l.top()) * f64::from(*n)).sum::<Interval>().hi()
    }

    fn cumulant(&self, theta: f64) -> f64 {
        self.whole.iter().map(|(l, n)| l.cumulant(theta) * f64::from(*n)).sum()
    }

    /// ln of the greatest (1 - e^-x)·e^(-θx): what Chernoff's bound of δ has beside M(θ)·e^(-θε).
    fn least(theta: f64) -> f64 {
        theta * -libm::log1p(1.0 / theta) - libm::log1p(theta)
    }

    /// The θ that makes `f` least, which falls and then rises.
    fn best(f: impl Fn(f64) -> f64) -> f64 {
        libm::exp(golden_section(|log| f(libm::exp(log)), (-14.0, 12.0), 24).0)
    }

    /// The line for δ at `epsilon`: θ by Chernoff's inequality, and a period such that what is a period off is nothing.
    fn plan(&self, epsilon: f64, negligible: f64) -> Plan {
        let chernoff = |theta: f64| self.cumulant(theta) - theta * epsilon + Self::least(theta);
        let least = Self::best(chernoff);
        let ln_delta = chernoff(least).min(0.0);
        // A steeper line has a shorter period, but its terms are larger and cancel: as many digits as there are to spare.
        let uses: f64 = self.whole.iter().map(|(_, n)| f64::from(*n)).sum();
        let spare = libm::log(1e6 / uses).clamp(0.0, 7.0);
        let (mut theta, mut beyond) = (least, least * 64.0);
        for _ in 0..12 {
            let middle = (theta * beyond).sqrt();
            if chernoff(middle) <= ln_delta + spare { theta = middle } else { beyond = middle }
        }
        // Below: e^(-θP) <= e^-LOG·δ. Above: Chernoff's bound at ε + P for any larger exponent.
        let below = (LOG + 4.0 - ln_delta) / theta;
        let above = (1..40).map(|i| {
            let more = theta * f64::from(i * i) / 64.0;
            (self.cumulant(theta + more) - self.cumulant(theta) - more * epsilon + LOG + 4.0) / more
        });
        // And a tenth more, because it is not known where ε will be.
        let above = above.fold(self.top() - epsilon, f64::min);
        Plan { theta, period: below.max(above) * 1.1, epsilon, delta: libm::exp(ln_delta) * 0.01, negligible }
    }

    fn lines(&self, plan: Plan, slack: f64) -> Vec<Line> {
        let line = |(parts, step): &Sum| {
            let mut tilted: Vec<Tilted> = parts.iter().map(|(l, n)| l.tilted(plan.theta, *n)).collect();
            if step.is_none() && reach(&tilted, plan) * plan.period > std::f64::consts::TAU * MANY {
                let square = 2.0 * slack / (1.0 + plan.theta);
                tilted.push(Loss::Gaussian { square }.tilted(plan.theta, 1));
            }
            Line::new(&tilted, *step, plan)
        };
        self.sums.iter().map(line).collect()
    }

    /// δ without what is infinite, at an ε that certain losses are taken from, and about its derivative.
    fn upper(&self, lines: &[Line], epsilon: f64) -> (f64, f64) {
        let (deltas, slopes): (Vec<f64>, Vec<f64>) = lines.iter().map(|l| l.delta(epsilon)).unzip();
        let sum = deltas.into_iter().map(Interval::from).sum::<Interval>() * self.size.exp();
        (sum.hi().clamp(0.0, 1.0), slopes.into_iter().sum())
    }

    fn delta(&self, epsilon: f64) -> f64 {
        let at = (Interval::from(epsilon) - self.certain).lo();
        let finite = if self.whole.is_empty() {
            (-Interval::from(at).exp_m1() * self.size.exp()).hi().max(0.0)
        } else if at >= self.top() {
            0.0
        } else {
            self.upper(&self.lines(self.plan(at, FINE.1), FINE.0), at).0
        };
        (Interval::from(finite) + self.infinite).hi().min(1.0)
    }

    fn epsilon(&self, delta: f64) -> f64 {
        let left = (Interval::from(delta) - self.infinite).lo();
        if left < 0.0 {
            return f64::INFINITY;
        }
        let top = self.top();
        let zero = -self.certain.hi();
        if zero < top && self.upper(&self.lines(self.plan(zero, COARSE.1), COARSE.0), zero).0 <= left {
            return 0.0;
        }
        if left == 0.0 || self.whole.is_empty() {
            // A certain loss alone: 1 - e^(ε - loss) <= δ.
            let gap = (-(Interval::from(left) / self.size.exp())).ln_1p().at_least(-1e300);
            return (self.certain + gap + if left == 0.0 { top } else { 0.0 }).hi().max(0.0);
        }
        // Chernoff's bound of ε, and from there by Newton's method on ln δ; three times, because the line is chosen for an ε.
        let bound = |theta: f64| (self.cumulant(theta) + Self::least(theta) - libm::log(left)) / theta;
        let mut epsilon = bound(Self::best(bound)).min(top * (1.0 - 1e-12));
        let mut lines = vec![];
        for (slack, negligible) in [COARSE, COARSE, FINE] {
            lines = self.lines(self.plan(epsilon, negligible), slack);
            for _ in 0..12 {
                let (value, slope) = self.upper(&lines, epsilon);
                let change = libm::log(value / left) * value / slope;
                let next = epsilon - change;
                epsilon = if next < top { next } else { f64::midpoint(epsilon, top) };
                if change.is_nan() || change.abs() < 1e-6 * epsilon.abs() {
                    break;
                }
            }
            if !epsilon.is_finite() {
                return f64::INFINITY;
            }
        }
        // What was found need not be trusted: it is enough that δ is small enough here.
        let (guess, mut slack) = (epsilon, 1e-11);
        while epsilon < top && self.upper(&lines, epsilon).0 > left {
            epsilon = guess + slack * guess.abs().max(1e-3);
            slack *= 4.0;
        }
        (Interval::from(epsilon.min(top)) + self.certain).hi().max(0.0)
    }
}

#[cfg(test)]
mod tests;
