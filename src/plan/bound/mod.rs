//! Bounds on the change that one unit can make, and on the work that its rows can make.

pub mod bounding;
pub mod work;
