//! Views: `[[view]]`.

use schema::SqlType;

/// A query that analysts find as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Name of the view.
    pub name: String,
    /// The query.
    pub sql: String,
    /// Names and types of its columns, as PostgreSQL gives them; empty until it was asked.
    pub columns: Vec<(String, SqlType)>,
}

impl View {
    /// The schema that views are found in.
    pub const SCHEMA: &'static str = "public";
}
