//! Reading private rows: one snapshot, one transaction, few round trips, and not a word of the database's errors.
//!
//! [`Backend::open`] is the first trip: it begins the transaction, locks the tables,
//! checks the schema, and prepares every statement that the connection has not prepared before. (Preparing separately
//! matters: tokio-postgres looks up types it does not know, and while rows are on their way that would wait for itself.)
//! No private row is read until here, and all that fails here need not be paid for. [`Opened::read`] is the second trip: it runs
//! every statement, rolls back, and checks the schema again.
//!
//! What makes a plan right (soundness rule 7) is thus true of the rows that are read:
//!
//! * Constraints hold in a snapshot if the catalogs of that snapshot have them: the first check is in the snapshot of
//!   the rows.
//! * Names, columns and types are resolved by the newest catalogs instead. Whoever alters a table in a way that
//!   matters needs ACCESS EXCLUSIVE on it, which waits for our ACCESS SHARE: what the first check saw stays. The lock
//!   comes before the snapshot, so that a change that we waited for is in it.
//! * Some changes do not wait for that lock: a child table attached, a schema or a type renamed, an enum's new label,
//!   a view's tables. Nor can every relation be locked (views, foreign tables, grants of single columns). For these
//!   there is the second check, in a snapshot of its own.
//!
//! A hot standby gives these locks, too, and its replay of a change waits for them or ends the statement.

mod schema;

pub use schema::Fingerprint;
pub(super) use schema::Quick;

use super::citus::is_of_a_server;
use super::connection::{FetchClient, Fetching};
use super::error::{FetchError, cause, early, place};
use super::pool::Backend;
use super::text::{FetchText, Hints};
use super::worn::LONG;
use answer::{Errand, SqlState};
use deadpool::managed::Object;
use futures::StreamExt;
use futures::future::{join, join_all, join3, maybe_done, poll_fn};
use record::Held;
use schema::Checks;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_postgres::error::Severity;
use tokio_postgres::{Row, Statement};

/// A fetch: statements that see one snapshot.
#[derive(Clone, Debug)]
pub struct FetchRequest {
    /// Statements to read.
    pub statements: Vec<FetchText>,
    /// Fingerprint that the schema must have.
    pub fingerprint: Option<Fingerprint>,
    /// Rows (groups) that each statement may return.
    pub max_rows: usize,
}

/// A fetch that stands ready: its snapshot is taken, its schema is the one that was planned on, and nothing of private
/// rows was read. Dropping it rolls back.
pub struct Opened {
    go: oneshot::Sender<Vec<Option<Sieve>>>,
    answer: oneshot::Receiver<Result<Answers, FetchError>>,
}

/// The rows of each statement.
pub type Answers = Vec<Vec<Row>>;

/// Decides about the rows of a statement as they come.
pub struct Sieve {
    /// Whether a row stays, in their order; others are gone at once. An error, which must hold no value, ends the fetch.
    pub keeps: Keeps,
    /// The number of rows that stay was drawn with noise: it may be limited. Else it follows from
    /// others that are limited, and no limit counts them.
    pub limited: bool,
}

/// Whether a row stays.
pub type Keeps = Box<dyn FnMut(&Row) -> Result<bool, String> + Send>;

impl Backend {
    /// Makes a fetch ready, on a connection that it has to itself. What is refused here need not be paid for.
    ///
    /// Dropping the future is safe at any point.
    ///
    /// # Errors
    /// [`FetchError`]; none of them depends on private rows.
    pub async fn open(&self, request: FetchRequest) -> Result<Opened, FetchError> {
        let patience = self.fetch.manager().0.patience();
        match open(self.fetch_connection().await?, request.clone(), patience).await {
            // A connection that died while idle. Once more, anew.
            Err(FetchError::Unreachable(cause)) => {
                tracing::debug!(%cause, "a fetch connection was stale");
                self.fetch.retain(|_, _| false);
                open(self.fetch_connection().await?, request, patience).await
            }
            result => result,
        }
    }

    /// [`open`](Self::open) and [`read`](Opened::read).
    ///
    /// # Errors
    /// As theirs.
    pub async fn fetch(&self, request: FetchRequest) -> Result<Answers, FetchError> {
        self.open(request).await?.read().await
    }
}

