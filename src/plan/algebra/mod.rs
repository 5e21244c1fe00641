//! Relations whose rows belong to units: scans, joins, sets, groups within units and windows.

pub mod equivalence_classes;
pub(crate) mod frames;
pub(crate) mod kinds;
pub(crate) mod normal;
pub(crate) mod props;
pub mod rows;
pub mod source;
pub(crate) mod ties;
pub mod windows;
