//! A collection, as the policy's text alone says it.

use crate::error::Span;
use crate::model::Collect;

/// One, as its text alone says it, and where.
#[derive(Clone, Debug)]
pub(crate) struct RawCollect {
    pub collect: Collect,
    /// Place of its name.
    pub span: Span,
    /// Places of its columns.
    pub columns: Vec<Span>,
}