impl Opened {
    /// Reads all statements in the snapshot that was taken, and gives their rows, in order.
    ///
    /// Dropping the future cancels what runs on the server; the connection keeps its place in the pool until the
    /// server is done with it, and is then closed.
    ///
    /// # Errors
    /// [`FetchError::Failed`], and [`FetchError::SchemaChanged`] for a change that no lock could hold off.
    pub async fn read(self) -> Result<Answers, FetchError> {
        self.read_through(Vec::new()).await
    }

    /// The same, where of each statement that has a sieve only the rows stay that it keeps: their number, and no other, is limited.
    ///
    /// # Errors
    /// As [`Self::read`]; and [`FetchError::Many`] where more rows are kept than may come back.
    pub async fn read_through(self, sieves: Vec<Option<Sieve>>) -> Result<Answers, FetchError> {
        // A task that is gone gives no answer, either.
        let _ = self.go.send(sieves);
        self.answer.await.unwrap_or_else(|_| Err(FetchError::Failed("the fetch ended early".into())))
    }
}

const AWAY: &str = "it answers nobody";

/// How long something is let end of itself before it is cancelled.
const MOMENT: Duration = Duration::from_millis(100);

/// Hands connection and request to a task of their own, which lives on when the caller does not.
async fn open(
    connection: Object<Fetching>,
    request: FetchRequest,
    patience: Duration,
) -> Result<Opened, FetchError> {
    let (ready, opened) = oneshot::channel();
    let (go, start) = oneshot::channel();
    let (answers, answer) = oneshot::channel();
    let (errand, _held) = (Errand::of_this_task(), record::held());
    let caller = Caller { ready, start, answers, errand, _held };
    tokio::spawn(attend(connection, request, patience, caller));
    match opened.await {
        Ok(Ok(())) => Ok(Opened { go, answer }),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(FetchError::Failed("the fetch could not be opened".into())),
    }
}

/// What a fetch's task tells who wants it, and hears.
struct Caller {
    ready: oneshot::Sender<Result<(), FetchError>>,
    /// Sent when the rows are wanted; dropped when they are not, because they cannot be paid for, say.
    start: oneshot::Receiver<Vec<Option<Sieve>>>,
    answers: oneshot::Sender<Result<Answers, FetchError>>,
    /// To cancel what makes it ready: what is paid for goes on.
    errand: Option<Errand>,
    /// For as long as the server works on it.
    _held: Option<Held>,
}

async fn attend(connection: Object<Fetching>, request: FetchRequest, patience: Duration, mut caller: Caller) {
    let late = || FetchError::Late("the database did not answer in time".into());
    let opened = {
        let mut work = pin!(prepare(&connection, &request));
        tokio::select! {
            result = &mut work => result,
            () = connection.away() => Err(FetchError::Unreachable(AWAY.into())),
            // The server's own limit ends a wait for a lock; this is for one that has vanished.
            () = tokio::time::sleep(patience) => Err(late()),
            // Nothing was read: what takes a moment is let end, which costs less than another connection.
            () = caller.ready.closed() => match timeout(MOMENT, &mut work).await {
                Ok(result) => result,
                Err(_) => {
                    stop(&connection, work, caller.errand.take()).await;
                    Err(late())
                }
            }
        }
    };
    drop(caller.errand.take());
    let prepared = match opened {
        Ok(prepared) => prepared,
        Err(error) => {
            // After a change of the schema the transaction was ended in order.
            let ended = matches!(error, FetchError::SchemaChanged);
            // The error first: a server that has vanished is waited for once more. Nobody hears it where the caller
            // has gone.
            let _ = caller.ready.send(Err(error));
            if !ended {
                close(connection).await;
            }
            return;
        }
    };
    let wanted = match caller.ready.send(Ok(())) {
        Ok(()) => caller.start.await.ok(),
        Err(_) => None,
    };
    let Some(mut sieves) = wanted else {
        match timeout(Duration::from_secs(1), connection.client.batch_execute("ROLLBACK")).await {
            Ok(Ok(())) => {}
            _ => drop(Object::take(connection)),
        }
        return;
    };
    let begun = Instant::now();
    let result = {
        sieves.resize_with(request.statements.len(), || None);
        let mut work = pin!(read(&connection, &request, &prepared, sieves));
        let trips = u32::try_from(request.statements.len()).unwrap_or(u32::MAX).saturating_add(1);
        tokio::select! {
            result = &mut work => result,
            () = connection.away() => Err(FetchError::Fell(AWAY.into())),
            () = tokio::time::sleep(patience.saturating_mul(trips)) => {
                let cause = "the database did not answer in time".into();
                Err(FetchError::Lost { cause, last_word: None, silent: true })
            }
            () = caller.answers.closed() => {
                stop(&connection, work, None).await;
                Err(FetchError::Failed("nobody waits for the fetch any more".into()))
            }
        }
    };
    let result = match result {
        Err(FetchError::Lost { cause, last_word, silent }) => {
            match connection.fell(last_word, silent).await {
                true => Err(FetchError::Fell(cause)),
                false => Err(FetchError::Failed(cause)),
            }
        }
        result => result,
    };
    match &result {
        // The transaction was ended in order. The connection is given up first: who has the answer finds it free.
        Ok(_) | Err(FetchError::SchemaChanged) => {
            match begun.elapsed() > LONG {
                true => drop(Object::take(connection)),
                false => drop(connection),
            }
            let _ = caller.answers.send(result);
        }
        Err(_) => {
            let _ = caller.answers.send(result);
            close(connection).await;
        }
    }
}

