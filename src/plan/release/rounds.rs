//! Private keys that are all that is asked for, in rounds: each selects among the groups that no round before it has, with more of
//! the price, and units weigh less the more of these they are in (Swanberg, Desfontaines and Haney, "DP-SIPS: A simpler, more
//! scalable mechanism for differentially private partition selection", 2023).
//!
//! What a round has selected is released, and so is a constant to the next: that leaves out rows by their keys, each by itself,
//! and what is left is as private as all rows are. Of groups that many units share the first round finds most, by little of the
//! price; units that were in these have their whole weight for the others.

use super::model::Release;
use crate::bound::bounding::Norm;
use dp::{ROUNDS, WHOLE, Weights};

impl Release {
    /// The rounds of a release that has nothing but keys, where a unit may be in several of its groups; else itself.
    pub(super) fn in_rounds(self) -> Vec<Self> {
        if !self.selects() || !self.parts.is_empty() || self.bounding.l0() < 2 {
            return vec![self];
        }
        (0..ROUNDS).map(|round| Self { round: Some(round), ..self.clone() }).collect()
    }

    /// The release follows rounds that left something over.
    pub fn is_later_round(&self) -> bool {
        self.round.is_some_and(|round| round > 0)
    }

    /// The release is the last round: groups that are left over after it are not selected.
    pub fn is_last_round(&self) -> bool {
        self.round.is_some_and(|round| round + 1 == ROUNDS)
    }

    /// Another round follows, for the groups that this one leaves over.
    pub fn is_followed(&self) -> bool {
        self.round.is_some() && !self.is_last_round()
    }

    /// The rounds before this one, by their places among these releases.
    pub fn rounds_before<'r>(&self, all: &'r [Self]) -> impl Iterator<Item = usize> + use<'r> {
        let (select, set, round) = (self.select, self.set, self.round);
        let before =
            move |r: &Self| (r.select, r.set) == (select, set) && r.round.is_some() && r.round < round;
        all.iter().enumerate().filter(move |(_, r)| before(r)).map(|(place, _)| place)
    }

    /// The last of the rounds of this release, or itself.
    pub fn last_round<'r>(&'r self, all: &'r [Self]) -> &'r Self {
        let own = |r: &&Self| (r.select, r.set) == (self.select, self.set) && r.is_last_round();
        all.iter().find(own).filter(|_| self.round.is_some()).unwrap_or(self)
    }

    /// To what weights of a unit add up over its groups, where by weights they are selected: in the norm of the noise.
    pub fn weights(&self) -> Option<Norm> {
        let chosen = self.spec.selection.as_ref().map(|s| s.weights);
        self.round.map(|_| match chosen {
            Some(Weights::Squares(w)) => Norm::Squares(w),
            _ => Norm::Sum(WHOLE),
        })
    }

    /// The number of the first parameter behind the seed and the values of stages, of which a fetch takes as many as it
    /// looks at.
    pub fn behind_given(&self) -> usize {
        2 + self.given_width()
    }

    /// Number of values of stages that the fetch takes.
    pub fn given_width(&self) -> usize {
        self.given.iter().max().map_or(0, |last| last + 1)
    }
}
