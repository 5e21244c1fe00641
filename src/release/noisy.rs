//! Answers that may leave.

use bytes::Bytes;

/// An answer that may leave: every number has its noise, every group was public or selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noisy {
    /// Columns of group keys: raw PostgreSQL binary, None for NULL.
    pub keys: Vec<Vec<Option<Bytes>>>,
    /// Columns of aggregates, in grid units.
    pub values: Vec<Vec<i128>>,
    /// Rows in each column.
    pub rows: usize,
}

/// The elements of `column` at `rows`, which all exist.
pub(super) fn pick<T: Clone>(column: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().filter_map(|&row| column.get(row).cloned()).collect()
}
