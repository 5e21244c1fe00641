//! Translation validation, as certifying compilers do it: what one unit can change in the answer of a fetch, proven from
//! the very text that is sent, under the facts of the policy and the schema.
//!
//! `plan` decides, `emit` prints, and noise is calibrated to what they say; neither is believed here, nor imported. The
//! text is parsed anew, by `grammar`, which knows the few forms that are printed and listed names alone. Rows of private
//! tables must be of one unit each (`rows`, `facts`), groups and what a unit adds to each of them must be bounded
//! (`stages`, `sums`, `weights`), domains must be public (`domain`). What is not understood is refused.
//!
//! Neighbouring databases differ by all rows of one unit in all private tables; public tables are the same, and so are
//! rows of nobody, whose unit is NULL or whose path leads nowhere. Whether a text fails on chosen rows is not looked at.

mod claim;
mod clocks;
mod domain;
mod facts;
mod forms;
mod light;
mod rows;
mod stages;
mod sums;
#[cfg(test)]
mod tests;
mod types;
mod weights;

pub use claim::{Claim, Part, Weights};
pub use grammar::Uncertified;
use policy::Policy;

/// A text, and what one unit can change in its answer. [`certify`] alone makes it, and nobody can change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certified {
    text: String,
    claim: Claim,
}

impl Certified {
    /// A text that nothing was proven of, for tests of what runs texts. The feature is enabled by dev-dependencies alone
    /// (`the_program_runs_certified_texts_only`).
    #[cfg(feature = "testing")]
    pub fn unproven(text: &str, keys: usize, selects: bool, parts: Vec<Part>) -> Self {
        let (seeded, weights, tables) = (false, Weights::Units, Default::default());
        let claim = Claim { seeded, keys, selects, weights, parts, l0: 1, public: true, tables };
        Self { text: text.to_owned(), claim }
    }

    /// The text that was certified, to the letter.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl std::ops::Deref for Certified {
    type Target = Claim;

    fn deref(&self) -> &Claim {
        &self.claim
    }
}

/// Proves what one unit can change in the answer of this text, or refuses it.
pub fn certify(sql: &str, policy: &Policy) -> std::result::Result<Certified, Uncertified> {
    Ok(Certified { text: sql.to_owned(), claim: stages::certify(sql, policy)? })
}
