//! Digits of uniform numbers that are drawn at once.

/// How many digits of uniform numbers are drawn at once. What is drawn has the same law with any of these.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    /// Of the number that is compared with a probability.
    pub(super) coin: u32,
    /// Of the number that chooses among fewer than 2^`other` answers.
    pub(super) other: u32,
    /// Of many numbers that are compared with one probability: so many of all, and so many of each that these do not decide.
    pub(super) lanes: (u32, u32),
}

/// As fast as can be.
pub(super) const DIGITS: Digits = Digits { coin: 32, other: 32, lanes: (4, 8) };
