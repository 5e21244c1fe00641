//! From the plan to SQL text: what is typed, what is fetched, what finishes.
//!
//! No I/O and no decisions: everything private was decided in `plan`. Every name is quoted, every function and type
//! is qualified or resolved under `search_path = pg_catalog`, every constant is escaped here.

pub mod fetch;
pub mod print;
mod rows;
pub mod scalar;

use bigdecimal::{BigDecimal, Signed};
use plan::source::TableName;

/// An identifier, quoted.
pub fn ident(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string constant. Backslashes are doubled in an E'' string, so that no setting changes its meaning.
pub fn string(text: &str) -> String {
    if text.contains('\\') {
        format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// A number, in parentheses where it is negative.
pub fn number(n: &BigDecimal) -> String {
    let text = n.normalized().to_plain_string();
    if n.is_negative() { format!("({text})") } else { text }
}

/// A qualified table name, with ONLY where rows of inheritance children are left out.
pub fn table(t: &policy::Table) -> String {
    table_name(&TableName::of(t))
}

/// The same, of a table whose name is known.
fn table_name(t: &TableName) -> String {
    let only = if t.only { "ONLY " } else { "" };
    format!("{only}{}.{}", ident(&t.schema), ident(&t.name))
}

/// The name that a binding is printed under.
pub fn alias(binding: usize) -> String {
    format!("b{binding}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting() {
        assert_eq!(ident("a\"b"), "\"a\"\"b\"");
        assert_eq!(string("it's"), "'it''s'");
        assert_eq!(string("a\\'b"), "E'a\\\\''b'");
        assert_eq!(number(&BigDecimal::from(-5)), "(-5)");
    }
}
