//! Two pools, fetch and finish, and the operations of the finish login.
//!
//! A connection that broke while idle (the server was restarted, say) is found at checkout or, at the latest, by
//! the first message, and replaced once before anybody hears of it. A server that is away is an error of the
//! statement, never of the process: the next checkout tries again.

use super::connection::{FetchClient, Fetching, Pooled};
use super::error::{FetchError, RelayError};
use super::falls::{Falls, Witness};
use super::param::Param;
use super::relay::{Description, Query};
use super::rows::{self, Failure, Rows};
use super::settings::Settings;
use super::shares::{Place, Shares, Side};
use super::terms::Terms;
use answer::ClientError;
use deadpool::Runtime;
use deadpool::managed::{Manager, Object, Pool, PoolError, TimeoutType, Timeouts};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// How long making a connection may take, login included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a statement waits for a free connection.
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// The database, by its two logins.
pub struct Backend {
    pub(super) warnings: Vec<String>,
    pub(super) fetch: Pool<Fetching>,
    /// Runs statements.
    pub(super) finish: Pool<Pooled>,
    /// The same login, for what takes a moment: statements are typed here, and the proxy's own questions asked.
    pub(super) aside: Pool<Pooled>,
    /// Places of readers of catalogs.
    pub(super) readers: Arc<Semaphore>,
    pub(super) falls: Falls,
    /// Shares of each user in both.
    pub(super) shares: Shares,
    pub(super) public_timeout: Duration,
    pub(super) server_version: u32,
    pub(super) parameters: BTreeMap<String, String>,
}

/// Places of readers of catalogs.
pub(super) fn readers() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(READERS))
}

pub(super) fn pool<M: Manager>(manager: M, size: usize) -> Result<Pool<M>, String> {
    let timeouts =
        Timeouts { wait: Some(WAIT_TIMEOUT), create: Some(CONNECT_TIMEOUT), recycle: Some(CONNECT_TIMEOUT) };
    let builder = Pool::builder(manager).max_size(size.max(1)).timeouts(timeouts).runtime(Runtime::Tokio1);
    builder.build().map_err(|e| e.to_string())
}

/// On whose behalf a statement runs.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'u> {
    /// The login name.
    pub user: &'u str,
    /// The statement reads public tables alone and costs nothing, so that it may take less time.
    pub public: bool,
}

/// Why there is no connection.
enum NoConnection<E> {
    Busy,
    Slow,
    Because(E),
    Closed,
}

impl<E> From<PoolError<E>> for NoConnection<E> {
    fn from(error: PoolError<E>) -> Self {
        match error {
            PoolError::Timeout(TimeoutType::Wait) => Self::Busy,
            PoolError::Timeout(_) => Self::Slow,
            PoolError::Backend(e) => Self::Because(e),
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => Self::Closed,
        }
    }
}

const SLOW: &str = "it did not accept a connection in time";
const CLOSED: &str = "the proxy is shutting down";

/// Connections that read catalogs, beside those of the pool.
const READERS: usize = 2;

/// A connection of the fetch login for introspection: none of the pool, whose connections are for those who ask. It is closed
/// afterwards, so it may be left in any state.
pub struct Reader {
    connection: FetchClient,
    _turn: OwnedSemaphorePermit,
}

impl Deref for Reader {
    type Target = tokio_postgres::Client;

    fn deref(&self) -> &Self::Target {
        &self.connection.client
    }
}

impl Backend {
    /// `server_version_num`, for example 150018.
    pub fn server_version(&self) -> u32 {
        self.server_version
    }

    /// Rights of the fetch login beyond those that it needs, in words for the operator.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Has somebody told of crashes of the database.
    pub fn tell_of_crashes(&self, witness: Witness) {
        self.falls.told(witness);
    }

    /// Name of the server and its database, under which answers are kept.
    pub fn database(&self) -> &str {
        self.fetch.manager().1.known().unwrap_or_default()
    }

    /// The ParameterStatus values of a finish session (`server_version`, `integer_datetimes`, …).
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// A place of this user for a statement that reads private rows: to be had before it is paid for, and held until its rows
    /// are read.
    ///
    /// # Errors
    /// In the client's words: nobody was charged.
    pub async fn place_to_read(&self, user: &str, patience: Duration) -> Result<Place, ClientError> {
        self.shares.place(user, Side::Fetch, patience).await.map_err(RelayError::into_finish_error)
    }

    /// A connection of the fetch login, to read catalogs with.
    ///
    /// # Errors
    /// [`FetchError::Unreachable`], [`FetchError::Limited`], [`FetchError::Busy`].
    pub async fn reader(&self) -> Result<Reader, FetchError> {
        let turn = timeout(WAIT_TIMEOUT, self.readers.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(FetchError::Busy) };
        match timeout(CONNECT_TIMEOUT, self.fetch.manager().create()).await {
            Ok(Ok(connection)) => Ok(Reader { connection, _turn: turn }),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(FetchError::Unreachable(SLOW.into())),
        }
    }

