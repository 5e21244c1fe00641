//! Connections of the two pools: how each is made, and whether it can be used again.

use super::error::{FetchError, RelayError, cause};
use super::falls::{Falls, LIFE, Loss};
use super::login::Login;
use super::options::{LIMITED, SESSION_PROOF, SameDatabase, pinned_proof};
use super::param::Param;
use super::prepared::{LONGEST, is_lasting};
use super::relay::Relay;
use super::text::{FetchText, Hints};
use super::tls::Tls;
use super::worn::is_old;
use answer::SqlState;
use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use tokio::task::JoinHandle;
use tokio_postgres::Statement;

/// Makes and checks relay connections.
pub(super) struct Pooled(pub(super) Login, pub(super) SameDatabase, pub(super) Falls);

impl Manager for Pooled {
    type Type = Relay;
    type Error = RelayError;

    async fn create(&self) -> Result<Relay, RelayError> {
        Relay::connect(&self.0, &self.1, &self.2).await
    }

    async fn recycle(&self, relay: &mut Relay, metrics: &Metrics) -> RecycleResult<RelayError> {
        if relay.lend() && !is_old(metrics) { Ok(()) } else { Err(RecycleError::message("not idle")) }
    }
}

/// Makes and checks fetch connections.
pub(super) struct Fetching(pub(super) Login, pub(super) SameDatabase, pub(super) Falls);

/// A tokio-postgres client and the task that drives it.
pub(super) struct FetchClient {
    pub(super) client: tokio_postgres::Client,
    /// For cancel requests.
    pub(super) tls: Tls,
    task: JoinHandle<()>,
    /// The life of the server that it is of.
    life: Option<String>,
    falls: Falls,
    /// Checks of the schema, prepared: one runs twice in each fetch, and planning it costs more than running it.
    checks: Mutex<HashMap<String, Statement>>,
    /// Fetches that were read, prepared; the one used last at the end.
    reads: Mutex<Vec<(Read, Statement)>>,
    /// Fetches of which Citus's plan was proven to read each unit in one snapshot.
    proven: Mutex<HashSet<String>>,
}

/// Checks that a connection keeps prepared: one for each set of tables that statements read together.
const CHECKS: usize = 64;
/// Fetches that a connection keeps prepared. Their plans are memory of the server.
const READS: usize = 16;

/// What makes a prepared fetch the same: plans are kept as they were made with what the planner was told.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Read {
    hints: Hints,
    sql: String,
}

impl FetchClient {
    /// A fetch as a prepared statement of this connection; kept where it may be. One that takes values
    /// beside its seed is planned anew each time, since its best plan may hang on them, and one with a constant that means the
    /// moment is read anew.
    pub(super) async fn read(
        &self,
        text: &FetchText,
        keep: bool,
    ) -> Result<Statement, tokio_postgres::Error> {
        let sql = text.certified.text();
        let types: Vec<_> = text.params.iter().map(Param::ty).collect();
        if !keep || types.len() > 1 || sql.len() > LONGEST || !is_lasting(sql) {
            return self.client.prepare_typed(sql, &types).await;
        }
        let own = || self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        let is = |r: &Read| r.hints == text.hints && r.sql == sql;
        let known = {
            let mut reads = own();
            let place = reads.iter().position(|(r, _)| is(r));
            place.map(|place| {
                let known = reads.remove(place);
                let statement = known.1.clone();
                reads.push(known);
                statement
            })
        };
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare_typed(sql, &types).await?;
        let mut reads = own();
        if reads.len() >= READS {
            reads.remove(0);
        }
        let read = Read { hints: text.hints, sql: sql.to_owned() };
        reads.push((read, statement.clone()));
        Ok(statement)
    }

    /// Whether the whole database fell, where this connection was lost.
    pub(super) fn fell(
        &self,
        last_word: Option<SqlState>,
        silent: bool,
    ) -> impl Future<Output = bool> + use<> {
        self.falls.fell(Loss { life: self.life.clone(), last_word, silent })
    }

    /// Returns once nobody hears of the server.
    pub(super) fn away(&self) -> impl Future<Output = ()> + use<> {
        self.falls.away()
    }

    /// Forgets what is prepared: some of it may not be right any more.
    pub(super) fn forget(&self) {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.proven.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Whether the plan of this fetch was proven, over the schema as it is.
    pub(super) fn is_proven(&self, sql: &str) -> bool {
        self.proven.lock().unwrap_or_else(PoisonError::into_inner).contains(sql)
    }

    /// Remembers that it was.
    pub(super) fn note_proven(&self, sql: &str) {
        let mut proven = self.proven.lock().unwrap_or_else(PoisonError::into_inner);
        if proven.len() >= CHECKS {
            proven.clear();
        }
        proven.insert(sql.to_owned());
    }

    /// Says what to do where temporary files of the session have a limit. What is read of a transaction takes its snapshot.
    pub(super) async fn limited(&self) -> Result<Option<String>, tokio_postgres::Error> {
        let limits = self.prepared(LIMITED).await?;
        let Some(row) = self.client.query_opt(&limits, &[]).await? else { return Ok(None) };
        let (role, limit): (String, String) = (row.try_get(0)?, row.try_get(1)?);
        Ok(Some(format!(
            "temp_file_limit is {limit}, so that the number of private rows would decide whether a fetch fails; as superuser: \
             ALTER ROLE {role} SET temp_file_limit = -1, or set it so in postgresql.conf"
        )))
    }

    /// The query as a prepared statement of this connection.
    pub(super) async fn prepared(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        let known = self.checks.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        let mut kept = self.checks.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= CHECKS {
            kept.clear();
        }
        kept.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Drop for FetchClient {
    /// Closes the socket even where answers are outstanding.
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Manager for Fetching {
    type Type = FetchClient;
    type Error = FetchError;

    async fn create(&self) -> Result<FetchClient, FetchError> {
        let away = |e: tokio_postgres::Error| FetchError::Unreachable(cause(&e));
        let (client, connection) = self.0.connect().await.map_err(away)?;
        let task = tokio::spawn(async move {
            if let Err(e) = connection.await {
                tracing::warn!(cause = %cause(&e), "a fetch connection was lost");
            }
        });
        let mut made = FetchClient {
            client,
            tls: self.0.tls.clone(),
            task,
            life: None,
            falls: self.2.clone(),
            checks: Mutex::default(),
            reads: Mutex::default(),
            proven: Mutex::default(),
        };
        let row = made.client.query_one(SESSION_PROOF, &[]).await.map_err(away)?;
        let hold: Option<bool> = row.try_get(0).map_err(away)?;
        let pinned = made.client.query_one(&pinned_proof(), &[]).await.map_err(away)?;
        let pinned: Option<bool> = pinned.try_get(0).map_err(away)?;
        let hold = hold.zip(pinned).map(|(hold, pinned)| hold && pinned);
        let database = row.try_get(1).map_err(away)?;
        made.life = row.try_get(LIFE).map_err(away)?;
        self.1.prove(hold == Some(true), database).map_err(FetchError::Unreachable)?;
        match made.limited().await.map_err(away)? {
            Some(cause) => Err(FetchError::Limited(cause)),
            None => Ok(made),
        }
    }

    async fn recycle(&self, made: &mut FetchClient, metrics: &Metrics) -> RecycleResult<FetchError> {
        if made.client.is_closed() || made.task.is_finished() {
            return Err(RecycleError::message("closed"));
        }
        if is_old(metrics) {
            return Err(RecycleError::message("old"));
        }
        Ok(())
    }
}
