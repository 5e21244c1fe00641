//! `server.auth_query`: SCRAM verifiers of users who are in no list, from a database of the owner's choice.
//!
//! It fails closed: whatever goes wrong, there is no such user, and the operator's log says what went wrong. A client
//! cannot tell one from the other.

use super::error::cause;
use super::tls::server;
use futures::future::try_join;
use policy::{AuthQuery, Given, ServerUrl, iterations, with_password};
use record::{STRANGERS, said};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

/// What a look-up may take, with a new connection for it: less than clients wait for a login.
const PATIENCE: Duration = Duration::from_secs(3);

/// PostgreSQL has no longer names.
const LONGEST_NAME: usize = 63;

/// Why a role of PostgreSQL, where there is one of this name, is nobody who may log in here: a verifier tells nothing of that.
/// Every login can read `pg_roles`.
const BARRED: &str = "SELECT CASE
        WHEN r.rolsuper THEN 'the role is a superuser'
        WHEN r.rolbypassrls OR r.rolreplication THEN 'the role has BYPASSRLS or REPLICATION'
        WHEN NOT r.rolcanlogin THEN 'the role may not log in'
        WHEN r.rolvaliduntil < pg_catalog.now() THEN 'the role''s password has expired'
    END FROM pg_catalog.pg_roles AS r WHERE r.rolname OPERATOR(pg_catalog.=) $1::pg_catalog.text";

/// The look-up, and the connection that it keeps.
pub struct Directory {
    query: AuthQuery,
    password_file: Option<Given<PathBuf>>,
    /// The service's own logins, which are no analysts.
    own: Vec<String>,
    /// One: a look-up is one message each way, and those who wait hold nothing.
    connection: Mutex<Option<Arc<Open>>>,
}

struct Open {
    client: Client,
    statement: Statement,
    barred: Statement,
    driver: tokio::task::JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Why a look-up gave nothing, for the log alone.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("no answer within {} seconds", PATIENCE.as_secs())]
    Slow,
    #[error("{0}")]
    Login(String),
    #[error("{}", cause(.0))]
    Query(#[from] tokio_postgres::Error),
    #[error("the query must give one column of type text; it gives {0}")]
    Shape(String),
    #[error("the query gives {0} rows for one name")]
    Rows(usize),
    #[error("what the query gives is not a SCRAM-SHA-256 verifier")]
    Verifier,
}

impl Directory {
    /// Connects at the first look-up. `urls`: by which the service itself logs in somewhere.
    pub fn new<'u>(
        query: AuthQuery,
        password_file: Option<Given<PathBuf>>,
        urls: impl Iterator<Item = &'u Given<String>>,
    ) -> Self {
        let user = |url: &Given<String>| {
            url.reveal().parse::<ServerUrl>().ok()?.config.get_user().map(str::to_owned)
        };
        let own = urls.filter_map(user).chain(user(&query.url)).collect();
        Self { query, password_file, own, connection: Mutex::new(None) }
    }

    /// Role of every user that is found.
    pub fn role(&self) -> Option<&str> {
        self.query.role.as_deref()
    }

    /// Iterations of the verifiers, as the policy says.
    pub fn iterations(&self) -> u32 {
        self.query.iterations
    }

    /// The verifier of this user.
    pub async fn verifier(&self, user: &str) -> Option<String> {
        if user.len() > LONGEST_NAME {
            return None;
        }
        let twice = async {
            match self.look_up(user).await {
                // The server may have been started anew since the last look-up, or the table altered.
                Err(Failed::Query(_)) => {
                    self.connection.lock().await.take();
                    self.look_up(user).await
                }
                found => found,
            }
        };
        match tokio::time::timeout(PATIENCE, twice).await.unwrap_or(Err(Failed::Slow)) {
            Ok(verifier) => verifier,
            Err(error) => {
                // Whatever state it is in, the next look-up makes a new one.
                self.connection.lock().await.take();
                tracing::error!(
                    target: STRANGERS, user = &*said(user), %error,
                    "server.auth_query failed: the user is treated as one who does not exist"
                );
                None
            }
        }
    }

    async fn look_up(&self, user: &str) -> Result<Option<String>, Failed> {
        let open = self.open().await?;
        let name: [&(dyn ToSql + Sync); 1] = [&user];
        // Both at once, so that whoever is barred waits no longer than others.
        let (rows, barred) =
            try_join(open.client.query(&open.statement, &name), open.client.query_opt(&open.barred, &name))
                .await?;
        let verifier: Option<String> = match rows.as_slice() {
            [] => None,
            [row] => row.try_get(0)?,
            more => return Err(Failed::Rows(more.len())),
        };
        let Some(verifier) = verifier else { return Ok(None) };
        let barred: Option<String> = barred.map(|row| row.try_get(0)).transpose()?.flatten();
        let own = self.own.iter().any(|o| o == user).then(|| "it is a login of noisegate itself".to_owned());
        if let Some(why) = own.or(barred) {
            tracing::warn!(
                target: STRANGERS,
                user,
                why,
                "server.auth_query found who may not log in here: the user is treated as one who does not exist"
            );
            return Ok(None);
        }
        match iterations(&verifier) {
            None => Err(Failed::Verifier),
            Some(found) => {
                if found != self.query.iterations {
                    let (said, key) = (self.query.iterations, "auth_query.iterations");
                    tracing::warn!(
                        target: STRANGERS,
                        found,
                        said,
                        "{key} differs: who exists can be told from who does not; correct it"
                    );
                }
                Ok(Some(verifier))
            }
        }
    }

    async fn open(&self) -> Result<Arc<Open>, Failed> {
        let mut kept = self.connection.lock().await;
        if let Some(open) = kept.as_ref().filter(|o| !o.client.is_closed()) {
            return Ok(open.clone());
        }
        let url = with_password(&self.query.url, self.password_file.as_ref()).map_err(Failed::Login)?;
        let (mut config, tls) =
            server(&url).map_err(|why| Failed::Login(format!("auth_query.url: {why}")))?;
        config.application_name("noisegate auth_query");
        let (client, connection) = config.connect(tls).await?;
        let driver = tokio::spawn(async {
            // The client reports what its own requests meet.
            let _ = connection.await;
        });
        let settings = format!(
            "SET default_transaction_read_only = on; SET statement_timeout = {}",
            PATIENCE.as_millis()
        );
        client.batch_execute(&settings).await?;
        let statement = client.prepare(&self.query.query).await?;
        let types: Vec<&str> = statement.columns().iter().map(|c| c.type_().name()).collect();
        if types != ["text"] && types != ["varchar"] {
            return Err(Failed::Shape(format!("({})", types.join(", "))));
        }
        let barred = client.prepare(BARRED).await?;
        let open = Arc::new(Open { client, statement, barred, driver });
        *kept = Some(open.clone());
        Ok(open)
    }
}
