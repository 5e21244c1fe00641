//! The claim that is proven of a text.

use std::collections::BTreeSet;

/// A bound on what one unit can change in the answer of a text.
///
/// A row of the answer holds the keys of a group, the number of its units where it [selects](Self::selects) or what these add up to by
/// its [weights](Self::weights), and an integer for each part. Between neighbours at most [`l0`](Self::l0) rows differ, come or go, and in each of them the number of units by at
/// most 1, and each part by at most its `linf`; over all rows each part keeps to its norms. A row that comes or goes counts
/// as one whose integers were 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The text takes a seed as `$1`. What it takes behind has nothing to do with private rows but through what was released.
    pub seeded: bool,
    /// Number of columns that are group keys. They come first.
    pub keys: usize,
    /// The column behind the keys counts the units of the group, or adds up what they weigh.
    pub selects: bool,
    /// The weight that a unit adds to that column.
    pub weights: Weights,
    /// The columns behind.
    pub parts: Vec<Part>,
    /// The most groups that one unit can touch; [`u64::MAX`] when nothing bounds them.
    pub l0: u64,
    /// The groups that come back, and their order, have nothing to do with private rows. Where they
    /// do, and no units are counted either, only the integers may be looked at, of groups known from elsewhere.
    pub public: bool,
    /// All tables of the policy that it reads, by their places: budgets by table, and what is checked of the schema, are of these.
    pub tables: BTreeSet<usize>,
}

/// A column of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The most that one unit can change the part by in one group.
    pub linf: u128,
    /// The sum over all groups of how much it changes in each; None where no number holds it.
    pub l1: Option<u128>,
    /// The sum over all groups of the squares of that.
    pub l2_squared: Option<u128>,
    /// A unit that comes lowers it in no group.
    pub rises: bool,
}

impl Part {
    /// The part that changes by at most `linf` in each of `l0` groups.
    pub fn in_each(linf: u128, l0: Option<u64>) -> Self {
        let times = |n: u128| n.checked_mul(l0?.into());
        Self { linf, l1: times(linf), l2_squared: linf.checked_mul(linf).and_then(times), rises: false }
    }

    /// The same, where a unit that comes lowers it in no group, if it is so.
    #[must_use]
    pub fn rising(self, rises: bool) -> Self {
        Self { rises, ..self }
    }

    /// The part that changes as one or the other says.
    pub(super) fn either(self, other: Self) -> Self {
        let most = |a: Option<u128>, b: Option<u128>| a.zip(b).map(|(a, b)| a.max(b));
        Self {
            linf: self.linf.max(other.linf),
            l1: most(self.l1, other.l1),
            l2_squared: most(self.l2_squared, other.l2_squared),
            rises: self.rises && other.rises,
        }
    }

    /// The part that changes by at most this in all groups together, all of which may be in one.
    pub fn in_all(l1: u128) -> Self {
        Self { linf: l1, l1: Some(l1), l2_squared: l1.checked_mul(l1), rises: false }
    }
}

/// Weight of a unit in the number by which its groups are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// 1 to each.
    Units,
    /// ⌊w/s⌋ to each of s groups.
    Sum(u64),
    /// ⌊w/√s⌋ to each of s groups.
    Squares(u64),
}
