//! Joins as the analyst wrote them, before their units are found.

use sql::ast::{Expr, JoinKind, Pos};

/// The tree of joins of a FROM, with conditions over scans.
pub(crate) enum Normal {
    /// A scan, by its place.
    Scan(usize),
    /// Inner, left or full.
    Join { kind: JoinKind, left: Box<Normal>, right: Box<Normal>, on: Vec<Expr>, pos: Pos },
}
