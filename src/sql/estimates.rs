//! Terms on which estimates over what is collected are asked for.

/// How estimates are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimates {
    /// Beside each estimate the two ends of its interval.
    pub intervals: bool,
    /// How many standard deviations an interval reaches to each side.
    pub quantile: f64,
    /// They are projected on what can be: none is below 0, and all values together are as many as there are reports.
    pub consistent: bool,
}

impl Default for Estimates {
    /// No intervals; those that are asked for by name hold 95 %.
    fn default() -> Self {
        Self { intervals: false, quantile: 1.959_963_984_540_054_3, consistent: false }
    }
}
