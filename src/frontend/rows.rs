//! The rows of an outcome on their way to the client.

use answer::RowStream;
use answer::{ClientError, SqlState};
use bytes::Bytes;
use futures::StreamExt;

/// Rows that are known to have the same number of cells each.
pub(super) struct Rows {
    stream: RowStream,
    columns: usize,
}

impl Rows {
    /// Rows under a description of `columns` columns.
    pub fn new(stream: RowStream, columns: usize) -> Self {
        Self { stream, columns }
    }

    /// The next row. Clients read cells by the description: a row of another shape would be misread, and is an
    /// error instead.
    pub async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        // Rows that are ready at once must not keep cancel requests and other sessions waiting.
        tokio::task::consume_budget().await;
        let row = match self.stream.next().await? {
            Ok(row) => row,
            Err(e) => return Some(Err(e)),
        };
        let cells = row.get(..2).and_then(|b| b.try_into().ok()).map(u16::from_be_bytes);
        if cells.map(usize::from) == Some(self.columns) {
            return Some(Ok(row));
        }
        let cause = format!("a row of {cells:?} cells under {} columns", self.columns);
        Some(Err(ClientError::incident(SqlState::INTERNAL, "internal error", &cause)))
    }
}

/// The command tag.
pub(super) fn tag(verb: &str, count: bool, rows: u64) -> String {
    if count { format!("{verb} {rows}") } else { verb.to_owned() }
}
