//! Released integers in rows of grouping sets: each set has releases of its own, or sums of another's, so that one aggregate has
//! other noise in each.
//!
//! The integers of the first set stand for those of all others: what is told of noise in other rows, by which statements are
//! followed, names them alone. That needs every set to be made alike, which is looked at here and not assumed.

use super::uncertain::numbers;
use crate::aggregates::Output;
use crate::cut::grouping_sets::{GroupingSet, GroupingSets};
use crate::noise::{Part, Rows};
use crate::release::Release;
use std::collections::BTreeMap;

/// A released integer: its release, by its place among all, and its own place there.
pub type Place = (usize, usize);

impl GroupingSets {
    /// The source of an aggregate, by its place, in a set: a release, by its place among all, and
    /// the estimator.
    pub fn released<'r>(
        &self,
        all: &'r [Release],
        set: &GroupingSet,
        aggregate: usize,
    ) -> Option<(usize, &'r Release, &'r Output)> {
        let wanted = self.aggregates.get(aggregate)?;
        let own = all.iter().enumerate().filter(|(_, r)| (r.select, r.set) == (self.select, set.of));
        own.into_iter().find_map(|(i, r)| {
            r.outputs.iter().find(|(have, _)| have == wanted).map(|(_, output)| (i, r, output))
        })
    }

    /// The integers of a set, by those of the first set that they stand for. None where the set is not made as the first one is.
    pub fn integers(&self, all: &[Release], set: &GroupingSet) -> Option<BTreeMap<Place, Place>> {
        let first = self.sets.first()?;
        let (mut found, mut back) = (BTreeMap::new(), BTreeMap::new());
        for aggregate in 0..self.aggregates.len() {
            let parts = |set| self.released(all, set, aggregate).map(|(i, _, output)| (i, numbers(output)));
            // GROUPING(…) is no aggregate of rows.
            let (Some((theirs, their)), Some((ours, our))) = (parts(first), parts(set)) else { continue };
            if their.len() != our.len() {
                return None;
            }
            for (a, b) in their.into_iter().zip(our) {
                let (a, b) = ((theirs, a), (ours, b));
                if *found.entry(a).or_insert(b) != b || *back.entry(b).or_insert(a) != a {
                    return None;
                }
            }
        }
        Some(found)
    }

    /// Whether rows may share their noise: those of one set are sums of another's.
    pub fn share(&self) -> bool {
        self.sets.iter().any(|set| set.added.is_some())
    }

    /// An integer of the first set, as a row sees it.
    pub fn part(&self, (release, part): Place) -> Part {
        Part { release, part, rows: if self.share() { Rows::Any } else { Rows::Own } }
    }
}
