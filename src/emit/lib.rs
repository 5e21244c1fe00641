//! From the plan to SQL text: what is typed, what is fetched, what finishes.
//!
//! No I/O and no decisions: everything private was decided in `plan`. Every name is quoted, every function and type
//! is qualified or resolved under `search_path = pg_catalog`, every constant is escaped here.

pub mod domain;
pub mod fetch;
mod light;
mod once;
pub mod print;
mod rows;
pub mod scalar;
mod shares;
pub mod synthetic;

pub use plan::expr::print::{alias, ident, number, string};

use plan::algebra::source::TableName;

/// A qualified table name, with ONLY where rows of inheritance children are left out.
pub fn table(t: &policy::Table) -> String {
    table_name(&TableName::of(t))
}

/// The same, of a table whose name is known.
fn table_name(t: &TableName) -> String {
    let only = if t.only { "ONLY " } else { "" };
    format!("{only}{}.{}", ident(&t.schema), ident(&t.name))
}
