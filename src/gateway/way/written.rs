//! The query of a statement, as it was written.

use sql::parse::Lines;
use sql::{Explain, Kind};
use sqlparser::ast::Query;

/// The query of a statement, and how it is asked.
pub struct Written<'s> {
    /// The query.
    pub query: &'s Query,
    /// Lines of the query, for positions.
    pub lines: &'s Lines,
    /// Options of EXPLAIN, when the query is explained.
    pub explain: Option<Explain>,
    /// Values of EXECUTE.
    pub arguments: bool,
}

impl<'s> Written<'s> {
    /// The query of a statement that has one.
    pub fn of(kind: &'s Kind) -> Option<Self> {
        let (query, lines, explain, arguments) = match kind {
            Kind::Query(query, lines) => (query, lines, None, false),
            Kind::Explain(query, lines, explain) => (query, lines, Some(*explain), false),
            Kind::Arguments(query, lines) => (query, lines, None, true),
            Kind::Control | Kind::Session(_) | Kind::Insert(_) => return None,
        };
        Some(Self { query, lines, explain, arguments })
    }
}
