//! Relays: connections of the finish login, which prepare a statement, or run it and carry its rows
//! as bytes.
//!
//! tokio-postgres speaks binary results only; here the caller chooses, and rows pass through
//! unread. Each statement is one write: the statement in the extended protocol (where one message
//! holds one statement only), one Sync. The session's defaults, which are proven when it begins,
//! make that a read-only transaction of its own; and the grammar of analysts has nothing that
//! outlives one. An owner's text may have: it runs between `BEGIN … READ ONLY` and `ROLLBACK`, and
//! what an error skips, ROLLBACK among it, is made up for. A client's settings are set before,
//! where the session has others: those that the last one's client had.

use super::data_row::texts;
use super::error::{DbError, RelayError};
use super::falls::{Falls, LIFE, Loss};
use super::login::{Login, Session};
use super::options::{SESSION_PROOF, SameDatabase};
use super::param::Param;
use super::prepared::{PreparedTexts, Statement};
use super::settings::Settings;
use super::socket::{self, Frame, Target};
use super::worn::{HEAVY, LONG};
use answer::{Field, SqlState};
use bytes::BytesMut;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{Message, RowDescriptionBody};
use postgres_protocol::message::frontend::{self, BindError};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_postgres::fallible_iterator::FallibleIterator;

/// Description of a prepared statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Type OIDs of `$1`, `$2`, …
    pub parameters: Vec<u32>,
    /// The columns; their format is 0. Empty where the statement gives no rows.
    pub fields: Vec<Field>,
}

/// A logged-in connection.
pub(super) struct Relay {
    session: Session,
    patience: Duration,
    /// The life of the server that it is of.
    life: Option<String>,
    falls: Falls,
    /// What the server said last, where it has ended the session.
    last_word: Option<SqlState>,
    /// When its statement was sent.
    sent: Instant,
    /// It has worked for so long that its session may have grown.
    worn: bool,
    /// No statement is under way, and the last one ended outside a transaction.
    clean: bool,
    /// The server has answered something since the last checkout.
    heard: bool,
    /// The settings that the session has, where that is known.
    applied: Option<Settings>,
    prepared: PreparedTexts,
}

/// A statement to run, which outlives who asks it.
#[derive(Clone)]
pub(super) struct Query {
    pub(super) settings: Settings,
    pub(super) sql: String,
    pub(super) params: Vec<Param>,
    /// Formats of Bind: one for each column, or one for all, or none for text.
    pub(super) formats: Vec<i16>,
    /// The statement may be anything that the login may do: all of it is undone.
    pub(super) undone: bool,
}

impl Relay {
    /// Logs in.
    pub(super) async fn connect(
        login: &Login,
        same: &SameDatabase,
        falls: &Falls,
    ) -> Result<Self, RelayError> {
        let session = login.open().await?;
        let mut relay = Self {
            session,
            patience: login.patience(),
            life: None,
            falls: falls.clone(),
            last_word: None,
            sent: Instant::now(),
            worn: false,
            clean: true,
            heard: false,
            applied: None,
            prepared: PreparedTexts::default(),
        };
        relay.prove_session(same).await?;
        Ok(relay)
    }

    /// A pooler between us and the server may have dropped what start-up asked for, or lead elsewhere.
    async fn prove_session(&mut self, same: &SameDatabase) -> Result<(), RelayError> {
        let rows = self.simple(SESSION_PROOF).await?;
        let cell = |n: usize| rows.first().and_then(|r| r.get(n)).and_then(Option::as_deref);
        self.life = cell(LIFE).map(str::to_owned);
        same.prove(cell(0) == Some("t"), cell(1)).map_err(RelayError::Unreachable)
    }

    /// ParameterStatus values that the server sent at start-up.
    pub(super) fn parameters(&self) -> &BTreeMap<String, String> {
        &self.session.parameters
    }

    /// Prepares the connection for the next statement. Whether it can serve another, as far as one
    /// can tell without asking the server.
    pub(super) fn lend(&mut self) -> bool {
        self.heard = false;
        self.clean && !self.worn && !self.session.channel.is_bloated() && self.session.channel.is_quiet()
    }

    /// Whether the whole database fell, where this connection was lost.
    fn fell(&self) -> impl Future<Output = bool> + use<> {
        let (life, last_word) = (self.life.clone(), self.last_word);
        self.falls.fell(Loss { life, last_word, silent: false })
    }

    /// Whether it failed since it had died while idle: it was lost before the server answered anything, and nothing ran. Another
    /// one may do. Where nobody said why it was lost, its statement may have made the whole database fall, and is not
    /// asked again then.
    pub(super) fn is_stale(&self, error: &RelayError) -> impl Future<Output = bool> + use<> {
        let lost = matches!(error, RelayError::Lost(_));
        let (heard, told) = (self.heard, self.last_word.is_some());
        let fell = (lost && (heard || !told)).then(|| self.fell());
        async move {
            match fell {
                None => lost,
                Some(fell) if heard => {
                    tokio::spawn(fell);
                    false
                }
                Some(fell) => !fell.await,
            }
        }
    }

