//! How much one unit can change, and how much work its rows can make.

pub mod bounding;
pub mod work;
