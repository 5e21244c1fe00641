//! The loss of one use as masses on equidistant losses: never less than it is.

use super::super::interval::Interval;
use super::super::loss::{Atom, PrivacyLoss};
use super::error::PldError;

/// Masses, from above, at losses `first` + i·`step`, of which the first and the last are not zero.
#[derive(Clone, Debug)]
pub(super) struct Lattice {
    pub(super) first: f64,
    pub(super) step: f64,
    pub(super) masses: Vec<f64>,
}

/// No lattice has more points.
const MOST: f64 = 2_097_152.0;

/// Losses that lie on no lattice are put on one of so many steps.
const STEPS: f64 = 4096.0;

impl Lattice {
    /// Randomised response, discrete Laplace and discrete Gaussian noise have losses that are equidistant: nothing is rounded
    /// but the last digits, up. Where they are not, each outcome is split (`split`). None where there is no loss but one: that
    /// one, and its mass.
    pub(super) fn of(loss: &PrivacyLoss) -> Result<Result<Self, (f64, f64)>, PldError> {
        let mut atoms: Vec<(f64, f64)> =
            loss.atoms().iter().map(|a| (a.loss.hi(), a.mass.hi())).filter(|a| a.1 > 0.0).collect();
        if atoms.iter().any(|a| !a.0.is_finite() || !a.1.is_finite()) {
            return Err(PldError::Unsuitable);
        }
        atoms.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(low), Some(high)) = (atoms.first().copied(), atoms.last().copied()) else {
            return Ok(Err((0.0, 0.0)));
        };
        let width = high.0 - low.0;
        if width == 0.0 {
            return Ok(Err((low.0, atoms.iter().map(|a| Interval::from(a.1)).sum::<Interval>().hi())));
        }
        let gaps = atoms.windows(2).filter_map(|pair| match pair {
            [a, b] if b.0 - a.0 > width * 1e-12 => Some(b.0 - a.0),
            _ => None,
        });
        let least = gaps.fold(width, f64::min);
        let count = libm::round(width / least);
        let step = width / count;
        let index = |loss: f64| libm::round((loss - low.0) / step);
        let fits = |a: &(f64, f64)| ((a.0 - low.0) / step - index(a.0)).abs() < 1e-7;
        if count < MOST && atoms.iter().all(fits) {
            // The first point is so high that no loss is above its own.
            let above = |a: &(f64, f64)| (Interval::from(a.0) - Interval::from(index(a.0)) * step).hi();
            let first = atoms.iter().map(above).fold(f64::NEG_INFINITY, f64::max);
            let mut masses = vec![Interval::from(0.0); count as usize + 1];
            for a in &atoms {
                if let Some(mass) = masses.get_mut(index(a.0) as usize) {
                    *mass = *mass + a.1;
                }
            }
            return Ok(Ok(Self { first, step, masses: masses.iter().map(|m| m.hi()).collect() }));
        }
        Ok(Ok(Self::split(loss.atoms(), low.0, width / STEPS)))
    }

    /// Each outcome between two points of the lattice becomes two outcomes at them with the same probability under both
    /// distributions: with r above the lower point, p·(1 - e^-r)/(1 - e^-h) at the upper. δ(ε) is convex in the pair of
    /// probabilities, so it can only rise.
    fn split(atoms: &[Atom], first: f64, step: f64) -> Self {
        let mut masses = vec![Interval::from(0.0); STEPS as usize + 2];
        let whole = -Interval::from(-step).exp_m1();
        for atom in atoms {
            let at = atom.loss.hi();
            let below = ((at - first) / step).floor().max(0.0);
            let rest =
                (Interval::from(at) - first - Interval::from(below) * step).at_least(0.0).at_most(step);
            let share = -(-rest).exp_m1() / whole;
            let other = ((-rest).exp() - (-Interval::from(step)).exp()).at_least(0.0) / whole;
            for (mass, part) in masses.iter_mut().skip(below as usize).zip([other, share]) {
                *mass = *mass + atom.mass * part;
            }
        }
        Self { first: first.next_up(), step, masses: masses.iter().map(|m| m.hi().max(0.0)).collect() }
    }

    /// The same losses, or a little more, on a step that is `step` times a whole number.
    pub(super) fn moved(&self, step: f64) -> Self {
        // Losses are linear in the index: it is enough that neither end becomes less.
        let last = self.masses.len().saturating_sub(1) as f64;
        let short = (Interval::from(self.step) - step) * last;
        Self { first: (Interval::from(self.first) + short.at_least(0.0)).hi(), step, ..self.clone() }
    }

    /// The greatest loss, from above.
    pub(super) fn top(&self) -> f64 {
        (Interval::from(self.masses.len().saturating_sub(1) as f64) * self.step + self.first).hi()
    }

    /// A step that all have a whole number of, but for 10^-13 of themselves, and how many each has. None where there is none
    /// above 1/64 of the least.
    pub(super) fn common(steps: &[f64]) -> Option<(f64, Vec<u32>)> {
        let least = steps.iter().copied().fold(f64::INFINITY, f64::min);
        (1..=64u32).find_map(|parts| {
            let step = least / f64::from(parts);
            let counts = steps.iter().map(|s| {
                let n = libm::round(s / step);
                (n < 4096.0 && (s / step - n).abs() < 1e-13 * n).then_some(n as u32)
            });
            Some((step, counts.collect::<Option<Vec<u32>>>()?))
        })
    }
}
