//! Reading private rows: one snapshot, one transaction, few round trips, and not a word of the database's errors.
//!
//! First trip: open the transaction, apply the session's settings, check the schema's fingerprint, prepare every
//! statement. (Preparing separately matters: tokio-postgres looks up types it does not know, and while rows are on
//! their way that would wait for itself.) Second trip: run every statement, roll back. The snapshot of the
//! fingerprint is the snapshot of the rows (soundness rule 7).

use super::error::FetchError;
use super::param::Param;
use super::pool::{Backend, FetchClient, Fetching, cause};
use super::settings::Settings;
use deadpool::managed::Object;
use futures::StreamExt;
use futures::future::{join3, maybe_done, poll_fn};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_postgres::error::Severity;
use tokio_postgres::{Client, NoTls, Row, Statement};

/// A fetch: statements that see one snapshot.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// Of the client's session.
    pub settings: Settings,
    /// What to read.
    pub statements: Vec<FetchText>,
    /// What must hold of the schema.
    pub fingerprint: Option<Fingerprint>,
    /// Rows (groups) that each statement may return.
    pub max_rows: usize,
}

/// One statement over private rows, printed by us.
#[derive(Clone, Debug)]
pub struct FetchText {
    /// One SELECT.
    pub sql: String,
    /// `$1`, `$2`, …
    pub params: Vec<Param>,
}

/// A query over catalogs that gives one text, and the text that it gave when the policy was loaded.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    /// One SELECT of one row with one text.
    pub sql: String,
    /// Its value then.
    pub expected: String,
}

impl Backend {
    /// Reads all statements in one REPEATABLE READ READ ONLY snapshot and gives their rows, in order.
    ///
    /// Dropping the future cancels what runs on the server; the connection keeps its place in the pool until the
    /// server is done with it, and is then closed.
    ///
    /// # Errors
    /// [`FetchError`]; only [`FetchError::Failed`] can come after a statement over private rows was sent.
    pub async fn fetch(&self, request: FetchRequest) -> Result<Vec<Vec<Row>>, FetchError> {
        let first = self.fetch_connection().await?;
        match run(first, request.clone()).await {
            // A connection that died while idle: nothing was sent that reads private rows. Once more, anew.
            Err(FetchError::Unreachable(cause)) => {
                tracing::debug!(%cause, "a fetch connection was stale");
                self.fetch.retain(|_, _| false);
                run(self.fetch_connection().await?, request).await
            }
            result => result,
        }
    }
}

/// Hands connection and request to a task of their own, which lives on when the caller does not.
async fn run(connection: Object<Fetching>, request: FetchRequest) -> Result<Vec<Vec<Row>>, FetchError> {
    let (caller, gone) = oneshot::channel::<()>();
    let task = tokio::spawn(attend(connection, request, gone));
    let result = task.await;
    drop(caller);
    result.unwrap_or_else(|e| Err(FetchError::Failed(format!("the fetch ended early: {e}"))))
}

async fn attend(
    connection: Object<Fetching>,
    request: FetchRequest,
    gone: oneshot::Receiver<()>,
) -> Result<Vec<Vec<Row>>, FetchError> {
    let result = {
        let mut work = pin!(work(&connection.client, &request));
        tokio::select! {
            result = &mut work => result,
            _ = gone => {
                stop(&connection, work).await;
                Err(FetchError::Failed("nobody waits for the fetch any more".into()))
            }
        }
    };
    match &result {
        // The transaction was ended in order.
        Ok(_) | Err(FetchError::SchemaChanged) => {}
        // Rows may still be on their way, and what still runs is of no use to anybody.
        Err(_) => {
            {
                let mut end = pin!(connection.client.batch_execute("ROLLBACK"));
                if timeout(Duration::from_millis(100), &mut end).await.is_err() {
                    stop(&connection, end).await;
                }
            }
            drop(Object::take(connection));
        }
    }
    result
}

/// Cancels until `end`, which comes true when the server is done, does; then the connection may be closed.
async fn stop<F: Future>(connection: &FetchClient, end: F) {
    let mut end = pin!(end);
    let token = connection.client.cancel_token();
    for patience in [100, 400, 2_000, 10_000].map(Duration::from_millis) {
        // A signal that arrives between two statements hits nothing: so it is repeated.
        if let Ok(Err(e)) = timeout(Duration::from_secs(5), token.cancel_query(NoTls)).await {
            tracing::warn!(cause = %cause(&e), "a cancel request could not be sent");
        }
        if timeout(patience, &mut end).await.is_ok() {
            return;
        }
    }
}

