//! Questions about a statement as it is written, and changes of it that mean the same.

pub(crate) mod conditions;
pub(crate) mod grouping;
pub(crate) mod null_extension;
pub(crate) mod renumber;
pub(crate) mod subqueries;
