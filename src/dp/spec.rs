//! What a release will draw, fixed from public data before anything is charged.

use super::{DiscreteLaplace, DpError, Ratio};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul};

/// Integer noise for one aggregate, the same in every group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noise {
    /// How much one unit can change this aggregate in one group, in grid units (l∞).
    pub linf: u128,
    /// Scale b of the discrete Laplace distribution, P(x) ∝ exp(-|x|/b), in grid units.
    pub scale: Ratio,
}

/// How private groups are selected: a group is kept when its number of distinct units plus discrete Laplace noise
/// of this scale is at least the threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Scale of the noise on the number of units (sensitivity 1 per group).
    pub scale: Ratio,
    /// Keep when noisy count >= threshold.
    pub threshold: i128,
    /// Probability that a group of one unit alone is kept, over all l0 of them; rounded up.
    pub delta: Ratio,
}

/// One release: groups (public, or selected), and noise for each aggregate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Groups one unit may touch.
    pub l0: u32,
    /// One entry per aggregate of the fetch, in order.
    pub aggregates: Vec<Noise>,
    /// None where all groups are public. Where it is some, the fetch's first integer column after the keys is the
    /// number of distinct units, before the aggregates.
    pub selection: Option<Selection>,
}

/// A mechanism and the parameters that decide its privacy loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// Discrete Laplace noise of scale b on an integer of sensitivity Δ.
    DiscreteLaplace {
        /// Δ.
        sensitivity: u128,
        /// b.
        scale: Ratio,
    },
}

/// A mechanism used so many times on the same unit's data (once per group that the unit may touch).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The mechanism.
    pub mechanism: Mechanism,
    /// How often.
    pub times: u32,
}

/// The price of a statement, in no notion yet: each budget turns the events into its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The ε that names the price.
    pub epsilon: Ratio,
    /// All events of all releases.
    pub events: Vec<Event>,
    /// δ of group selection, all releases together.
    pub selection_delta: Ratio,
}

/// An equal share of ε (or δ) for each of `n` releases of a statement. The shares add up to it exactly.
pub fn split(whole: &Ratio, n: usize) -> Result<Ratio, DpError> {
    let n = u128::try_from(n).unwrap_or(u128::MAX);
    whole.checked_div(&Ratio::from_integer(n)).ok_or(DpError::OutOfRange("a price split over its releases"))
}

impl Spec {
    /// A release by discrete Laplace noise that costs ε = `epsilon` in all.
    ///
    /// A unit touches at most `l0` groups, and changes aggregate j by at most `linf[j]` in each; where
    /// `selection_delta` is some, groups are private and selected by their number of units (sensitivity 1). ε is split
    /// evenly over the aggregates that need noise and the selection: with k such parts, the scale of part j is
    /// l0·linf\[j\]·k/ε. An aggregate with `linf` 0 is a constant: it gets no noise (scale 0) and no share.
    pub fn laplace(
        epsilon: &Ratio,
        l0: u32,
        linf: &[u128],
        selection_delta: Option<&Ratio>,
    ) -> Result<Self, DpError> {
        if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        if l0 == 0 {
            return Err(DpError::NoGroups);
        }
        let parts = linf.iter().filter(|&&l| l > 0).count() + usize::from(selection_delta.is_some());
        let share = split(epsilon, parts.max(1))?;
        let scale = |linf: u128| -> Result<Ratio, DpError> {
            if linf == 0 {
                return Ok(Ratio::from_integer(0));
            }
            let l1 = linf.checked_mul(u128::from(l0)).map(Ratio::from_integer);
            let b = l1.and_then(|l1| l1.checked_div(&share)).ok_or(DpError::OutOfRange("a noise scale"))?;
            DiscreteLaplace::new(&b).map(|_| b)
        };
        let aggregates = linf
            .iter()
            .map(|&linf| Ok(Noise { linf, scale: scale(linf)? }))
            .collect::<Result<Vec<_>, DpError>>()?;
        let selection = match selection_delta {
            Some(delta) => Some(Selection::new(l0, &scale(1)?, delta)?),
            None => None,
        };
        Ok(Self { l0, aggregates, selection })
    }

    /// The events of this release. Constants cost nothing and are not among them.
    pub fn events(&self) -> Vec<Event> {
        let laplace = |sensitivity, scale: &Ratio| Event {
            mechanism: Mechanism::DiscreteLaplace { sensitivity, scale: *scale },
            times: self.l0,
        };
        let selection = self.selection.iter().map(|s| laplace(1, &s.scale));
        let noisy = self.aggregates.iter().filter(|a| a.linf > 0);
        selection.chain(noisy.map(|a| laplace(a.linf, &a.scale))).collect()
    }
}

impl Event {
    /// The pure ε of all uses together, times·Δ/b. None where there is none (no noise on what a unit can change),
    /// or where it does not fit.
    pub fn epsilon(&self) -> Option<Ratio> {
        let Mechanism::DiscreteLaplace { sensitivity, scale } = &self.mechanism;
        if *sensitivity == 0 || self.times == 0 {
            return Some(Ratio::from_integer(0));
        }
        if *scale.numer() == 0 || *scale.denom() == 0 {
            return None;
        }
        let once = Ratio::from_integer(*sensitivity).checked_div(scale)?;
        once.checked_mul(&Ratio::from_integer(u128::from(self.times)))
    }
}

impl Charge {
    /// The charge for all releases of a statement whose price is named by `epsilon`.
    ///
    /// Refuses releases whose events cost more than `epsilon` in all (soundness rule 23); they cost less only where a
    /// release holds constants alone.
    pub fn of(epsilon: &Ratio, specs: &[Spec]) -> Result<Self, DpError> {
        if *epsilon.numer() == 0 || *epsilon.denom() == 0 {
            return Err(DpError::Epsilon);
        }
        let events: Vec<Event> = specs.iter().flat_map(Spec::events).collect();
        let zero = Ratio::from_integer(0);
        let total = events.iter().try_fold(zero, |sum, event| sum.checked_add(&event.epsilon()?));
        if total.ok_or(DpError::OutOfRange("the price of a statement"))? > *epsilon {
            return Err(DpError::Mispriced);
        }
        let mut selections = specs.iter().filter_map(|s| s.selection.as_ref());
        let selection_delta = selections
            .try_fold(zero, |sum, s| sum.checked_add(&s.delta))
            .ok_or(DpError::OutOfRange("the delta of a statement"))?;
        Ok(Self { epsilon: *epsilon, events, selection_delta })
    }
}

impl Noise {
    /// Half the width of the interval that holds 95 % of the noise, in grid units: the least w with
    /// P(|X| > w) = 2q^(w+1)/(1+q) <= 1/20, q = e^(-1/b). For display.
    pub fn error95(&self) -> f64 {
        let b = *self.scale.numer() as f64 / *self.scale.denom() as f64;
        if b.is_nan() || b <= 0.0 {
            return 0.0;
        }
        let q = libm::exp(-1.0 / b);
        libm::ceil(b * libm::log(40.0 / (1.0 + q)) - 1.0).max(0.0)
    }
}

#[cfg(test)]
mod tests;
