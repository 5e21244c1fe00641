//! What a release will draw, fixed from public data before anything is charged.

use super::Ratio;

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

impl Spec {
    /// The events of this release.
    pub fn events(&self) -> Vec<Event> {
        let laplace = |sensitivity, scale: &Ratio| Event {
            mechanism: Mechanism::DiscreteLaplace { sensitivity, scale: *scale },
            times: self.l0,
        };
        let selection = self.selection.iter().map(|s| laplace(1, &s.scale));
        selection.chain(self.aggregates.iter().map(|a| laplace(a.linf, &a.scale))).collect()
    }
}
