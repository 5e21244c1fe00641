//! Quantiles over a public grid, from exact numbers of rows at or below each of its points.
//!
//! A quantile is chosen among the points by how far its rank is from the one that is asked for: no value of a row leaves
//! the database, and the answer is always a point of the grid.

mod bound;
mod extreme;
mod many;
mod ranks;
mod selector;
mod single;

pub use bound::{Bound, Side};
pub use extreme::{Extreme, inset};
pub use many::Quantiles;
pub use ranks::Ranks;
pub use selector::Selector;
pub use single::Quantile;

#[cfg(test)]
mod tests;