    /// Time to wait for the server, or for a reader.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Target and key for a cancel of the statement that runs here.
    pub(super) fn cancel_target(&self) -> (Target, Option<(i32, i32)>) {
        (self.session.channel.target().clone(), self.session.key)
    }

    /// Prepares a statement and says what it needs and gives. It is never executed: names and types are analysed,
    /// no SELECT right is needed, no row is read. `parameter_types` may be shorter than the list of parameters;
    /// 0 leaves a type open.
    pub(super) async fn describe(
        &mut self,
        settings: &Settings,
        sql: &str,
        parameter_types: &[u32],
    ) -> Result<Description, RelayError> {
        self.apply(settings).await?;
        let mut out = BytesMut::new();
        // Nothing is executed, so that nothing needs an end.
        frontend::parse("", sql, parameter_types.iter().copied(), &mut out).map_err(RelayError::io)?;
        frontend::describe(b'S', "", &mut out).map_err(RelayError::io)?;
        frontend::sync(&mut out);
        self.start(&out).await?;
        let mut description = Description { parameters: Vec::new(), fields: Vec::new() };
        let mut exchange = Exchange::default();
        while let Some(frame) = self.next(&mut exchange).await? {
            match frame {
                Frame::Other(Message::ParameterDescription(body)) => {
                    description.parameters = body.parameters().collect().map_err(RelayError::io)?;
                }
                Frame::Other(Message::RowDescription(body)) => description.fields = fields(&body)?,
                Frame::Other(_) => {}
                Frame::Row(_) => return Err(out_of_turn("a row while describing")),
            }
        }
        exchange.result().map(|()| description)
    }

    /// Gives the session a client's settings.
    async fn apply(&mut self, settings: &Settings) -> Result<(), RelayError> {
        if self.applied.as_ref() == Some(settings) {
            return Ok(());
        }
        self.applied = None;
        self.simple(&settings.session()).await?;
        self.applied = Some(settings.clone());
        Ok(())
    }

    /// Sends a query, and says how.
    pub(super) async fn query(&mut self, query: &Query) -> Result<Statement, RelayError> {
        self.apply(&query.settings).await?;
        let statement = self.prepared.statement(&query.settings, &query.sql, &query.params);
        let mut out = BytesMut::new();
        for name in self.prepared.forgotten() {
            frontend::close(b'S', &name, &mut out).map_err(RelayError::io)?;
        }
        if query.undone {
            execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &mut out)?;
        }
        query_messages(query, &statement, &mut out)?;
        if query.undone {
            execute("ROLLBACK", &mut out)?;
        }
        frontend::sync(&mut out);
        self.start(&out).await?;
        Ok(statement)
    }

    /// Ends the transaction of a statement that failed.
    pub(super) async fn roll_back(&mut self) -> Result<(), RelayError> {
        if self.clean {
            return Ok(());
        }
        let mut out = BytesMut::new();
        execute("ROLLBACK", &mut out)?;
        frontend::sync(&mut out);
        self.start(&out).await?;
        self.drain().await
    }

    /// Reads to the end of a pipeline of ours that gives no rows.
    async fn drain(&mut self) -> Result<(), RelayError> {
        let mut exchange = Exchange::default();
        while self.next(&mut exchange).await?.is_some() {}
        exchange.result()
    }

    /// A statement failed, which may be since what was prepared is not right any more.
    pub(super) fn forget(&mut self, statement: &Statement) {
        self.prepared.forget(statement);
    }

    /// Sends a pipeline.
    async fn start(&mut self, messages: &[u8]) -> Result<(), RelayError> {
        self.clean = false;
        self.sent = Instant::now();
        self.worn |= messages.len() > HEAVY;
        timeout(self.patience, self.session.channel.send(messages)).await.map_err(|_| RelayError::Timeout)?
    }

    /// The next message that is the statement's own, or None when the pipeline is over.
    pub(super) async fn next(&mut self, exchange: &mut Exchange) -> Result<Option<Frame>, RelayError> {
        loop {
            match self.buffered(exchange)? {
                Step::Frame(frame) => return Ok(Some(frame)),
                Step::Over => return Ok(None),
                Step::Wait => self.fill().await?,
            }
        }
    }

    /// The next message that is the statement's own, if it has arrived.
    pub(super) fn buffered(&mut self, exchange: &mut Exchange) -> Result<Step, RelayError> {
        while let Some(frame) = self.session.channel.buffered()? {
            match frame {
                Frame::Other(Message::ErrorResponse(body)) => {
                    let error = DbError::read(body.fields());
                    if error.is_fatal() {
                        self.last_word = Some(error.code);
                        return Err(exchange.error.take().unwrap_or(RelayError::Lost(error.to_string())));
                    }
                    exchange.error.get_or_insert(RelayError::Db(Box::new(error)));
                }
                Frame::Other(Message::NoticeResponse(_) | Message::NotificationResponse(_)) => continue,
                // SET is reported.
                Frame::Other(Message::ParameterStatus(_) | Message::CloseComplete) => {}
                Frame::Other(Message::ReadyForQuery(body)) => {
                    self.clean = body.status() == b'I';
                    self.worn |= self.sent.elapsed() > LONG;
                    self.heard = true;
                    return Ok(Step::Over);
                }
                frame => {
                    self.heard = true;
                    return Ok(Step::Frame(frame));
                }
            }
            self.heard = true;
        }
        Ok(Step::Wait)
    }

    /// Waits until more has arrived. Losing this future loses nothing that arrived.
    pub(super) async fn fill(&mut self) -> Result<(), RelayError> {
        let away = self.falls.away();
        tokio::select! {
            filled = timeout(self.patience, self.session.channel.fill()) => {
                filled.map_err(|_| RelayError::Timeout)?
            }
            () = away => Err(RelayError::Away),
        }
    }

    /// Runs constant text of ours in the simple protocol; rows come as text.
    async fn simple(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, RelayError> {
        let mut out = BytesMut::new();
        frontend::query(sql, &mut out).map_err(RelayError::io)?;
        self.start(&out).await?;
        let mut exchange = Exchange::default();
        let mut rows = Vec::new();
        while let Some(frame) = self.next(&mut exchange).await? {
            if let Frame::Row(row) = frame {
                rows.push(texts(&row)?);
            }
        }
        exchange.result().map(|()| rows)
    }
}

