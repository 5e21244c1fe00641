//! Refusals of prices.

use dp::Ratio;

/// What cannot be paid, or drawn.
#[derive(Clone, Debug)]
pub(crate) enum Price {
    /// Noise that no sampler draws.
    Undrawn(dp::DpError),
    /// The same of a stream.
    StreamUndrawn { stream: String, why: dp::DpError },
    /// Gaussian noise, from a budget that has no price for it.
    Gaussian { budget: String, notion: String },
    /// So many statements for one budget.
    Statements { count: usize, budget: Ratio, least: Ratio },
}
