//! Quantiles, least and greatest values and modes: points of a public grid, chosen by how many rows there are at each.
//!
//! The fetch counts cells: groups by one more key, which is the point that a value is nearest to. A unit's rows are bounded
//! over all cells together, and spread over them where it has more. No cell comes back ([`dp::Points`]).

mod choice;
mod chosen;
mod distance;
mod grid;
mod mode;

pub use chosen::Points;

use super::entry::Entry;

/// In the order in which they are listed.
pub(super) const ENTRIES: [&[Entry]; 2] = [choice::ENTRIES, mode::ENTRIES];
