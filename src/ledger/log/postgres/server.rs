//! The connection to the ledger's database: made where it is missing, given up where it fails, never waited for without
//! an end.
//!
//! One connection, driven by a runtime of its own that runs only while a call waits for an answer.

use super::schema::Names;
use crate::error::LedgerError;
use backend::{Login, OPTIONS_LOST, cause};
use policy::{self, LedgerDatabase};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Statement};

/// Server of the ledger, and the way to it.
pub(super) struct Server {
    login: Login,
    pub(super) names: Names,
    /// For messages: no password.
    pub(super) place: String,
    timeout: Duration,
    /// The operator has been told that the server may forget.
    warned: AtomicBool,
    /// Taken in `drop` only.
    runtime: Option<Runtime>,
}

/// A connection and what is prepared on it.
pub(super) struct Connection {
    pub(super) client: Client,
    task: JoinHandle<()>,
    pub(super) head: Statement,
    pub(super) rows: Statement,
    pub(super) append: Statement,
    pub(super) move_head: Statement,
    pub(super) put: Statement,
    pub(super) get: Statement,
    pub(super) look: Statement,
    pub(super) reads: Statement,
    pub(super) reserve: Statement,
    pub(super) fail: Statement,
    pub(super) remove: Statement,
}

impl Server {
    pub(super) fn new(ledger: &LedgerDatabase) -> Result<Self, LedgerError> {
        let url = |why| LedgerError::Unusable { place: ledger.to_string(), why };
        // The server ends first what the caller would give up: the lock is free when this process tries again.
        let share = |part: u32| (ledger.timeout * part / 10).as_millis().max(1).to_string();
        let gucs = [
            ("synchronous_commit", "on".into()),
            ("default_transaction_isolation", r"read committed".into()),
            ("search_path", "pg_catalog".into()),
            ("standard_conforming_strings", "on".into()),
            ("client_min_messages", "error".into()),
            ("lock_timeout", share(6)),
            ("statement_timeout", share(8)),
            ("idle_in_transaction_session_timeout", share(10)),
        ];
        let with_password = policy::with_password(&ledger.url, ledger.password_file.as_ref());
        let mut login =
            with_password.and_then(|url| Login::parse(&url, &gucs, ledger.timeout)).map_err(url)?;
        login.config.application_name("noisegate ledger").connect_timeout(ledger.timeout);
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| LedgerError::Thread(e.to_string()))?;
        Ok(Self {
            login,
            names: Names::new(&ledger.schema),
            place: ledger.to_string(),
            timeout: ledger.timeout,
            warned: AtomicBool::new(false),
            runtime: Some(runtime),
        })
    }

    pub(super) fn unavailable(&self, cause: impl std::fmt::Display) -> LedgerError {
        LedgerError::Unavailable { place: self.place.clone(), cause: cause.to_string() }
    }

    pub(super) fn unusable(&self, why: impl Into<String>) -> LedgerError {
        LedgerError::Unusable { place: self.place.clone(), why: why.into() }
    }

    /// Waits for what the database is asked, but not longer than the policy says.
    pub(super) fn wait<T: Send>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>> + Send,
    ) -> Result<T, LedgerError> {
        let limited = async { tokio::time::timeout(self.timeout, work).await };
        match self.block_on(limited)? {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(self.unavailable(cause(&error))),
            Err(_) => Err(self.unavailable("it did not answer in time")),
        }
    }

    /// The writer has a thread of its own. Who calls from within another runtime (start-up, a test) lends one.
    fn block_on<T: Send>(&self, work: impl Future<Output = T> + Send) -> Result<T, LedgerError> {
        let runtime = self.runtime.as_ref().ok_or(LedgerError::NoBatch)?;
        if Handle::try_current().is_err() {
            return Ok(runtime.block_on(work));
        }
        let lent = std::thread::scope(|scope| scope.spawn(|| runtime.block_on(work)).join());
        lent.map_err(|_| LedgerError::Thread("it panicked".into()))
    }

    /// A connection on which nothing is prepared.
    pub(super) fn connect(&self) -> Result<(Client, JoinHandle<()>), LedgerError> {
        let (client, task) = self.wait(async {
            let (client, connection) = self.login.connect().await?;
            let task = tokio::spawn(async move {
                // What ended it is told to whoever waits for an answer.
                let _ = connection.await;
            });
            Ok((client, task))
        })?;
        let asked = self.wait(client.query_one(SETTINGS, &[])).and_then(|row| {
            let get = |n: usize| row.try_get::<_, bool>(n).map_err(|e| self.unavailable(cause(&e)));
            Ok((get(0)?, get(1)?, get(2)?))
        });
        let refused = match asked {
            Ok((true, true, durable)) => {
                if !durable && !self.warned.swap(true, Ordering::Relaxed) {
                    tracing::warn!(
                        "the server of the ledger runs with fsync or full_page_writes off: a power failure can \
                         forget what was spent"
                    );
                }
                return Ok((client, task));
            }
            Ok((false, ..)) => self.unusable(OPTIONS_LOST),
            Ok((_, false, _)) => self.unusable("its database must have encoding UTF8"),
            Err(error) => error,
        };
        self.end(client, task);
        Err(refused)
    }

    /// A connection for batches.
    pub(super) fn prepared(&self) -> Result<Connection, LedgerError> {
        let (client, task) = self.connect()?;
        let names = &self.names;
        let texts = [
            names.head(),
            names.rows(),
            names.append(),
            names.move_head(),
            names.put(),
            names.get(),
            names.look(),
            names.reads(),
            names.reserve(),
            names.fail(),
            names.remove(),
        ];
        let statements =
            self.wait(futures::future::try_join_all(texts.iter().map(|sql| client.prepare(sql))));
        let statements = statements.map(<[Statement; 11]>::try_from);
        match statements {
            Ok(Ok([head, rows, append, move_head, put, get, look, reads, reserve, fail, remove])) => {
                Ok(Connection {
                    client,
                    task,
                    head,
                    rows,
                    append,
                    move_head,
                    put,
                    get,
                    look,
                    reads,
                    reserve,
                    fail,
                    remove,
                })
            }
            Ok(Err(_)) => Err(self.unavailable("not all statements were prepared")),
            Err(error) => {
                self.end(client, task);
                Err(error)
            }
        }
    }

    /// Closes a connection now: its transaction ends with it, and with that its lock.
    pub(super) fn close(&self, connection: Connection) {
        self.end(connection.client, connection.task);
    }

    pub(super) fn end(&self, client: Client, task: JoinHandle<()>) {
        drop(client);
        task.abort();
        let _ = self.block_on(async { task.await.is_ok() });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // In an async function, too, a runtime can be dropped only so.
            runtime.shutdown_background();
        }
    }
}

/// Ours hold; encoding; what a power failure would leave.
const SETTINGS: &str = "\
SELECT pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'on'
       AND pg_catalog.current_setting('default_transaction_isolation') OPERATOR(pg_catalog.=) 'read committed'
       AND pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog'
       AND pg_catalog.current_setting('statement_timeout') OPERATOR(pg_catalog.<>) '0',
       pg_catalog.current_setting('server_encoding') OPERATOR(pg_catalog.=) 'UTF8',
       pg_catalog.current_setting('fsync') OPERATOR(pg_catalog.=) 'on'
       AND pg_catalog.current_setting('full_page_writes') OPERATOR(pg_catalog.=) 'on'";
