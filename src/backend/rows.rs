//! Rows of a running query: read ahead a little, wait for the reader, and stop the query when nobody reads.

use super::connection::Pooled;
use super::data_row::{cells, texts};
use super::error::RelayError;
use super::prepared::Statement;
use super::relay::{self, Exchange, Query, Step, fields, out_of_turn};
use super::socket::Frame;
use super::terms::Terms;
use answer::{Errand, Field, RowStream};
use bytes::Bytes;
use deadpool::managed::Object;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use postgres_protocol::message::backend::Message;
use record::Held;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

/// The answer to a query. Dropping it cancels the query on the server.
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
    /// Another attempt may succeed: the server had answered nothing, since the connection was
    /// stale, and nothing ran; or what had been prepared is not right any more.
    pub(super) again: bool,
}

/// Runs a query on a pooled connection, up to its columns; where not all rows came with them, the others are read by a task of
/// their own. So neither a slow nor a vanished reader leaves the connection half read: who gives up the query, here or later,
/// leaves it to a task that cancels it.
pub(super) async fn run(relay: Object<Pooled>, terms: Terms, query: Query) -> Result<Rows, Failure> {
    let until = terms.time.map(|time| Instant::now() + time);
    let under_way = UnderWay::new(relay, terms);
    let mut run = Run { under_way, until, statement: Statement::Once, fields: None, batch: Vec::new() };
    match run.under_way.relay()?.query(&query).await {
        Ok(sent) => run.statement = sent,
        // Settings that the server does not take.
        Err(e @ RelayError::Db(_)) => return Err(run.failed(e).await),
        Err(e) => return Err(run.broken(e).await),
    }
    loop {
        match run.take_arrived() {
            Ok(Some(result)) => return run.all(result).await,
            Ok(None) => {}
            Err(e) => return Err(run.broken(e).await),
        }
        if let Some(fields) = run.fields.take() {
            return Ok(run.in_background(fields));
        }
        if let Err(e) = run.fill().await {
            return Err(run.broken(e).await);
        }
    }
}

fn stopped() -> RelayError {
    RelayError::Lost("the statement was stopped".into())
}

/// A connection that runs a statement. Whoever drops it before the server is ready again has the statement cancelled.
struct UnderWay {
    relay: Option<Object<Pooled>>,
    exchange: Exchange,
    terms: Terms,
    /// To cancel it, if somebody waits for that.
    errand: Option<Errand>,
    /// For as long as the server works on it.
    held: Option<Held>,
}

impl UnderWay {
    fn new(relay: Object<Pooled>, terms: Terms) -> Self {
        let (errand, held) = (Errand::of_this_task(), record::held());
        Self { relay: Some(relay), exchange: Exchange::default(), terms, errand, held }
    }

    fn relay(&mut self) -> Result<&mut Object<Pooled>, Failure> {
        self.relay.as_mut().ok_or_else(|| Failure { error: stopped(), again: false })
    }

    /// The connection, which serves nobody else.
    fn close(&mut self) {
        if let Some(relay) = self.relay.take() {
            drop(Object::take(relay));
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Some(relay) = self.relay.take() else { return };
        let exchange = std::mem::take(&mut self.exchange);
        let (terms, errand, held) = (std::mem::take(&mut self.terms), self.errand.take(), self.held.take());
        let stop = async move {
            stop(relay, exchange, terms, errand).await;
            drop(held);
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(stop)),
            Err(_) => drop(stop),
        }
    }
}

/// A query, and what of its answer was read and not handed over.
struct Run {
    under_way: UnderWay,
    /// When its time is over; waiting for its reader does not count.
    until: Option<Instant>,
    statement: Statement,
    fields: Option<Vec<Field>>,
    batch: Vec<Bytes>,
}

/// The last rows, and whether they are all.
type Last = (Vec<Bytes>, Result<(), RelayError>);

impl Run {
    /// Waits for more of it.
    async fn fill(&mut self) -> Result<(), RelayError> {
        let Some(relay) = &mut self.under_way.relay else { return Err(stopped()) };
        match self.until {
            Some(until) => timeout_at(until, relay.fill()).await.unwrap_or(Err(RelayError::TooLong)),
            None => relay.fill().await,
        }
    }

    /// Takes what has arrived; how it ended, where the server is ready for the next statement.
    fn take_arrived(&mut self) -> Result<Option<Result<(), RelayError>>, RelayError> {
        let UnderWay { relay: Some(relay), exchange, .. } = &mut self.under_way else {
            return Err(stopped());
        };
        loop {
            let columns = match relay.buffered(exchange)? {
                Step::Over => return Ok(Some(std::mem::take(exchange).result())),
                Step::Wait => return Ok(None),
                Step::Frame(Frame::Row(row)) => {
                    self.batch.push(row);
                    continue;
                }
                Step::Frame(Frame::Other(Message::RowDescription(body))) => fields(&body)?,
                Step::Frame(Frame::Other(Message::NoData)) => Vec::new(),
                Step::Frame(Frame::Other(
                    Message::CommandComplete(_)
                    | Message::ParseComplete
                    | Message::BindComplete
                    | Message::EmptyQueryResponse,
                )) => continue,
                Step::Frame(Frame::Other(_)) => {
                    return Err(out_of_turn("a message that answers nothing we asked"));
                }
            };
            self.fields = Some(columns);
        }
    }

