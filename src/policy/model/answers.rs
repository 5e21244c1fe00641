//! Answers: `[answers]`.

use std::time::Duration;

/// `[answers]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// `SELECT min(x), max(x) FROM t` gives the declared range of x.
    pub range_for_min_max: bool,
    /// Numbers with noise are shown to the digit that their intervals support, unless a session says otherwise.
    pub round: bool,
    /// Reads of private rows end at a multiple of this time after they began.
    pub quantum: Option<Duration>,
    /// Values that say nothing are NULL, unless a session says otherwise.
    pub null_unsure: bool,
}
