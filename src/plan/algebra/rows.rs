//! Numbers of rows of a unit, and the scans that they are of (`own::row_bounds` proves them).

use sql::ast::BindingId;

/// The rows of one unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Scans of which each row here holds a row of its own: two rows here never hold the same.
    pub anchors: Vec<BindingId>,
    /// Scans that have about as many rows: those, and what a LEFT JOIN adds rows to. A choice of bounds, no proof.
    pub follows: Vec<BindingId>,
    /// The most rows, when they are bounded.
    pub bound: Option<u64>,
    /// Scans that are at one and the same row in all rows of a unit.
    pub settled: Vec<BindingId>,
}

impl Rows {
    /// Of one scan; `private`: its rows are units'.
    pub(crate) fn of_scan(binding: BindingId, bound: Option<u64>, private: bool) -> Self {
        let settled = if private && bound == Some(1) { vec![binding] } else { Vec::new() };
        Self { anchors: vec![binding], follows: vec![binding], bound, settled }
    }
}

/// Rows of a unit as they are declared, when the table does not say.
#[derive(Clone, Copy, Debug)]
pub struct RowsPerUnit {
    /// Chosen by the session, for every table.
    pub chosen: Option<u32>,
    /// Else, where a table sets no bound of its own.
    pub otherwise: u32,
    /// Numbers of rows are those that the profile of their table knows of, where it has one and nothing was chosen.
    pub profiles: bool,
}