    /// All of it, which came at once.
    async fn all(mut self, result: Result<(), RelayError>) -> Result<Rows, Failure> {
        match (self.fields.take(), result) {
            (Some(fields), result) => {
                let result = self.give_back(result).await;
                let rows = std::mem::take(&mut self.batch).into_iter().map(Ok).chain(result.err().map(Err));
                Ok(Rows { fields, rows: stream::iter(rows).boxed() })
            }
            (None, Err(e)) => Err(self.failed(e).await),
            (None, Ok(())) => Err(self.failed(out_of_turn("no description of the rows")).await),
        }
    }

    /// It failed, and the server is ready for the next statement.
    async fn failed(mut self, error: RelayError) -> Failure {
        let outdated = matches!(&error, RelayError::Db(e) if e.is_outdated_plan());
        let again = outdated && matches!(self.statement, Statement::Known(_));
        let error = self.give_back(Err(error)).await.err().unwrap_or_else(stopped);
        Failure { error, again }
    }

    /// The connection is of no use any more.
    async fn broken(mut self, error: RelayError) -> Failure {
        let again = self.under_way.relay.as_ref().map(|r| r.is_stale(&error));
        let error = self.broken_off(error);
        let again = match again {
            Some(again) => again.await,
            None => false,
        };
        Failure { error, again }
    }

    /// Gives the connection up before anybody hears of the end of the rows: who does finds it back in the pool.
    async fn give_back(&mut self, result: Result<(), RelayError>) -> Result<(), RelayError> {
        if let Some(relay) = &mut self.under_way.relay
            && result.is_err()
        {
            relay.forget(&self.statement);
            if relay.roll_back().await.is_err() {
                self.under_way.close();
            }
        }
        self.under_way.relay = None;
        result
    }

    /// Reads the other rows in a task: a little ahead of the reader.
    fn in_background(self, fields: Vec<Field>) -> Rows {
        let (sender, batches) = mpsc::channel(READ_AHEAD);
        let (ended, end) = oneshot::channel();
        tokio::spawn(self.read_on(sender, ended));
        let batches = stream::unfold(batches, |mut b| async move { b.recv().await.map(|batch| (batch, b)) });
        let rows = batches.flat_map(|batch| stream::iter(batch.into_iter().map(Ok)));
        // No more batches is not yet the end: only the task's word tells rows that are complete from rows cut short.
        let end = stream::once(async move {
            let (batch, result) = end.await.unwrap_or_else(|_| (Vec::new(), Err(stopped())));
            stream::iter(batch.into_iter().map(Ok).chain(result.err().map(Err)))
        });
        Rows { fields, rows: rows.chain(end.flatten()).boxed() }
    }

    async fn read_on(mut self, sender: mpsc::Sender<Vec<Bytes>>, ended: oneshot::Sender<Last>) {
        let result = loop {
            match self.take_arrived() {
                // The connection is clean, whether or not somebody still reads: the last rows wait for the reader without it.
                Ok(Some(result)) => break self.give_back(result).await,
                Ok(None) => {}
                Err(e) => break Err(self.lost(e).await),
            }
            if !self.flush(&sender).await {
                // Nobody reads, or has not read for too long; the query may still run.
                break Err(self.until.map_or(RelayError::Timeout, |_| RelayError::TooLong));
            }
            let filled = tokio::select! {
                () = sender.closed() => break Err(RelayError::Timeout),
                filled = self.fill() => filled,
            };
            if let Err(e) = filled {
                break Err(self.lost(e).await);
            }
        };
        // Where nobody listens any more, nobody needs to know.
        let _ = ended.send((std::mem::take(&mut self.batch), result));
    }

    /// Of a connection that the server had answered on.
    async fn lost(&mut self, error: RelayError) -> RelayError {
        let stale = self.under_way.relay.as_ref().map(|r| r.is_stale(&error));
        if let Some(stale) = stale {
            stale.await;
        }
        self.broken_off(error)
    }

    /// What took too long is cancelled when it is dropped; any other connection that failed is of no use.
    fn broken_off(&mut self, error: RelayError) -> RelayError {
        if !matches!(error, RelayError::Timeout | RelayError::TooLong) {
            self.under_way.close();
        }
        error
    }

    /// Hands over what has been read; false when nobody reads. A reader that takes nothing for as long as a
    /// statement may run has lost it: connections are too few to be held by the idle.
    async fn flush(&mut self, sender: &mpsc::Sender<Vec<Bytes>>) -> bool {
        let Some(relay) = self.under_way.relay.as_ref().filter(|_| !self.batch.is_empty()) else {
            return true;
        };
        let batch = std::mem::take(&mut self.batch);
        let patience = self.under_way.terms.time.unwrap_or_else(|| relay.patience());
        let begun = Instant::now();
        let taken = timeout(patience, sender.send(batch)).await;
        self.until = self.until.map(|until| until + begun.elapsed());
        matches!(taken, Ok(Ok(())))
    }
}

/// Cancels what nobody waits for. The connection keeps its place in the pool until the server is done with it, and is closed then: a
/// session whose statement was worth cancelling keeps the memory that it took.
async fn stop(mut relay: Object<Pooled>, mut exchange: Exchange, terms: Terms, mut errand: Option<Errand>) {
    let target = relay.cancel_target();
    for patience in [100, 400, 2_000, 10_000].map(Duration::from_millis) {
        // A signal between two messages of the pipeline hits nothing: so it is repeated.
        let asked = relay::cancel(&target).await;
        drop(errand.take());
        // A server that nobody reaches: what runs there holds no place here.
        if !asked {
            break;
        }
        let drained = async { while let Ok(Some(_)) = relay.next(&mut exchange).await {} };
        if timeout(patience, drained).await.is_ok() {
            break;
        }
    }
    drop(Object::take(relay));
    // Its user's place was taken until here.
    drop(terms.place);
}
