//! Columns that rows of grouping sets carry for intervals.

use plan::GroupingSets;
use plan::cut::grouping_sets::GroupingSet;
use plan::noise::Part;
use plan::release::Release;
use std::collections::BTreeMap;

/// Columns that rows of a set carry beside its aggregates, for intervals: the released integers
/// that these follow from, each in a column with the name of the integer of the first set that it
/// stands for, and how many released groups were added up (`n`).
pub(super) struct Carried {
    /// By release and part.
    names: BTreeMap<(usize, usize), (String, Part)>,
    /// The text of how many groups were added up, where it is not one.
    pub added: Option<String>,
}

impl Carried {
    /// In the rows of the SELECT whose first release has this index. None: the set is not made as the first is.
    pub fn of(index: usize, sets: &GroupingSets, set: &GroupingSet, all: &[Release]) -> Option<Self> {
        let integers = sets.integers(all, set)?;
        let names = integers.into_iter().map(|(first, own)| (own, (name(first), sets.part(first))));
        let added = set.added.map(|_| format!("r{index}.n"));
        Some(Self { names: names.collect(), added })
    }

    /// The column of a part.
    pub fn name(&self, release: usize, part: usize) -> String {
        self.names.get(&(release, part)).map(|(name, _)| name.clone()).unwrap_or_default()
    }

    /// The part whose noise it has, as it is known in other rows.
    pub fn part(&self, release: usize, part: usize) -> Option<Part> {
        self.names.get(&(release, part)).map(|(_, part)| *part)
    }
}

pub(super) fn name((release, part): (usize, usize)) -> String {
    format!("e{release}_{part}")
}
