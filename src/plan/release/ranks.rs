//! Ranks: extremes and quantiles are values of rows near one, which noise moves by so many rows. Of a group with few more rows than
//! that, such a value says nothing.

use super::Release;
use crate::aggregates::PartKind;

/// Rows that a rank must have on its side for a value to be near it, in rows that it may be missed by.
const FEW: f64 = 4.0;

/// The ends of ranks, which are aimed at as far inside as they may be missed by.
const EXTREMES: [&str; 2] = ["min", "max"];

impl Release {
    /// The part that says how many rows a group has.
    pub fn counting(&self) -> Option<usize> {
        let all = self.parts.iter().position(|p| p.kind == PartKind::Count(None));
        let some = || self.parts.iter().position(|p| p.kind.counts());
        all.or_else(some)
    }

    /// How many rows may lie beyond the value of an aggregate that is a point (95 %): below its minimum, or between a rank and it.
    pub fn missed(&self, aggregate: &str) -> Option<f64> {
        let error = self.drawn().rank95()?;
        match aggregate {
            _ if EXTREMES.contains(&aggregate) => Some(2.0 * error),
            "median" => Some(error),
            _ if aggregate.starts_with("percentile_") => Some(error),
            _ => None,
        }
    }

    /// Rows that a group has at least where a point that misses this many of them says something.
    pub fn least_rows(missed: f64) -> f64 {
        FEW * missed
    }
}
