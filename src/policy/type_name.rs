//! Types as owners call them.

use schema::SqlType;

/// A type as an owner calls it.
pub(super) fn type_name(ty: &SqlType) -> String {
    match ty {
        SqlType::Numeric { scale: Some(s) } => format!("numeric with {s} digits after the point"),
        SqlType::Enum { name, .. } => format!("enum {name}"),
        SqlType::Other { name, .. } => name.clone(),
        _ => ty.sql_name().trim_start_matches("pg_catalog.").to_owned(),
    }
}
