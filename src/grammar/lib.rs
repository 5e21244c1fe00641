//! The text of a fetch as a tree: a grammar of the few forms that are printed, and of listed names alone.
//!
//! It is written for the kernel, against PostgreSQL's manual and not against what prints: whatever PostgreSQL could read in
//! another way than it stands in the tree is refused. Nothing is proven here.

mod names;
pub mod parser;
mod tokens;
pub mod tree;

use std::fmt::Debug;

/// Why a text is not certified. For the operator: it may hold constants of the statement, and no rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not certified: {reason}: {fragment}")]
pub struct Uncertified {
    /// What was found, in constant words.
    pub reason: &'static str,
    /// The piece of the text where it was found, shortened.
    pub fragment: String,
}

/// What was read, or why it is not.
pub type Result<T> = std::result::Result<T, Uncertified>;

/// What of a text is shown.
const FRAGMENT: usize = 200;

/// What must hold, or else the reason in constant words for which a text is refused.
pub fn ensure(holds: bool, reason: &'static str, at: impl Debug) -> Result<()> {
    if holds { Ok(()) } else { refuse(reason, at) }
}

/// Not this, for a reason in constant words.
pub fn refuse<T>(reason: &'static str, at: impl Debug) -> Result<T> {
    Err(Uncertified { reason, fragment: format!("{at:?}").chars().take(FRAGMENT).collect() })
}
