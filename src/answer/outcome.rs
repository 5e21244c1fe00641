//! Outcomes of statements: rows as they go over the wire, or a command tag.

use crate::description::Field;
use crate::error::ClientError;
use bytes::{BufMut, Bytes, BytesMut};
use futures::stream::BoxStream;

/// Outcome of one statement.
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
