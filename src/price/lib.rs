//! Prices of certified fetches: the only way from proofs about texts to charges in the books
//! (soundness rule 47).
//!
//! The planner proposes noise, and a price by what it thinks that one unit changes. The charge that
//! is booked is computed here, from the norms that the kernel has proven of the very text and the
//! noise that will be drawn, at the worst vector of changes that these norms allow
//! ([`dp::Sensitivity`]). No I/O.

mod covers;
#[cfg(test)]
mod tests;

pub use covers::covers;

use dp::{Charge, DpError, Ratio, Sensitivity, Spec};
use kernel::{Certified, Part};

/// A charge that follows from proofs. Its constructors are the only ways to one, and the ledger debits nothing else.
///
/// * [`Proven::of`]: fetches, each with its certificate and the noise that is drawn for it.
/// * [`Proven::of_stream`]: the opening of a stream, whose questions are each compared with their certificate when they are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven(Charge);

/// A proof of the change that one unit can make in the answer of a fetch, without the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Groups that it touches.
    l0: u64,
    /// What it adds to the number by which its groups are selected.
    weights: kernel::Weights,
    /// Each integer behind the keys and the units.
    parts: Vec<Part>,
    /// The groups have nothing to do with private rows.
    public: bool,
    /// The number of units of a group, or what they weigh, is counted.
    selects: bool,
    /// How many columns are group keys.
    keys: usize,
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
    fn sensitivity(&self, part: &Part) -> Sensitivity {
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
    fn proven(&self, spec: &Spec) -> Spec {
        let mut spec = spec.clone();
        for (noise, part) in spec.aggregates.iter_mut().zip(&self.parts) {
            noise.sensitivity = match spec.top {
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

impl Proven {
    /// The charge for these fetches, which are released with this noise and under this name of a price.
    ///
    /// # Errors
    /// [`DpError`] where the noise does not cover what was proven ([`covers`]), or costs more than its name.
    pub fn of(epsilon: &Ratio, fetches: &[(Proof, &Spec)]) -> Result<Self, DpError> {
        if fetches.iter().any(|(proof, spec)| !covers(proof, spec, true)) {
            return Err(DpError::Mispriced);
        }
        let specs: Vec<Spec> = fetches.iter().map(|(proof, spec)| proof.proven(spec)).collect();
        Charge::of(epsilon, &specs).map(Self)
    }

    /// The charge for opening a stream of this plan.
    ///
    /// # Errors
    /// Its guarantee has no ε that names it.
    pub fn of_stream(plan: &dp::sparse::Plan) -> Result<Self, DpError> {
        Charge::guaranteed(&plan.guarantee()).map(Self)
    }

    /// A charge that follows from nothing, for tests of the books. The feature is enabled by dev-dependencies alone
    /// (`rule_46_the_program_runs_certified_texts_only`).
    #[cfg(feature = "testing")]
    pub fn unproven(charge: Charge) -> Self {
        Self(charge)
    }

    /// The charge.
    pub fn charge(&self) -> &Charge {
        &self.0
    }
}
