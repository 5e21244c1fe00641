//! For tests: the same composition by another way. Losses on a grid, masses as integers, which are convolved exactly and
//! rounded up: an upper bound without any argument about floats, but one that rises with the grid.
#![allow(clippy::unwrap_used)]

mod base;
mod ntt;
mod power;

use super::{Pld, PldError, Source};
use crate::interval::Interval;
use base::Base;
use power::{Tilted, Windows};

/// Composed in integers.
pub(super) struct Exactly<'a>(pub(super) &'a Pld);

/// What is not listed may add this part of δ.
const NEGLIGIBLE: f64 = 1e-7;

impl Exactly<'_> {
    /// The ε for which all uses together are (ε, `delta`)-DP, rounded up; infinite if there is none.
    pub(super) fn epsilon(&self, delta: f64) -> Result<f64, PldError> {
        if self.0.parts.is_empty() {
            return Ok(0.0);
        }
        if delta.is_nan() || delta <= 0.0 {
            return Ok(f64::INFINITY);
        }
        let tilt = |windows: &Windows| windows.tilt_for_delta(delta);
        Ok(self.composed(delta, tilt)?.epsilon(delta))
    }

    /// The loss of all uses together, good where δ is about `scale`.
    fn composed(&self, scale: f64, tilt: impl Fn(&Windows) -> f64) -> Result<Composed, PldError> {
        let uses: f64 = self.0.parts.iter().map(|p| f64::from(p.1)).sum();
        // Of what is lost above a base's top, and of what windows cut off.
        let beyond = scale * NEGLIGIBLE / (8.0 * uses);
        let step = self.step(uses, beyond)?;
        let bases = self
            .0
            .parts
            .iter()
            .map(|(source, n)| Ok((source.discretised(step, beyond)?, *n)))
            .collect::<Result<Vec<(Base, u32)>, PldError>>()?;
        let windows = Windows::new(&bases, step, beyond);
        let theta = tilt(&windows);
        let (product, lost) = Tilted::product(&bases, step, theta, &windows)?;
        // 1 - Π(1 - p∞) is at most the sum.
        let infinite =
            bases.iter().map(|(b, n)| Interval::from(b.infinite) * f64::from(*n)).sum::<Interval>();
        Ok(Composed { atoms: product.untilted(step, theta), rest: (infinite + lost).hi() })
    }

    /// A power of two, such that the losses that matter take at most 2^17 steps: 2^18 for few uses, which cost little, and
    /// more for very many, whose single loss must still span several steps.
    fn step(&self, uses: f64, beyond: f64) -> Result<f64, PldError> {
        let (mut square, mut longest, mut all) = (0.0, 0.0f64, 0.0);
        for (source, n) in &self.0.parts {
            let (reach, each) = source.size(beyond)?;
            square += each * f64::from(*n);
            longest = longest.max(reach);
            all += reach * f64::from(*n);
        }
        let spread: f64 = square;
        let range = (20.0 * spread.sqrt()).max(2.0 * longest).min(2.0 * all);
        if range == 0.0 {
            // No loss at all, but for the infinite.
            return Ok(1.0);
        }
        let many = libm::log2((uses / 5e4).sqrt()).ceil().clamp(0.0, 3.0);
        let fine = if uses <= 1000.0 { 18.0 } else { 17.0 + many };
        let step = libm::exp2((libm::log2(range) - fine).ceil());
        if step.is_normal() { Ok(step) } else { Err(PldError::Unsuitable) }
    }
}

/// Masses at rising losses, and what has none.
struct Composed {
    /// (loss, mass).
    atoms: Vec<(f64, Interval)>,
    /// Mass at infinite loss and beyond the windows.
    rest: f64,
}

impl Composed {
    fn delta(&self, epsilon: f64) -> f64 {
        let start = self.atoms.partition_point(|a| a.0 <= epsilon);
        let term = |(loss, mass): &(f64, Interval)| *mass * -(Interval::from(epsilon) - *loss).exp_m1();
        let sum: Interval = self.atoms.iter().skip(start).map(term).sum();
        (sum + self.rest).hi().clamp(0.0, 1.0)
    }

    fn epsilon(&self, delta: f64) -> f64 {
        if self.delta(0.0) <= delta {
            return 0.0;
        }
        if self.rest > delta {
            return f64::INFINITY;
        }
        // From the top, δ(ε) = A - e^ε·B between two losses: floats find the place, the check below decides.
        let (mut a, mut b) = (self.rest, 0.0);
        let mut guess = self.atoms.last().map_or(0.0, |top| top.0);
        for (loss, mass) in self.atoms.iter().rev() {
            if a - libm::exp(*loss) * b > delta {
                break;
            }
            a += mass.hi();
            b += mass.hi() * libm::exp(-loss);
            guess = libm::log((a - delta) / b).clamp(0.0, *loss);
        }
        let mut slack = 1e-14;
        let mut epsilon = guess;
        while self.delta(epsilon) > delta {
            epsilon = guess + slack * guess.max(1e-3);
            slack *= 4.0;
        }
        epsilon
    }
}