/// Ends a transaction that failed and closes the connection: rows may still be on their way, and what still runs is of
/// no use to anybody.
async fn close(connection: Object<Fetching>) {
    {
        let mut end = pin!(connection.client.batch_execute("ROLLBACK"));
        if timeout(MOMENT, &mut end).await.is_err() {
            stop(&connection, end, None).await;
        }
    }
    drop(Object::take(connection));
}

/// Cancels until `end`, which comes true when the server is done, does; then the connection may be closed.
async fn stop<F: Future>(connection: &FetchClient, end: F, mut errand: Option<Errand>) {
    let mut end = pin!(end);
    let token = connection.client.cancel_token();
    for patience in [100, 400, 2_000, 10_000].map(Duration::from_millis) {
        // A signal that arrives between two statements hits nothing: so it is repeated.
        let asked = timeout(Duration::from_secs(3), token.cancel_query(connection.tls.clone())).await;
        drop(errand.take());
        match asked {
            Ok(Ok(())) => {}
            Ok(Err(e)) => tracing::warn!(cause = %cause(&e), "a cancel request could not be sent"),
            // A server that nobody reaches: what runs there holds no place here.
            Err(_) => return,
        }
        if timeout(patience, &mut end).await.is_ok() {
            return;
        }
    }
}

/// Statements that wait for their rows to be asked for.
struct Prepared {
    statements: Vec<Statement>,
    checks: Option<Checks>,
}

