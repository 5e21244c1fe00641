//! Aggregates over private rows: what is released of each, and how the answer follows from it after the noise.
//!
//! A family of aggregates is one file, or one folder: its entries in the table, the parts that it asks for, and its estimator,
//! which is its text over noisy parts, its expected error, the interval around it, and what EXPLAIN says. How much one unit can
//! change a part is said by what the part adds up (`part`); nothing here knows of groups that are selected, or of prices.

mod asked;
mod averages;
pub(crate) mod builder;
pub mod counts;
pub(crate) mod distinct;
pub mod drawn;
mod entry;
pub mod estimator;
mod grid;
pub mod moments;
mod of_values;
mod part;
pub mod points;
pub mod sums;
mod table;
mod truths;
pub(crate) mod weights;

pub use averages::{Average, Constant};
pub(crate) use builder::Builder;
pub use counts::Count;
pub use drawn::{Bounds, Drawn, Released, Row};
pub use estimator::{Estimator, Followed, Output, Straight};
pub use part::{Axis, Cells, Part, PartKind};
pub use sums::{CentredSum, Sum, Zero};
pub use table::{entries, reference, supported};
pub use truths::Truth;
