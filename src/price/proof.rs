//! Proofs about fetches, without their texts.

use dp::{Sensitivity, Spec};
use kernel::{Certified, Part};

/// A proof of the change that one unit can make in the answer of a fetch, without the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Groups that it touches.
    pub(super) l0: u64,
    /// What it adds to the number by which its groups are selected.
    pub(super) weights: kernel::Weights,
    /// Each integer behind the keys and the units.
    pub(super) parts: Vec<Part>,
    /// The groups have nothing to do with private rows.
    pub(super) public: bool,
    /// The number of units of a group, or what they weigh, is counted.
    pub(super) selects: bool,
    /// How many columns are group keys.
    pub(super) keys: usize,
}

impl From<&Certified> for Proof {
    fn from(of: &Certified) -> Self {
        Self {
            l0: of.l0,
            weights: of.weights,
            parts: of.parts.clone(),
            public: of.public,
            selects: of.selects,
            keys: of.keys,
        }
    }
}

impl Proof {
    /// A proof of nothing, for tests of what relies on it: groups that a unit touches, its weight,
    /// the parts, whether groups are public, and whether they are selected.
    #[cfg(feature = "testing")]
    pub fn unproven(
        l0: u64,
        weights: kernel::Weights,
        parts: Vec<Part>,
        public: bool,
        selects: bool,
    ) -> Self {
        Self { l0, weights, parts, public, selects, keys: 1 }
    }

    /// Integers behind the keys and the units.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether the groups have nothing to do with private rows.
    pub fn public(&self) -> bool {
        self.public
    }

    /// What one unit changes of an integer, over all groups.
    pub(super) fn sensitivity(&self, part: &Part) -> Sensitivity {
        let unbounded = u128::MAX;
        Sensitivity {
            groups: self.l0,
            linf: part.linf,
            l1: part.l1.unwrap_or(unbounded),
            l2_squared: part.l2_squared.unwrap_or(unbounded),
        }
    }

    /// The same release with what was proven in the place of what was planned. Of a choice of the greatest counts as many groups come
    /// back as are chosen, whichever they are.
    pub(super) fn proven(&self, spec: &Spec) -> Spec {
        let mut spec = spec.clone();
        for (noise, part) in spec.aggregates.iter_mut().zip(&self.parts) {
            noise.sensitivity = match &spec.top {
                Some(top) => Sensitivity::in_each(part.linf, top.choices().into()),
                None => self.sensitivity(part),
            };
        }
        if spec.selection.is_some() {
            // No more than the threshold was made for, which `covers` sees to.
            spec.l0 = spec.l0.min(u32::try_from(self.l0).unwrap_or(u32::MAX)).max(1);
        }
        spec
    }
}
