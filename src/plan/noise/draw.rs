//! Draws of noise: of which released integer they are, and how large.

/// A released integer that noise in a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    /// Place of the release.
    pub release: usize,
    /// Place of the integer in it.
    pub part: usize,
    /// Of which rows.
    pub rows: Rows,
}

/// Rows of a relation, as one row of it sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rows {
    /// The row itself.
    Own,
    /// The row that is this many rows before, or behind.
    Shifted(i64),
    /// Any.
    Any,
}

impl Part {
    /// Whether this has other noise than that.
    pub fn is_apart(&self, other: &Self) -> bool {
        let rows = self.rows != other.rows && self.rows != Rows::Any && other.rows != Rows::Any;
        rows || (self.release, self.part) != (other.release, other.part)
    }
}

impl PartNoise {
    /// Nothing was cut.
    pub fn is_whole(&self) -> bool {
        (self.below, self.above) == (0.0, 0.0)
    }
}

/// The noise of a released integer, in the unit of what it counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartNoise {
    /// Variance.
    pub variance: f64,
    /// Fourth cumulant.
    pub fourth: f64,
    /// Distance between values.
    pub step: f64,
    /// How far below the integer the truth may lie for what bounds cut; NaN where nobody knows.
    pub below: f64,
    /// How far above it.
    pub above: f64,
}
