//! Names: how identifiers fold.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

/// Words of PostgreSQL's for a name of another database.
pub const ELSEWHERE: &str = "cross-database references are not implemented";

/// PostgreSQL's NAMEDATALEN - 1 bytes, at a character boundary.
pub fn truncate(mut name: String) -> String {
    if name.len() > 63 {
        let end = (0..=63).rev().find(|i| name.is_char_boundary(*i)).unwrap_or(0);
        name.truncate(end);
    }
    name
}

/// An identifier as PostgreSQL folds it: unquoted ones to lower case.
pub fn fold(ident: &Ident) -> String {
    let name = if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() };
    truncate(name)
}

/// The parts of a name, folded; none where one is no identifier.
pub fn parts(name: &ObjectName) -> Vec<String> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => Some(fold(ident)),
        ObjectNamePart::Function(_) => None,
    };
    name.0.iter().map(part).collect::<Option<_>>().unwrap_or_default()
}

/// The last part of a name.
pub fn last(name: &ObjectName) -> String {
    parts(name).pop().unwrap_or_default()
}