/// A part of the answer that has arrived.
pub(super) enum Step {
    /// A message of the statement's own.
    Frame(Frame),
    /// The pipeline is over.
    Over,
    /// Nothing whole.
    Wait,
}

/// Progress of the answer to a pipeline.
#[derive(Default)]
pub(super) struct Exchange {
    error: Option<RelayError>,
}

impl Exchange {
    /// The first error, if there was any.
    pub(super) fn result(self) -> Result<(), RelayError> {
        self.error.map_or(Ok(()), Err)
    }
}

/// Runs a statement that has no parameters and gives no rows.
fn execute(sql: &str, out: &mut BytesMut) -> Result<(), RelayError> {
    frontend::parse("", sql, [], out).map_err(RelayError::io)?;
    bind("", &[], &[], out)?;
    frontend::execute("", 0, out).map_err(RelayError::io)
}

fn query_messages(query: &Query, statement: &Statement, out: &mut BytesMut) -> Result<(), RelayError> {
    let Query { sql, params, formats, .. } = query;
    if !matches!(statement, Statement::Known(_)) {
        frontend::parse(statement.name(), sql, params.iter().map(|p| p.oid), out).map_err(RelayError::io)?;
    }
    bind(statement.name(), params, formats, out)?;
    frontend::describe(b'P', "", out).map_err(RelayError::io)?;
    frontend::execute("", 0, out).map_err(RelayError::io)
}

/// Binds a prepared statement to the unnamed portal.
fn bind(name: &str, params: &[Param], formats: &[i16], out: &mut BytesMut) -> Result<(), RelayError> {
    let bound = frontend::bind(
        "",
        name,
        params.iter().map(|p| p.format),
        params,
        |param, buffer| {
            Ok(match &param.value {
                Some(value) => {
                    buffer.extend_from_slice(value);
                    IsNull::No
                }
                None => IsNull::Yes,
            })
        },
        formats.iter().copied(),
        out,
    );
    bound.map_err(|e| match e {
        BindError::Serialization(e) => RelayError::io(e),
        BindError::Conversion(e) => RelayError::Protocol(e.to_string()),
    })
}

/// The columns of a RowDescription.
pub(super) fn fields(body: &RowDescriptionBody) -> Result<Vec<Field>, RelayError> {
    let fields = body.fields().map(|f| {
        Ok(Field {
            name: f.name().to_owned(),
            type_oid: f.type_oid(),
            type_size: f.type_size(),
            type_modifier: f.type_modifier(),
            format: f.format(),
        })
    });
    fields.collect().map_err(RelayError::io)
}

pub(super) fn out_of_turn(what: &str) -> RelayError {
    RelayError::Protocol(format!("the server sent {what}"))
}

/// Cancels what runs on a connection; a server that cannot be asked is logged, no more can be done. False where nobody is heard
/// there.
pub(super) async fn cancel(target: &(Target, Option<(i32, i32)>)) -> bool {
    let (server, Some(key)) = target else { return true };
    let asked = timeout(Duration::from_secs(3), socket::cancel(server, *key)).await;
    if let Ok(Err(cause)) = &asked {
        tracing::warn!(%cause, "a cancel request could not be sent");
    }
    asked.is_ok()
}
