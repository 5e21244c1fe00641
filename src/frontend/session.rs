//! After the login: one message after the other, until the client, an error or the operator ends it.

use super::cancel::Registered;
use super::extended;
use super::frame::Reader;
use super::message::{Extended, Message, decode};
use super::phase::{Phase, reached, shutdown};
use super::query;
use super::service::Session;
use super::state::State;
use super::stop::{Stop, violation};
use super::wire::Wire;
use answer::{ClientError, Copy, Severity, SqlState};
use std::future::Future;
use tokio::io::AsyncRead;
use tokio::sync::watch;

/// A client that has logged in.
pub(super) struct Dialogue<S: Session> {
    /// The session and what belongs to it.
    pub state: State<S>,
    /// Hears cancel requests.
    pub cancel: Registered,
    /// Hears the shutdown.
    pub phase: watch::Receiver<Phase>,
}

/// Where in a batch of the extended protocol the session is. Sync ends a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Batch {
    /// In none.
    None,
    /// In one, and all is well.
    Running,
    /// There was an error: what comes before Sync is void.
    Failed,
}

impl<S: Session> Dialogue<S> {
    /// Serves the client. `Ok` after Terminate; an error is to be sent as FATAL.
    ///
    /// Statements are boxed: while none runs, a session keeps no room for one.
    pub async fn serve(&mut self, wire: &mut Wire) -> Result<(), Stop> {
        let mut batch = Batch::None;
        self.ready(wire).await?;
        loop {
            // A batch that has begun is a running statement.
            let end = if batch == Batch::None { Phase::Draining } else { Phase::Ending };
            let frame = tokio::select! {
                biased;
                () = reached(&mut self.phase, end) => return Err(shutdown().into()),
                frame = wire.reader.next() => frame?,
                // As in PostgreSQL: what is cancelled while the client is waited for is nothing.
                () = self.cancel.resting() => continue,
            };
            if batch == Batch::Failed && !matches!(frame.tag, b'S' | b'X') {
                continue;
            }
            let message = decode(&frame);
            drop(frame);
            let done = match message {
                Ok(Message::Extended(message)) => {
                    batch = Batch::Running;
                    Box::pin(self.extended(wire, message)).await
                }
                Ok(Message::Sync) => {
                    batch = Batch::None;
                    self.ready(wire).await
                }
                Ok(Message::Query(text)) => {
                    batch = Batch::None;
                    Box::pin(self.query(wire, &text)).await?;
                    self.ready(wire).await
                }
                Ok(Message::FunctionCall) => {
                    batch = Batch::None;
                    self.fail(wire, ClientError::unsupported("fast-path function calls are not supported"))?;
                    self.ready(wire).await
                }
                Ok(Message::Flush) => wire.writer.flush().await,
                Ok(Message::Copy) => Ok(()),
                Ok(Message::Password) => Err(violation("unexpected password message").into()),
                Ok(Message::Terminate) => return Ok(()),
                Err(e) => Err(e.into()),
            };
            match done {
                // What is left are the errors of the extended protocol. The client may be waiting for this one.
                Err(Stop::Error(e)) => {
                    self.fail(wire, e)?;
                    batch = Batch::Failed;
                    wire.writer.flush().await?;
                }
                done => done?,
            }
        }
    }

    async fn query(&mut self, wire: &mut Wire, text: &[u8]) -> Result<(), Stop> {
        let errand = self.cancel.begin();
        let Wire { reader, writer } = wire;
        let work = errand.working(query::simple(&mut self.state, writer, text));
        let done = race(&mut self.cancel, &mut self.phase, reader, work).await;
        let done = match (done, self.state.copy_from.take()) {
            (Ok(()), Some((portal, copy))) => self.copy_from(wire, portal, copy).await,
            (done, _) => done,
        };
        match done {
            Err(Stop::Error(e)) => self.fail(wire, e),
            done => done,
        }
    }

    /// Takes the rows of a COPY FROM, up to its end or its first error; what still comes after that is ignored, as ever
    /// outside of a COPY.
    async fn copy_from(&mut self, wire: &mut Wire, portal: S::Portal, copy: Copy) -> Result<(), Stop> {
        let format = i16::from(matches!(copy, Copy::Binary));
        let columns = self.state.session.copy_begin(portal, copy)?;
        wire.writer.copy_in(columns, format)?;
        wire.writer.flush().await?;
        loop {
            let next = tokio::select! {
                biased;
                () = self.cancel.cancelled() => Err(Stop::from(canceled())),
                () = reached(&mut self.phase, Phase::Ending) => Err(Stop::from(shutdown())),
                frame = wire.reader.next() => frame,
            };
            let frame = next.inspect_err(|_| self.state.session.copy_abandon())?;
            match frame.tag {
                b'd' => self.state.session.copy_data(&frame.body)?,
                b'c' => break,
                b'H' | b'S' => {}
                tag => {
                    self.state.session.copy_abandon();
                    if tag == b'f' {
                        let e = ClientError::new(SqlState::QUERY_CANCELED, "COPY from stdin failed");
                        return Err(e.detail("The client ended it; nothing of it is stored.").into());
                    }
                    return Err(violation("unexpected message type during COPY from stdin").into());
                }
            }
        }
        let errand = self.cancel.begin();
        let Wire { reader, writer } = wire;
        let session = &mut self.state.session;
        let end = errand.working(async {
            let mut notices = Vec::new();
            let rows = session.copy_end(&mut notices).await;
            notices.iter().for_each(|notice| writer.notice(notice));
            writer.complete(&format!("COPY {}", rows?));
            Ok(())
        });
        race(&mut self.cancel, &mut self.phase, reader, end).await
    }

    async fn extended(&mut self, wire: &mut Wire, message: Extended) -> Result<(), Stop> {
        // Of all messages of a batch that came together.
        let errand = self.cancel.begin();
        let Wire { reader, writer } = wire;
        let work = errand.working(extended::handle(&mut self.state, writer, message));
        let done = race(&mut self.cancel, &mut self.phase, reader, work).await;
        match (done, self.state.copy_from.take()) {
            (Ok(()), Some((portal, copy))) => self.copy_from(wire, portal, copy).await,
            (done, _) => done,
        }
    }

    /// Queues an ERROR and fails the transaction; hands a FATAL on.
    fn fail(&mut self, wire: &mut Wire, e: ClientError) -> Result<(), Stop> {
        if e.severity == Severity::Fatal {
            return Err(e.into());
        }
        self.state.fail();
        wire.writer.error(&e);
        Ok(())
    }

    async fn ready(&mut self, wire: &mut Wire) -> Result<(), Stop> {
        self.state.end_implicit();
        // Before the client can know that it has ended.
        self.cancel.rest();
        for (name, value) in self.state.session.changed_parameters() {
            wire.writer.parameter(&name, &value);
        }
        wire.writer.ready(self.state.transaction.status());
        wire.writer.flush().await
    }
}

/// Works until it is done, the client cancels or leaves, or the server ends. Losing the race drops `work`, and with
/// it the statement and its rows.
async fn race<R: AsyncRead + Unpin>(
    cancel: &mut Registered,
    phase: &mut watch::Receiver<Phase>,
    reader: &mut Reader<R>,
    work: impl Future<Output = Result<(), Stop>>,
) -> Result<(), Stop> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(canceled().into()),
        () = reached(phase, Phase::Ending) => Err(shutdown().into()),
        () = reader.watch() => Err(Stop::Closed),
        done = work => done,
    }
}

fn canceled() -> ClientError {
    ClientError::new(SqlState::QUERY_CANCELED, "canceling statement due to user request")
}
