//! Rows of a running query: read ahead a little, wait for the reader, and stop the query when nobody reads.

use super::error::RelayError;
use super::pool::Pooled;
use super::relay::{self, Exchange, Step, fields, out_of_turn};
use super::socket::Frame;
use crate::answer::{Field, RowStream};
use bytes::{Buf, Bytes};
use deadpool::managed::Object;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use postgres_protocol::message::backend::Message;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// The answer to a query. Dropping it cancels the query on the server; the connection is then not used again.
pub struct Rows {
    /// The columns, in the formats asked for. Empty where the statement gives no rows.
    pub fields: Vec<Field>,
    /// Bodies of DataRow messages. An error ends it.
    pub rows: BoxStream<'static, Result<Bytes, RelayError>>,
}

impl Rows {
    /// The rows for a client, with PostgreSQL's own error text: for statements over public and released rows only
    /// (soundness rule 32).
    pub fn into_finish_stream(self) -> RowStream {
        self.rows.map_err(RelayError::into_finish_error).boxed()
    }

    /// All rows, as text; for queries of ours whose results are small and were asked for in text.
    pub async fn into_texts(self) -> Result<Vec<Vec<Option<String>>>, RelayError> {
        self.rows.and_then(|row| async move { texts(&row) }).try_collect().await
    }
}

/// Batches (one per read from the socket, at most a few tens of kilobytes) that wait for a slow reader.
const READ_AHEAD: usize = 16;

/// A query that failed before its columns were known.
pub(super) struct Failure {
    pub(super) error: RelayError,
    /// The server had answered nothing: the connection was stale, and nothing ran.
    pub(super) stale: bool,
}

/// Runs a pipeline of [`relay::query_messages`] on a pooled connection. The connection belongs to a task of its
/// own until the server is ready again, so that neither a slow nor a vanished reader leaves it half read.
pub(super) async fn run(relay: Object<Pooled>, messages: Bytes) -> Result<Rows, Failure> {
    let (header, described) = oneshot::channel();
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    tokio::spawn(Run { relay, header: Some(header), sender, batch: Vec::new() }.run(messages));
    let fields = described.await.unwrap_or_else(|_| {
        Err(Failure { error: RelayError::Lost("the statement was stopped".into()), stale: false })
    })?;
    let batches = stream::unfold(receiver, |mut r| async move { r.recv().await.map(|batch| (batch, r)) });
    let rows =
        batches.map_ok(|batch: Vec<Bytes>| stream::iter(batch.into_iter().map(Ok))).try_flatten().boxed();
    Ok(Rows { fields, rows })
}

/// The task that owns the connection.
struct Run {
    relay: Object<Pooled>,
    header: Option<oneshot::Sender<Result<Vec<Field>, Failure>>>,
    sender: mpsc::Sender<Result<Vec<Bytes>, RelayError>>,
    batch: Vec<Bytes>,
}

/// How the reading ended.
enum End {
    /// The server is ready for the next statement.
    Ready(Result<(), RelayError>),
    /// The connection is of no use any more.
    Broken(RelayError),
    /// Nobody reads; the query may still run.
    Dropped,
}

impl Run {
    async fn run(mut self, messages: Bytes) {
        let mut exchange = Exchange::default();
        let end = match self.relay.start(&messages).await {
            Ok(()) => self.read(&mut exchange).await,
            Err(e) => End::Broken(e),
        };
        // The connection is given up first: who has seen the end of the rows finds it back in the pool.
        match end {
            End::Ready(result) => {
                drop(self.relay);
                finish(result, false, self.header, &self.sender).await;
            }
            End::Broken(error) => {
                let stale = self.relay.unheard();
                drop(Object::take(self.relay));
                finish(Err(error), stale, self.header, &self.sender).await;
            }
            End::Dropped => stop(self.relay, exchange).await,
        }
    }

