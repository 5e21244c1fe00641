//! A difference between the policy that the books were kept under and another one.

/// A difference, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The difference.
    pub what: String,
    /// Why it is not taken over without being accepted; None where nothing is forgotten.
    pub forgets: Option<String>,
    /// Spending that starts anew with it.
    pub(crate) anew: Anew,
}

/// Spending that starts anew: it was on somebody else's privacy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Anew {
    Nothing,
    /// Spending on statements that read this table and no other.
    Table(String),
    Everything,
}
