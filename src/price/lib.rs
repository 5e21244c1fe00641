//! Prices of certified fetches: the only way from proofs about texts to charges in the books
//! (soundness rule 47).
//!
//! The planner proposes noise, and a price by what it thinks that one unit changes. The charge that
//! is booked is computed here, from the norms that the kernel has proven of the very text and the
//! noise that will be drawn, at the worst vector of changes that these norms allow
//! ([`dp::Sensitivity`]). No I/O.

mod covers;
mod proof;
#[cfg(test)]
mod tests;

pub use covers::covers;
pub use proof::Proof;

use dp::{Charge, DpError, Ratio, Spec};

/// A charge that follows from proofs. Its constructors are the only ways to one, and the ledger debits nothing else.
///
/// * [`Proven::of`]: fetches, each with its certificate and the noise that is drawn for it.
/// * [`Proven::of_stream`]: the opening of a stream, whose questions are each compared with their certificate when they are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven(Charge);

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
