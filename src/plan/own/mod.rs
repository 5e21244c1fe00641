//! From FROM and WHERE to relations of which each row belongs to one unit.

mod correlated;
mod cross_unit;
pub(crate) mod flatten;
pub mod given;
mod outer_join;
pub(crate) mod per_unit;
pub(crate) mod row_bounds;
mod semi_join;
mod set_operations;
mod unit_paths;
pub(crate) mod units;
