//! What passes between the gateway and the frontend: who asks, and what a statement gives back.

pub mod error;

use bytes::{BufMut, Bytes, BytesMut};
pub use error::{ClientError, Severity, SqlState};
use futures::stream::BoxStream;

/// An authenticated user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Login name.
    pub user: String,
    /// Role, for budgets per role.
    pub role: Option<String>,
}

/// One column of a row description. Table OID and attribute number are always 0: every column is computed.
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

/// Rows as they go over the wire: the body of a DataRow message (an i16 count, then for each cell an i32 length
/// and its bytes).
pub type RowStream = BoxStream<'static, Result<Bytes, ClientError>>;

/// A row of cells in text format.
pub fn text_cells(cells: &[Option<&str>]) -> Bytes {
    let mut row = BytesMut::new();
    row.put_i16(i16::try_from(cells.len()).unwrap_or(i16::MAX));
    for cell in cells {
        match cell {
            None => row.put_i32(-1),
            Some(text) => {
                row.put_i32(i32::try_from(text.len()).unwrap_or(i32::MAX));
                row.put_slice(text.as_bytes());
            }
        }
    }
    row.freeze()
}

/// What running one statement gave.
pub enum Outcome {
    /// Rows, to be closed by a tag `<verb> n` (`SELECT 5`) or, with `count: false`, `<verb>` (`EXPLAIN`).
    Rows {
        /// The description.
        fields: Vec<Field>,
        /// The rows; an error in the stream ends the statement.
        rows: RowStream,
        /// First word of the command tag.
        verb: &'static str,
        /// Whether the tag ends in the number of rows.
        count: bool,
    },
    /// A command tag alone (`SET`, `BEGIN`).
    Complete(String),
    /// The statement was empty.
    Empty,
}

/// A NOTICE for the client, sent before the first row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The text.
    pub message: String,
    /// SQLSTATE; `00000` for a plain notice, `01000` and its class for warnings, which go out as WARNING.
    pub code: &'static str,
    /// A hint, if any.
    pub hint: Option<String>,
}

/// What preparing a statement froze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Type OIDs of `$1`, `$2`, …
    pub parameters: Vec<u32>,
    /// The columns, in text format; None where the statement gives no rows.
    pub fields: Option<Vec<Field>>,
}

/// What Bind gave: values for a prepared statement's parameters, and the wanted format of each column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    /// One for each parameter: its bytes as they came, None for NULL.
    pub parameters: Vec<Option<Bytes>>,
    /// One for each parameter: 0 text, 1 binary.
    pub formats: Vec<i16>,
    /// One for each column: 0 text, 1 binary.
    pub results: Vec<i16>,
}