/// The first trip. Errors before the first private row.
async fn prepare(connection: &FetchClient, request: &FetchRequest) -> Result<Prepared, FetchError> {
    let client = &connection.client;
    let checks = match &request.fingerprint {
        Some(fingerprint) => Some(fingerprint.prepare(connection).await.map_err(early)?),
        None => None,
    };
    // The lock directly after BEGIN: neither takes a snapshot.
    let mut begin = String::from("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    begin.push_str(request.fingerprint.as_ref().map_or("", Fingerprint::lock));
    // Parsing waits for who alters a table that cannot be locked; what was parsed before would wait, and fail, when it is read.
    let keep = request.fingerprint.as_ref().is_some_and(Fingerprint::locks_all);
    let prepares = request.statements.iter().map(|text| connection.read(text, keep));
    let quick = async {
        match &checks {
            Some(checks) => checks.unchanged(client).await,
            None => Ok(true),
        }
    };
    // Texts are planned when they are executed; what is read of catalogs before that has indexes.
    let any = |is: fn(&Hints) -> bool| request.statements.iter().any(|s| is(&s.hints));
    let told = Hints { hashed: any(|t| t.hashed), joined: any(|t| t.joined) }.settings();
    let told = async {
        match told.is_empty() {
            true => Ok(()),
            false => client.batch_execute(&told).await,
        }
    };
    let spread = request.fingerprint.as_ref().and_then(Fingerprint::spread);
    let placed = async {
        match spread {
            Some(spread) => spread.prove(connection, &request.statements).await,
            None => Ok(()),
        }
    };
    // Each future sends when it is first polled, which happens in this order.
    let first = join3(client.batch_execute(&begin), quick, join_all(prepares));
    let ((begun, unchanged, prepared), (told, limited), placed) =
        join3(first, join(told, connection.limited()), placed).await;
    let prepared = prepared.into_iter().collect::<Result<Vec<_>, _>>();
    let prepared = prepared.and_then(|all| told.map(|()| all));
    let begun = match begun {
        // A lock is taken on all servers.
        Err(e) if spread.is_some() && is_of_a_server(&e) => return Err(FetchError::Unreachable(place(&e))),
        begun => begun,
    };
    let limited = match (&begun, limited) {
        (Ok(()), Ok(Some(cause))) => return Err(FetchError::Limited(cause)),
        (_, limited) => limited,
    };
    let prepared = match (begun, unchanged, prepared.and_then(|all| limited.map(|_| all))) {
        (Err(e), ..) | (_, Err(e), _) | (.., Err(e)) => Err(early(e)),
        (Ok(()), Ok(true), Ok(statements)) => Ok(statements),
        (Ok(()), Ok(false), Ok(statements)) => match &checks {
            // In the same snapshot.
            Some(checks) if checks.whole(client).await.map_err(early)? => Ok(statements),
            _ => Err(FetchError::SchemaChanged),
        },
    };
    match prepared.and_then(|statements| placed.map(|()| statements)) {
        Ok(statements) => Ok(Prepared { statements, checks }),
        Err(FetchError::SchemaChanged) => {
            connection.forget();
            client.batch_execute("ROLLBACK").await.map_err(early)?;
            Err(FetchError::SchemaChanged)
        }
        Err(error @ (FetchError::Failed(_) | FetchError::Denied(_))) => {
            // Perhaps names and texts are right for the schema that they were printed for, and that one is gone.
            client.batch_execute("ROLLBACK").await.map_err(early)?;
            match &checks {
                Some(checks) if !checks.right(client).await.map_err(early)? => Err(FetchError::SchemaChanged),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// The second trip.
async fn read(
    connection: &FetchClient,
    request: &FetchRequest,
    prepared: &Prepared,
    sieves: Vec<Option<Sieve>>,
) -> Result<Answers, FetchError> {
    let client = &connection.client;
    let failed = |e: &tokio_postgres::Error| match lost(e) {
        Some(last_word) => FetchError::Lost { cause: place(e), last_word, silent: false },
        None => FetchError::Failed(place(e)),
    };
    let statements = prepared.statements.iter().zip(&request.statements).zip(sieves);
    // A sieve may rest on what those before it have kept: rows of a statement are looked at once those before have come.
    let turn = AtomicUsize::new(0);
    let reads = statements.enumerate().map(|(place, ((statement, text), mut sieve))| {
        let turn = &turn;
        async move {
            let mut rows = Vec::new();
            let mut stream = pin!(client.query_raw(statement, &text.params).await.map_err(|e| failed(&e))?);
            poll_fn(|_| if turn.load(Ordering::Relaxed) == place { Poll::Ready(()) } else { Poll::Pending })
                .await;
            while let Some(row) = stream.next().await {
                let row = row.map_err(|e| failed(&e))?;
                if let Some(sieve) = &mut sieve
                    && !(sieve.keeps)(&row).map_err(FetchError::Failed)?
                {
                    continue;
                }
                match &sieve {
                    Some(sieve) if rows.len() == request.max_rows && sieve.limited => {
                        return Err(FetchError::Many(request.max_rows));
                    }
                    // Groups that are public, whose number was looked at before.
                    None if rows.len() == request.max_rows => {
                        return Err(FetchError::Failed(format!("more than {} groups", request.max_rows)));
                    }
                    _ => rows.push(row),
                }
            }
            turn.store(place + 1, Ordering::Relaxed);
            Ok(rows)
        }
    });
    let reads = reads.map(|r| Box::pin(r) as Read<'_>).collect();
    let again = async {
        match &prepared.checks {
            Some(checks) => checks.still_unchanged(client).await,
            None => Ok(true),
        }
    };
    let (rows, (ended, unchanged)) = in_order(reads, join(client.batch_execute("ROLLBACK"), again)).await?;
    ended.map_err(|e| failed(&e))?;
    if unchanged.map_err(|e| failed(&e))? {
        return Ok(rows);
    }
    match &prepared.checks {
        Some(checks) if !checks.settled(client).await.map_err(|e| failed(&e))? => {
            Err(FetchError::SchemaChanged)
        }
        _ => Ok(rows),
    }
}

/// Whether the connection was lost, and what the server said last, if anything.
fn lost(e: &tokio_postgres::Error) -> Option<Option<SqlState>> {
    match e.as_db_error() {
        Some(db) => matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
            .then(|| Some(SqlState::parse(db.code().code()))),
        None => {
            let io = std::error::Error::source(e).is_some_and(|s| s.is::<std::io::Error>());
            (e.is_closed() || io).then_some(None)
        }
    }
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
