//! Values of the session, and rows of `noisegate.*`, which the proxy itself puts into a text.

use super::constants::OwnRow;
use super::printer::Printer;
use crate::string;
use sql::ast::{Own, SessionValue};

/// Rows of a relation of ours, as a query.
pub fn own_rows(own: Own, rows: &[OwnRow]) -> String {
    let cast = |value: &str, ty: &str| format!("{value}::pg_catalog.{ty}");
    if rows.is_empty() {
        let nulls: Vec<String> = own.columns().iter().map(|(_, ty)| cast("NULL", ty)).collect();
        return format!("SELECT {} WHERE false", nulls.join(", "));
    }
    let row = |cells: &OwnRow| {
        let cells = cells.iter().zip(own.columns()).map(|(cell, (_, ty))| match cell {
            Some(text) => cast(&string(text), ty),
            None => cast("NULL", ty),
        });
        format!("({})", cells.collect::<Vec<_>>().join(", "))
    };
    format!("VALUES {}", rows.iter().map(row).collect::<Vec<_>>().join(", "))
}

impl Printer<'_> {
    /// The rows of a relation of ours; none while the statement is typed.
    pub(super) fn own_rows(&self, own: Own) -> String {
        let rows = self.constants.own.iter().find(|(o, _)| *o == own).map(|(_, rows)| rows.as_slice());
        own_rows(own, rows.filter(|_| self.plan.is_some()).unwrap_or_default())
    }

    pub(super) fn session(&self, v: SessionValue) -> String {
        let now = format!("{}::pg_catalog.timestamptz", string(&self.constants.now));
        match v {
            SessionValue::Now(_) => now,
            SessionValue::Date => format!("({now})::pg_catalog.date"),
            SessionValue::LocalTimestamp => format!("({now})::pg_catalog.timestamp"),
            SessionValue::User(_) => format!("{}::pg_catalog.name", string(&self.constants.user)),
            SessionValue::Database(_) => format!("{}::pg_catalog.name", string(&self.constants.database)),
            SessionValue::Schema => {
                let name = self.constants.schema.as_deref().map_or_else(|| "NULL".to_owned(), string);
                format!("{name}::pg_catalog.name")
            }
        }
    }
}