    async fn read(&mut self, exchange: &mut Exchange) -> End {
        loop {
            loop {
                match self.relay.buffered(exchange) {
                    Ok(Step::Frame(frame)) => {
                        if let Err(e) = self.take(frame) {
                            return End::Broken(e);
                        }
                    }
                    Ok(Step::Over) => {
                        // An error of the statement is told instead of the end, after the rows before it. Whether
                        // somebody still reads does not matter: the connection is clean.
                        self.flush().await;
                        return End::Ready(std::mem::take(exchange).result());
                    }
                    Ok(Step::Wait) => break,
                    Err(e) => return End::Broken(e),
                }
            }
            if !self.flush().await {
                return End::Dropped;
            }
            tokio::select! {
                () = self.sender.closed() => return End::Dropped,
                filled = self.relay.fill() => if let Err(e) = filled { return End::Broken(e) },
            }
        }
    }

    fn take(&mut self, frame: Frame) -> Result<(), RelayError> {
        let columns = match frame {
            Frame::Row(row) => {
                self.batch.push(row);
                return Ok(());
            }
            Frame::Other(Message::RowDescription(body)) => fields(&body)?,
            Frame::Other(Message::NoData) => Vec::new(),
            Frame::Other(
                Message::CommandComplete(_)
                | Message::ParseComplete
                | Message::BindComplete
                | Message::EmptyQueryResponse,
            ) => return Ok(()),
            Frame::Other(_) => return Err(out_of_turn("a message that answers nothing we asked")),
        };
        if let Some(header) = self.header.take() {
            // Where the asker is gone, the closed channel of rows says so too.
            let _ = header.send(Ok(columns));
        }
        Ok(())
    }

    /// Hands over what has been read; false when nobody reads.
    async fn flush(&mut self) -> bool {
        if self.batch.is_empty() {
            return true;
        }
        let batch = std::mem::take(&mut self.batch);
        self.sender.send(Ok(batch)).await.is_ok()
    }
}

/// Tells whoever still listens how it ended.
async fn finish(
    result: Result<(), RelayError>,
    stale: bool,
    header: Option<oneshot::Sender<Result<Vec<Field>, Failure>>>,
    sender: &mpsc::Sender<Result<Vec<Bytes>, RelayError>>,
) {
    match (header, result) {
        (Some(header), result) => {
            let error = result.err().unwrap_or_else(|| out_of_turn("no description of the rows"));
            let _ = header.send(Err(Failure { error, stale }));
        }
        (None, Err(error)) => {
            let _ = sender.send(Err(error)).await;
        }
        (None, Ok(())) => {}
    }
}

/// Cancels what nobody waits for. The connection keeps its place in the pool until the server is done with it, and
/// is then closed: a late cancel signal must not hit a later statement.
async fn stop(mut relay: Object<Pooled>, mut exchange: Exchange) {
    let target = relay.cancel_target();
    for patience in [100, 400, 2_000, 10_000].map(Duration::from_millis) {
        // A signal between two messages of the pipeline hits nothing: so it is repeated.
        relay::cancel(&target).await;
        let drained = timeout(patience, async { while let Ok(Some(_)) = relay.next(&mut exchange).await {} });
        if drained.await.is_ok() {
            break;
        }
    }
    drop(Object::take(relay));
}

/// The cells of a row in text format.
pub(super) fn texts(row: &Bytes) -> Result<Vec<Option<String>>, RelayError> {
    let mut rest = row.clone();
    let short = || out_of_turn("a row that is cut short");
    let count = rest.try_get_u16().map_err(|_| short())?;
    let mut cells = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let length = rest.try_get_i32().map_err(|_| short())?;
        let Ok(length) = usize::try_from(length) else {
            cells.push(None);
            continue;
        };
        if rest.len() < length {
            return Err(short());
        }
        let cell = rest.split_to(length);
        cells.push(Some(String::from_utf8_lossy(&cell).into_owned()));
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_row_is_cut_into_cells_and_a_short_one_is_refused() {
        let row = Bytes::from_static(b"\0\x03\0\0\0\x02hi\xff\xff\xff\xff\0\0\0\0");
        assert_eq!(texts(&row).unwrap(), [Some("hi".into()), None, Some(String::new())]);
        for end in 0..row.len() {
            assert!(texts(&row.slice(..end)).is_err(), "{end}");
        }
    }
}
