//! Rows of a running query: read ahead a little, wait for the reader, and stop the query when nobody reads.

use super::connection::Pooled;
use super::data_row::{cells, texts};
use super::error::RelayError;
use super::prepared::Statement;
use super::relay::{self, Exchange, Query, Step, fields, out_of_turn};
use super::socket::Frame;
use answer::{Field, RowStream};
use bytes::Bytes;
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

    /// All rows, as they came; for results that are small.
    pub async fn into_cells(self) -> Result<Vec<Vec<Option<Bytes>>>, RelayError> {
        self.rows.and_then(|row| async move { cells(&row) }).try_collect().await
    }
}

/// Batches (one per read from the socket, at most a few tens of kilobytes) that wait for a slow reader.
const READ_AHEAD: usize = 16;

/// A query that failed before its columns were known.
pub(super) struct Failure {
    pub(super) error: RelayError,
    /// It may do on another attempt: the server had answered nothing, since the connection was stale, and nothing ran; or
    /// what had been prepared is not right any more.
    pub(super) again: bool,
}

/// Runs a query on a pooled connection. The connection belongs to a task of its own until the server is ready again, so that
/// neither a slow nor a vanished reader leaves it half read.
pub(super) async fn run(relay: Object<Pooled>, query: Query) -> Result<Rows, Failure> {
    let (header, described) = oneshot::channel();
    let (sender, batches) = mpsc::channel(READ_AHEAD);
    let (ended, end) = oneshot::channel();
    tokio::spawn(Run { relay, header: Some(header), sender, batch: Vec::new() }.run(query, ended));
    let fields = described.await.unwrap_or_else(|_| Err(Failure { error: stopped(), again: false }))?;
    let batches = stream::unfold(batches, |mut b| async move { b.recv().await.map(|batch| (batch, b)) });
    let rows = batches.flat_map(|batch| stream::iter(batch.into_iter().map(Ok)));
    // No more batches is not yet the end: only the task's word tells rows that are complete from rows cut short.
    let end = stream::once(async move {
        let (batch, result) = end.await.unwrap_or_else(|_| (Vec::new(), Err(stopped())));
        stream::iter(batch.into_iter().map(Ok).chain(result.err().map(Err)))
    });
    Ok(Rows { fields, rows: rows.chain(end.flatten()).boxed() })
}

fn stopped() -> RelayError {
    RelayError::Lost("the statement was stopped".into())
}

/// The last rows, and whether they are all.
type Last = (Vec<Bytes>, Result<(), RelayError>);

/// The task that owns the connection.
struct Run {
    relay: Object<Pooled>,
    header: Option<oneshot::Sender<Result<Vec<Field>, Failure>>>,
    sender: mpsc::Sender<Vec<Bytes>>,
    batch: Vec<Bytes>,
}

/// How the reading ended.
enum End {
    /// The server is ready for the next statement.
    Ready(Result<(), RelayError>),
    /// The connection is of no use any more.
    Broken(RelayError),
    /// Nobody reads, or has not read for too long; the query may still run.
    Abandoned,
}

impl Run {
    async fn run(mut self, query: Query, ended: oneshot::Sender<Last>) {
        let mut exchange = Exchange::default();
        let mut statement = Statement::Once;
        let end = match self.relay.query(&query).await {
            Ok(sent) => {
                statement = sent;
                self.read(&mut exchange).await
            }
            // Settings that the server does not take.
            Err(e @ RelayError::Db(_)) => End::Ready(Err(e)),
            Err(e) => End::Broken(e),
        };
        // The connection is given up first: who has seen the end of the rows finds it back in the pool.
        let (result, again) = match end {
            End::Ready(result) => {
                if result.is_err() {
                    self.relay.forget(&statement);
                }
                drop(self.relay);
                let outdated = matches!(&result, Err(RelayError::Db(e)) if e.is_outdated_plan());
                (result, outdated && matches!(statement, Statement::Known(_)))
            }
            End::Broken(error) => {
                let stale = self.relay.is_stale(&error);
                drop(Object::take(self.relay));
                (Err(error), stale)
            }
            End::Abandoned => {
                stop(self.relay, exchange).await;
                (Err(RelayError::Timeout), false)
            }
        };
        // Where nobody listens any more, nobody needs to know.
        match self.header {
            Some(header) => {
                let error = result.err().unwrap_or_else(|| out_of_turn("no description of the rows"));
                let _ = header.send(Err(Failure { error, again }));
            }
            None => {
                let _ = ended.send((self.batch, result));
            }
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
                        // The connection is clean, whether or not somebody still reads: the last rows wait for
                        // the reader without it.
                        return End::Ready(std::mem::take(exchange).result());
                    }
                    Ok(Step::Wait) => break,
                    Err(e) => return End::Broken(e),
                }
            }
            if !self.flush().await {
                return End::Abandoned;
            }
            tokio::select! {
                () = self.sender.closed() => return End::Abandoned,
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

    /// Hands over what has been read; false when nobody reads. A reader that takes nothing for as long as a
    /// statement may run has lost it: connections are too few to be held by the idle.
    async fn flush(&mut self) -> bool {
        if self.batch.is_empty() {
            return true;
        }
        let batch = std::mem::take(&mut self.batch);
        matches!(timeout(self.relay.patience(), self.sender.send(batch)).await, Ok(Ok(())))
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