    pub(super) async fn fetch_connection(&self) -> Result<Object<Fetching>, FetchError> {
        let _waiting = record::step(record::Stage::Place);
        self.fetch.get().await.map_err(|e| match e.into() {
            NoConnection::Busy => FetchError::Busy,
            NoConnection::Slow => FetchError::Unreachable(SLOW.into()),
            NoConnection::Because(error) => error,
            NoConnection::Closed => FetchError::Unreachable(CLOSED.into()),
        })
    }

    pub(super) async fn finish_connection(&self) -> Result<Object<Pooled>, RelayError> {
        connection_of(&self.finish).await
    }

    /// Prepares a statement on the finish login and says what it needs and gives. It is never executed: names and
    /// types are analysed, no SELECT right is needed, no row is read. `parameter_types` may be shorter than the list
    /// of parameters; 0 leaves a type open.
    ///
    /// # Errors
    /// [`RelayError::Db`] with PostgreSQL's judgement of the text; the others when it could not be asked.
    pub async fn describe(
        &self,
        settings: &Settings,
        sql: &str,
        parameter_types: &[u32],
    ) -> Result<Description, RelayError> {
        describe_by(&self.aside, settings, sql, parameter_types).await
    }

    /// Runs an analyst's statement on the finish login, which reads public tables only, in a place of its user. `formats` are
    /// those of Bind: one for each column, or one for all, or none for text.
    ///
    /// # Errors
    /// As [`Self::describe`], [`RelayError::Share`], and [`RelayError::TooLong`]; once rows flow, errors come in their stream.
    pub async fn serve(
        &self,
        asker: Asker<'_>,
        settings: &Settings,
        sql: &str,
        params: &[Param],
        formats: &[i16],
    ) -> Result<Rows, RelayError> {
        let waiting = record::step(record::Stage::Place);
        let place = self.shares.place(asker.user, Side::Finish, WAIT_TIMEOUT).await?;
        drop(waiting);
        let time = asker.public.then_some(self.public_timeout);
        let terms = Terms { place: Some(Arc::new(place)), time, undone: false };
        query_by(&self.finish, terms, settings, sql, params, formats).await
    }

    /// Runs a question of the proxy's own on the finish login. `formats` are as above.
    ///
    /// # Errors
    /// As [`Self::describe`]; once rows flow, errors come in their stream.
    pub async fn query(
        &self,
        settings: &Settings,
        sql: &str,
        params: &[Param],
        formats: &[i16],
    ) -> Result<Rows, RelayError> {
        query_by(&self.aside, Terms::default(), settings, sql, params, formats).await
    }
}

async fn connection_of(pool: &Pool<Pooled>) -> Result<Object<Pooled>, RelayError> {
    let _waiting = record::step(record::Stage::Place);
    pool.get().await.map_err(|e| match e.into() {
        NoConnection::Busy => RelayError::Busy,
        NoConnection::Slow => RelayError::Unreachable(SLOW.into()),
        // Whatever went wrong before a session stood, nothing was asked yet.
        NoConnection::Because(RelayError::Unreachable(cause) | RelayError::Lost(cause)) => {
            RelayError::Unreachable(cause)
        }
        NoConnection::Because(error) => RelayError::Unreachable(error.to_string()),
        NoConnection::Closed => RelayError::Unreachable(CLOSED.into()),
    })
}

/// [`Backend::describe`], by the connections of a pool.
pub(super) async fn describe_by(
    pool: &Pool<Pooled>,
    settings: &Settings,
    sql: &str,
    parameter_types: &[u32],
) -> Result<Description, RelayError> {
    let mut relay = connection_of(pool).await?;
    match relay.describe(settings, sql, parameter_types).await {
        Err(RelayError::Away) => {
            drop(Object::take(relay));
            // Nor will the others answer.
            pool.retain(|_, _| false);
            Err(RelayError::Away)
        }
        Err(error) => {
            if !relay.is_stale(&error).await {
                return Err(error);
            }
            drop(Object::take(relay));
            pool.retain(|_, _| false);
            connection_of(pool).await?.describe(settings, sql, parameter_types).await
        }
        result => result,
    }
}

/// [`Backend::query`], by the connections of a pool.
pub(super) async fn query_by(
    pool: &Pool<Pooled>,
    terms: Terms,
    settings: &Settings,
    sql: &str,
    params: &[Param],
    formats: &[i16],
) -> Result<Rows, RelayError> {
    let query = Query {
        settings: settings.clone(),
        sql: sql.to_owned(),
        params: params.to_vec(),
        formats: formats.to_vec(),
        // The one function of PostgreSQL that changes a session is on no list of ours. Should it get there, it changes nothing.
        undone: terms.undone || sql.contains("set_config"),
    };
    match rows::run(connection_of(pool).await?, terms.clone(), query.clone()).await {
        Ok(rows) => return Ok(rows),
        Err(Failure { error, again: false }) => {
            if matches!(error, RelayError::Away) {
                // Nor will the others answer.
                pool.retain(|_, _| false);
            }
            return Err(error);
        }
        Err(Failure { error: RelayError::Lost(_), .. }) => {
            pool.retain(|_, _| false);
        }
        Err(_) => {}
    }
    rows::run(connection_of(pool).await?, terms, query).await.map_err(|f| f.error)
}
