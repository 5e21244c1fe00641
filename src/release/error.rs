//! Reasons why nothing is released.

use answer::{ClientError, SqlState};
use dp::{DpError, EntropyError};

/// Why nothing is released. Never holds a value; which column is wrong is for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The fetch did not give what the plan says it gives.
    #[error("a fetch gave column {column} as {problem}")]
    Column {
        /// Counted from 0.
        column: usize,
        /// The problem.
        problem: &'static str,
    },
    /// Rows and specification differ in shape.
    #[error("a fetch has another number of columns than its release")]
    Shape,
    /// The kernel proved less than the release has noise for.
    #[error("the fetch may change by more than its release has noise for")]
    Uncertified,
    /// An integer that no number of units can bring about.
    #[error("a fetch gave more than its units can add up to")]
    Impossible,
    /// The receipt is for other releases than these.
    #[error("the receipt was paid for another charge")]
    Receipt,
    /// A specification that no noise can be drawn for.
    #[error("a release cannot be drawn: {0}")]
    Spec(#[from] DpError),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl ReleaseError {
    /// The client's error: a constant and an id.
    pub fn client(&self) -> ClientError {
        ClientError::incident(SqlState::INTERNAL, "the answer could not be released", self)
    }
}
