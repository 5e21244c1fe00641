//! Why a privacy loss distribution cannot be computed.

/// Why losses cannot be composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PldError {
    /// A loss that is not finite, or a curve without a known profile.
    #[error("the privacy loss of a mechanism has no usable form")]
    Unsuitable,
    /// The losses differ so much in size that no grid fits all.
    #[error("the privacy losses need a finer grid than fits")]
    TooFine,
}
