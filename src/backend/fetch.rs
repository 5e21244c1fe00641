//! Reading private rows: one snapshot, one transaction, few round trips, and not a word of the database's errors.
//!
//! First trip: open the transaction, apply the session's settings, check the schema's fingerprint, prepare every
//! statement. (Preparing separately matters: tokio-postgres looks up types it does not know, and while rows are on
//! their way that would wait for itself.) Second trip: run every statement, roll back, check the fingerprint again.
//!
//! The first check has the snapshot of the rows (soundness rule 7), and refuses before any is read. But names are
//! resolved by the newest catalogs, after a wait for whoever is altering the table, which that snapshot does not
//! see: so the second check, in a newer snapshot, must find the same.

use super::error::FetchError;
use super::param::Param;
use super::pool::{Backend, FetchClient, Fetching, cause};
use super::settings::Settings;
use deadpool::managed::Object;
use futures::StreamExt;
use futures::future::{join, join_all, join3, maybe_done, poll_fn};
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

/// A connection that a fetch will have to itself.
pub struct Reserved(Object<Fetching>);

impl Backend {
    /// Waits for a connection for a fetch. Nothing is sent: what is refused here need not be paid for.
    ///
    /// # Errors
    /// [`FetchError::Unreachable`], [`FetchError::Busy`].
    pub async fn reserve(&self) -> Result<Reserved, FetchError> {
        self.fetch_connection().await.map(Reserved)
    }

    /// Reads all statements in one REPEATABLE READ READ ONLY snapshot and gives their rows, in order.
    ///
    /// Dropping the future cancels what runs on the server; the connection keeps its place in the pool until the
    /// server is done with it, and is then closed.
    ///
    /// # Errors
    /// [`FetchError`]; only [`FetchError::Failed`] can come after a statement over private rows was sent.
    pub async fn fetch(&self, request: FetchRequest) -> Result<Vec<Vec<Row>>, FetchError> {
        let reserved = self.reserve().await?;
        self.fetch_on(reserved, request).await
    }

    /// [`fetch`](Self::fetch), on a connection that was waited for before.
    ///
    /// # Errors
    /// As there.
    pub async fn fetch_on(
        &self,
        Reserved(first): Reserved,
        request: FetchRequest,
    ) -> Result<Vec<Vec<Row>>, FetchError> {
        let patience = self.fetch.manager().0.patience();
        match run(first, request.clone(), patience).await {
            // A connection that died while idle: nothing was sent that reads private rows. Once more, anew.
            Err(FetchError::Unreachable(cause)) => {
                tracing::debug!(%cause, "a fetch connection was stale");
                self.fetch.retain(|_, _| false);
                run(self.fetch_connection().await?, request, patience).await
            }
            result => result,
        }
    }
}

/// Hands connection and request to a task of their own, which lives on when the caller does not.
async fn run(
    connection: Object<Fetching>,
    request: FetchRequest,
    patience: Duration,
) -> Result<Vec<Vec<Row>>, FetchError> {
    let (caller, gone) = oneshot::channel::<()>();
    let task = tokio::spawn(attend(connection, request, patience, gone));
    let result = task.await;
    drop(caller);
    result.unwrap_or_else(|e| Err(FetchError::Failed(format!("the fetch ended early: {e}"))))
}

