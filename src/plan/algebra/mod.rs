//! Relations whose rows belong to units: scans, joins, sets, groups within units and windows.

pub mod equivalence_classes;
pub(crate) mod frames;
pub mod rows;
pub mod source;
pub(crate) mod ties;
pub mod windows;
