//! After the login: one message after the other, until the client, an error or the operator ends it.

use super::cancel::Registered;
use super::message::{Message, decode};
use super::query;
use super::server::Phase;
use super::service::Session;
use super::transaction::Transaction;
use super::wire::{Stop, Wire, violation};
use crate::error::{ClientError, Severity, SqlState};
use tokio::sync::watch;

/// One logged-in client.
pub(super) struct Dialogue<S> {
    /// The program's side.
    pub session: S,
    /// Hears cancel requests.
    pub cancel: Registered,
    /// Hears the shutdown.
    pub phase: watch::Receiver<Phase>,
    /// BEGIN, COMMIT and so on.
    pub transaction: Transaction,
}

impl<S: Session> Dialogue<S> {
    /// Serves the client. `Ok` after Terminate; an error is to be sent as FATAL.
    pub async fn serve(&mut self, wire: &mut Wire) -> Result<(), Stop> {
        let mut skipping = false;
        self.ready(wire).await?;
        loop {
            let frame = tokio::select! {
                biased;
                () = reached(&mut self.phase, Phase::Draining) => return Err(shutdown().into()),
                frame = wire.reader.next() => frame?,
            };
            let message = decode(&frame)?;
            drop(frame);
            match message {
                Message::Terminate => return Ok(()),
                Message::Sync => {
                    skipping = false;
                    self.ready(wire).await?;
                }
                // After an error in the extended protocol everything up to Sync is void.
                _ if skipping => {}
                Message::Query(text) => {
                    self.query(wire, &text).await?;
                    self.ready(wire).await?;
                }
                Message::Extended(name) => {
                    skipping = true;
                    self.fail(wire, not_extended(name))?;
                    wire.writer.flush().await?;
                }
                Message::FunctionCall => {
                    self.fail(wire, ClientError::unsupported("fast-path function calls are not supported"))?;
                    self.ready(wire).await?;
                }
                Message::Flush => wire.writer.flush().await?,
                Message::Copy => {}
                Message::Password => return Err(violation("unexpected password message").into()),
            }
        }
    }

    async fn query(&mut self, wire: &mut Wire, text: &[u8]) -> Result<(), Stop> {
        self.cancel.arm();
        let Wire { reader, writer } = wire;
        let work = query::simple(&mut self.session, &mut self.transaction, writer, text);
        // Losing one of these races drops `work`, and with it the statement and its rows.
        let done = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(canceled().into()),
            () = reached(&mut self.phase, Phase::Ending) => Err(shutdown().into()),
            () = reader.watch() => Err(Stop::Closed),
            done = work => done,
        };
        match done {
            Err(Stop::Error(e)) => self.fail(wire, e),
            done => done,
        }
    }

    /// Queues an ERROR and fails the transaction; hands a FATAL on.
    fn fail(&mut self, wire: &mut Wire, e: ClientError) -> Result<(), Stop> {
        if e.severity == Severity::Fatal {
            return Err(e.into());
        }
        self.transaction.fail();
        wire.writer.error(&e);
        Ok(())
    }

    async fn ready(&mut self, wire: &mut Wire) -> Result<(), Stop> {
        for (name, value) in self.session.changed_parameters() {
            wire.writer.parameter(&name, &value);
        }
        wire.writer.ready(self.transaction.status());
        wire.writer.flush().await
    }
}

/// Returns when the server is in `phase` or beyond.
pub(super) async fn reached(phases: &mut watch::Receiver<Phase>, phase: Phase) {
    if phases.wait_for(|now| *now >= phase).await.is_err() {
        // The server went away without a word, which only a panic of it could do.
        std::future::pending().await
    }
}

/// FATAL 57P01.
pub(super) fn shutdown() -> ClientError {
    ClientError::new(SqlState::ADMIN_SHUTDOWN, "terminating connection due to administrator command").fatal()
}

fn canceled() -> ClientError {
    ClientError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
}

fn not_extended(name: &str) -> ClientError {
    ClientError::unsupported("the extended query protocol is not supported yet")
        .detail(format!("The client sent a {name} message."))
        .hint("Use the simple query protocol: psql, psycopg without parameters, or preferQueryMode=simple in JDBC.")
}