async fn attend(
    connection: Object<Fetching>,
    request: FetchRequest,
    patience: Duration,
    gone: oneshot::Receiver<()>,
) -> Result<Vec<Vec<Row>>, FetchError> {
    let result = {
        let mut work = pin!(work(&connection, &request));
        let trips = u32::try_from(request.statements.len()).unwrap_or(u32::MAX).saturating_add(2);
        tokio::select! {
            result = &mut work => result,
            // The server's own limit ends a statement; this is for one that has vanished.
            () = tokio::time::sleep(patience.saturating_mul(trips)) => {
                Err(FetchError::Failed("the database did not answer in time".into()))
            }
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

async fn work(connection: &FetchClient, request: &FetchRequest) -> Result<Vec<Vec<Row>>, FetchError> {
    let client = &connection.client;
    let check = match &request.fingerprint {
        Some(f) => Some((connection.prepared(&f.sql).await.map_err(early)?, f.expected.as_str())),
        None => None,
    };
    let statements = open(client, request, check.as_ref()).await?;
    let failed = |e: &tokio_postgres::Error| FetchError::Failed(place(e));
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
    let end = join(client.batch_execute("ROLLBACK"), fingerprint(client, check.as_ref()));
    let (rows, (ended, found)) = in_order(reads, end).await?;
    ended.map_err(|e| failed(&e))?;
    match found.map_err(|e| failed(&e))? {
        true => Ok(rows),
        false => Err(FetchError::SchemaChanged),
    }
}

/// The first trip. Errors before the first private row: lost connections are [`FetchError::Unreachable`].
async fn open(
    client: &Client,
    request: &FetchRequest,
    check: Option<&Check<'_>>,
) -> Result<Vec<Statement>, FetchError> {
    let begin = request.settings.begin();
    let prepares = request.statements.iter().map(|text| {
        let types: Vec<_> = text.params.iter().map(Param::ty).collect();
        async move { client.prepare_typed(&text.sql, &types).await }
    });
    // Each future sends when it is first polled, which happens in this order.
    let (begun, same, prepared) =
        join3(client.batch_execute(&begin), fingerprint(client, check), join_all(prepares)).await;
    begun.map_err(early)?;
    if !same.map_err(early)? {
        client.batch_execute("ROLLBACK").await.map_err(early)?;
        return Err(FetchError::SchemaChanged);
    }
    let prepared = prepared.into_iter().collect::<Result<_, _>>().map_err(early);
    if let Err(FetchError::Failed(_)) = &prepared {
        // Perhaps the text is right for the schema that it was printed for, and that one is gone meanwhile.
        client.batch_execute("ROLLBACK").await.map_err(early)?;
        if !fingerprint(client, check).await.map_err(early)? {
            return Err(FetchError::SchemaChanged);
        }
    }
    prepared
}

/// A failure before any private row was read.
fn early(e: tokio_postgres::Error) -> FetchError {
    match e.as_db_error().map(|db| db.parsed_severity()) {
        Some(Some(Severity::Fatal | Severity::Panic)) => FetchError::Unreachable(cause(&e)),
        None if e.is_closed() || std::error::Error::source(&e).is_some_and(|s| s.is::<std::io::Error>()) => {
            FetchError::Unreachable(cause(&e))
        }
        _ => FetchError::Failed(place(&e)),
    }
}

/// What the log may hold of a failure over private rows: PostgreSQL's own words may quote a value of one, or a
/// constant of the analyst. Its SQLSTATE and the place in its source say as much about the cause.
fn place(e: &tokio_postgres::Error) -> String {
    let Some(db) = e.as_db_error() else { return cause(e) };
    let routine = db.routine().unwrap_or("an unknown routine");
    let at = db.file().zip(db.line()).map_or_else(String::new, |(file, line)| format!(", {file}:{line}"));
    format!("SQLSTATE {} from {routine}{at}", db.code().code())
}

/// The fingerprint's query and what it must give.
type Check<'a> = (Statement, &'a str);

/// Whether the schema is the one that was planned on.
async fn fingerprint(client: &Client, check: Option<&Check<'_>>) -> Result<bool, tokio_postgres::Error> {
    let Some((statement, expected)) = check else { return Ok(true) };
    let rows = client.query(statement, &[]).await?;
    let value: Option<&str> = match rows.as_slice() {
        [row] => row.try_get(0)?,
        _ => None,
    };
    Ok(value == Some(*expected))
}

type Read<'a> = Pin<Box<dyn Future<Output = Result<Vec<Row>, FetchError>> + Send + 'a>>;

/// Runs the reads and then `last`, all sent at once in this order; each sends when it is first polled. Ends with
/// the first failure of a read, without waiting for the rest.
async fn in_order<L: Future>(
    mut reads: Vec<Read<'_>>,
    last: L,
) -> Result<(Vec<Vec<Row>>, L::Output), FetchError> {
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
    let output =
        last.take_output().ok_or_else(|| FetchError::Failed("the transaction did not end".into()))?;
    Ok((results.into_iter().flatten().collect(), output))
}
