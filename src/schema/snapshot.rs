//! A schema as a file: what `check --write-schema` writes, and `check` and `explain` read without a database.
//!
//! It holds definitions, and how many values the columns of *public* tables have: public groups are limited by that
//! number. Of the rows of a private table nothing is ever in it but profiles, which were paid for and released. `serve`
//! never reads one.

use super::{Profile, Schema};
use serde::{Deserialize, Serialize};

/// The format that is written, and the newest that is read.
pub const FORMAT: u32 = 1;

/// A schema, and when it was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// [`FORMAT`] of the writer. The first key of the file, and its name says what the file is.
    pub noisegate_schema: u32,
    /// When it was read from the database: `2026-01-31 12:00:00`, in UTC.
    pub written: String,
    /// The definitions, with the server's version.
    pub schema: Schema,
    /// Numbers of values of public columns.
    pub sizes: Vec<Size>,
    /// Profiles of private tables, which were released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profiles: Vec<NumberedProfile>,
}

/// A profile with the number of the ledger's entry that holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedProfile {
    /// Number of the entry.
    pub id: u64,
    /// The profile.
    pub profile: Profile,
}

/// Number of values that a column of a public table has, NULL apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// The table's schema.
    pub schema: String,
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// `count(DISTINCT column)`.
    pub values: u64,
}

/// Why a file is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The file is not JSON, or cut short.
    #[error("it is not JSON, or was cut short: {0}")]
    Json(serde_json::Error),
    /// The file is JSON, and something else.
    #[error("it is not a schema snapshot of noisegate: it has no noisegate_schema")]
    Other,
    /// The file is another version's.
    #[error("it has format {0}, and this version of noisegate reads format {FORMAT}")]
    Format(u64),
    /// A part of it is missing or of the wrong type.
    #[error("it is damaged: {0}")]
    Damaged(serde_json::Error),
}

impl Snapshot {
    /// A snapshot of the current format.
    pub fn new(written: String, schema: Schema, sizes: Vec<Size>) -> Self {
        Self { noisegate_schema: FORMAT, written, schema, sizes, profiles: Vec::new() }
    }

    /// The same with these profiles.
    #[must_use]
    pub fn with_profiles(self, profiles: Vec<NumberedProfile>) -> Self {
        Self { profiles, ..self }
    }

    /// The file's text; one line for each value, so that two of them compare well.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Reads a file's text.
    pub fn from_json(text: &str) -> Result<Self, SnapshotError> {
        // The format first: another one would be reported as damage.
        let any: serde_json::Value = serde_json::from_str(text).map_err(SnapshotError::Json)?;
        match any.get("noisegate_schema").map(serde_json::Value::as_u64) {
            None | Some(None) => return Err(SnapshotError::Other),
            Some(Some(format)) if format != u64::from(FORMAT) => return Err(SnapshotError::Format(format)),
            Some(Some(_)) => {}
        }
        serde_json::from_str(text).map_err(SnapshotError::Damaged)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn snapshot() -> Snapshot {
        let schema = Schema { server_version: 150_018, engine: Default::default(), relations: Vec::new() };
        let size = Size { schema: "public".into(), table: "t".into(), column: "c".into(), values: 5 };
        Snapshot::new("2026-01-31 12:00:00".into(), schema, vec![size])
    }

    #[test]
    fn what_is_written_is_read() {
        let text = snapshot().to_json().unwrap();
        assert!(text.starts_with("{\n  \"noisegate_schema\": 1,\n"), "{text}");
        assert_eq!(Snapshot::from_json(&text).unwrap(), snapshot());
    }

    #[test]
    fn other_files_are_told_apart() {
        let text = snapshot().to_json().unwrap();
        let error = |text: &str| Snapshot::from_json(text).unwrap_err().to_string();
        assert!(error("").contains("not JSON"), "{}", error(""));
        assert!(error(&text[..text.len() / 2]).contains("cut short"));
        assert!(error("[]").contains("not a schema snapshot"));
        assert!(error("{\"noisegate_schema\": \"1\"}").contains("not a schema snapshot"));
        let newer = text.replace("schema\": 1", "schema\": 2");
        assert_eq!(error(&newer), "it has format 2, and this version of noisegate reads format 1");
        let damaged = text.replace("\"relations\"", "\"relation\"");
        assert!(error(&damaged).contains("missing field `relations` at line"), "{}", error(&damaged));
    }
}
