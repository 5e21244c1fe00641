//! Members of collected sets.

use crate::ast::BindingId;

/// `unnest(column)` of a collected set.
#[derive(Clone, Copy)]
pub(super) struct Member {
    /// The binding that stands for its rows.
    pub(super) binding: BindingId,
    /// The binding of the collected relation.
    pub(super) of: BindingId,
    /// The column.
    pub(super) column: usize,
    /// It was written in a select list, and not in FROM.
    pub(super) listed: bool,
}
