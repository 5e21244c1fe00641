//! Noise of released integers, and how it moves through numbers: which draw it is of, its cumulants, and the ends of intervals,
//! as numbers before it is drawn and as texts for what is released.
//!
//! Whose integers these are, and what is computed of them, is said above.

mod draw;
pub mod number;
pub mod quantile;
pub mod real;

pub use draw::{Part, PartNoise, Rows};
