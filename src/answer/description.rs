//! Parse and Bind: what preparing a statement tells, and what its parameters are given.

use bytes::Bytes;

/// A column of a row description. Table OID and attribute number are always 0: every column is
/// computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name, as PostgreSQL derived it.
    pub name: String,
    /// `pg_type.oid`.
    pub type_oid: u32,
    /// `pg_type.typlen`.
    pub type_size: i16,
    /// Type modifier, -1 if none.
    pub type_modifier: i32,
    /// 0 text, 1 binary.
    pub format: i16,
}

/// Description of a statement, as Parse froze it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Type OIDs of `$1`, `$2`, …
    pub parameters: Vec<u32>,
    /// The columns, in text format; None where the statement gives no rows.
    pub fields: Option<Vec<Field>>,
}

impl Description {
    /// A statement without parameters, of these columns; of none, it gives no rows.
    pub fn of(fields: Vec<Field>) -> Self {
        Self { parameters: Vec::new(), fields: Some(fields).filter(|fields| !fields.is_empty()) }
    }
}

/// Values of Bind: a prepared statement's parameters, and the wanted format of each column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// Bytes of each parameter, as they arrived; None for NULL.
    pub parameters: Vec<Option<Bytes>>,
    /// Format of each parameter: 0 text, 1 binary.
    pub formats: Vec<i16>,
    /// Format of each column: 0 text, 1 binary. Twice as many ask for each column twice: for all
    /// columns in the formats of the first half, and after them for all again in those of the other
    /// half.
    pub results: Vec<i16>,
}
