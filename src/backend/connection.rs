//! Connections of the two pools: how each is made, and whether it can be used again.

use super::error::{RelayError, cause};
use super::login::Login;
use super::options::{SESSION_PROOF, SameDatabase};
use super::relay::Relay;
use super::tls::Tls;
use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::task::JoinHandle;
use tokio_postgres::Statement;

/// Makes and checks relay connections.
pub(super) struct Pooled(pub(super) Login, pub(super) SameDatabase);

impl Manager for Pooled {
    type Type = Relay;
    type Error = RelayError;

    async fn create(&self) -> Result<Relay, RelayError> {
        Relay::connect(&self.0, &self.1).await
    }

    async fn recycle(&self, relay: &mut Relay, _: &Metrics) -> RecycleResult<RelayError> {
        if relay.lend() { Ok(()) } else { Err(RecycleError::message("not idle")) }
    }
}

/// Makes and checks fetch connections.
pub(super) struct Fetching(pub(super) Login, pub(super) SameDatabase);

/// A tokio-postgres client and the task that drives it.
pub(super) struct FetchClient {
    pub(super) client: tokio_postgres::Client,
    /// For cancel requests.
    pub(super) tls: Tls,
    task: JoinHandle<()>,
    /// Checks of the schema, prepared: one runs twice in each fetch, and planning it costs more than running it.
    checks: Mutex<HashMap<String, Statement>>,
}

/// Checks that a connection keeps prepared: one for each set of tables that statements read together.
const CHECKS: usize = 64;

impl FetchClient {
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
    type Error = String;

    async fn create(&self) -> Result<FetchClient, String> {
        let (client, connection) = self.0.connect().await.map_err(|e| cause(&e))?;
        let task = tokio::spawn(async move {
            if let Err(e) = connection.await {
                tracing::warn!(cause = %cause(&e), "a fetch connection was lost");
            }
        });
        let made = FetchClient { client, tls: self.0.tls.clone(), task, checks: Mutex::default() };
        let row = made.client.query_one(SESSION_PROOF, &[]).await.map_err(|e| cause(&e))?;
        let hold: Option<bool> = row.try_get(0).map_err(|e| cause(&e))?;
        self.1.prove(hold == Some(true), row.try_get(1).map_err(|e| cause(&e))?)?;
        Ok(made)
    }

    async fn recycle(&self, made: &mut FetchClient, _: &Metrics) -> RecycleResult<String> {
        if made.client.is_closed() || made.task.is_finished() {
            return Err(RecycleError::message("closed"));
        }
        Ok(())
    }
}