async fn work(client: &Client, request: &FetchRequest) -> Result<Vec<Vec<Row>>, FetchError> {
    let statements = open(client, request).await?;
    let failed = |e: &tokio_postgres::Error| FetchError::Failed(cause(e));
    let reads = statements.iter().zip(&request.statements).map(|(statement, text)| async {
        let mut rows = Vec::new();
        let mut stream = pin!(client.query_raw(statement, &text.params).await.map_err(|e| failed(&e))?);
        while let Some(row) = stream.next().await {
            if rows.len() == request.max_rows {
                // How many groups there are is private: to the client this is a failure like any other.
                return Err(FetchError::Failed(format!("more than {} groups", request.max_rows)));
            }
            rows.push(row.map_err(|e| failed(&e))?);
        }
        Ok(rows)
    });
    let reads = reads.map(|r| Box::pin(r) as Read<'_>).collect();
    in_order(reads, client.batch_execute("ROLLBACK")).await
}

/// The first trip. Errors before the first private row: lost connections are [`FetchError::Unreachable`].
async fn open(client: &Client, request: &FetchRequest) -> Result<Vec<Statement>, FetchError> {
    let begin = request.settings.begin();
    let fingerprint = async {
        match &request.fingerprint {
            Some(f) => client.query_typed(&f.sql, &[]).await.map(Some),
            None => Ok(None),
        }
    };
    let prepares = request.statements.iter().map(|text| {
        let types: Vec<_> = text.params.iter().map(Param::ty).collect();
        async move { client.prepare_typed(&text.sql, &types).await }
    });
    // Each future sends when it is first polled, which happens in this order.
    let (begun, found, prepared) =
        join3(client.batch_execute(&begin), fingerprint, futures::future::join_all(prepares)).await;
    let early = |e: tokio_postgres::Error| match e.as_db_error().map(|db| db.parsed_severity()) {
        Some(Some(Severity::Fatal | Severity::Panic)) => FetchError::Unreachable(cause(&e)),
        None if e.is_closed() || std::error::Error::source(&e).is_some_and(|s| s.is::<std::io::Error>()) => {
            FetchError::Unreachable(cause(&e))
        }
        _ => FetchError::Failed(cause(&e)),
    };
    begun.map_err(early)?;
    let found = found.map_err(early)?;
    if let (Some(expected), Some(rows)) = (&request.fingerprint, found) {
        let value: Option<String> = rows.first().and_then(|r| r.try_get(0).ok()).flatten();
        if rows.len() != 1 || value.as_ref() != Some(&expected.expected) {
            client.batch_execute("ROLLBACK").await.map_err(early)?;
            return Err(FetchError::SchemaChanged);
        }
    }
    prepared.into_iter().map(|p| p.map_err(early)).collect()
}

type Read<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, FetchError>> + Send + 'a>>;

/// Runs the reads and then `last`, all sent at once in this order; each sends when it is first polled. Ends with
/// the first failure, without waiting for the rest.
async fn in_order<L>(mut reads: Vec<Read<'_>>, last: L) -> Result<Vec<Vec<Row>>, FetchError>
where
    L: Future<Output = Result<(), tokio_postgres::Error>>,
{
    let mut results: Vec<Option<Vec<Row>>> = reads.iter().map(|_| None).collect();
    let mut last = pin!(maybe_done(last));
    poll_fn(|cx| {
        let mut pending = false;
        for (read, result) in reads.iter_mut().zip(results.iter_mut()).filter(|(_, r)| r.is_none()) {
            match read.as_mut().poll(cx) {
                Poll::Ready(Ok(rows)) => *result = Some(rows),
                Poll::Ready(Err(e)) => return Poll::Ready(Err(e)),
                Poll::Pending => pending = true,
            }
        }
        let last = last.as_mut().poll(cx);
        if pending { Poll::Pending } else { last.map(Ok) }
    })
    .await?;
    // The rows are here. Should the end of the transaction have failed, the connection is found to be closed at
    // its next checkout.
    if let Some(Err(e)) = last.take_output() {
        tracing::warn!(cause = %cause(&e), "a fetch transaction did not end in order");
    }
    Ok(results.into_iter().flatten().collect())
}
