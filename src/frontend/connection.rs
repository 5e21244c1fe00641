//! A connection from accept to close. Any failure before the login is done ends the connection: no
//! path leads from an error there to ReadyForQuery.

use super::auth::{self, Mock};
use super::budget::Budgets;
use super::cancel::Registry;
use super::listener::Arrival;
use super::peer::Visitor;
use super::phase::{Phase, reached, shutdown};
use super::service::{Client, Service};
use super::session::Dialogue;
use super::settings::InForce;
use super::slots::{Crowd, Place, Slot, Slots, too_many_logins};
use super::startup::{self, Login, Opening};
use super::state::State;
use super::stop::Stop;
use super::tls::Tls;
use super::turns::Turns;
use super::wire::{Socket, Wire};
use answer::Identity;
use answer::{ClientError, SqlState};
use futures::FutureExt;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::{Authentication, BackendKeyData, SecretKey};
use policy::Limits;
use record::{STRANGERS, said};
use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

/// The longest login: an instant far beyond it could not be computed.
const LONGEST_LOGIN: Duration = Duration::from_secs(24 * 3_600);

/// What who may only cancel gets to say so.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// How long who cancels waits at most until a database has heard of it.
const DELIVERY: Duration = Duration::from_secs(5);

/// State that all connections share.
pub(super) struct Shared<S> {
    /// The program behind.
    pub service: Arc<S>,
    /// Limits, certificate and access rules.
    pub settings: InForce,
    /// Sessions that can be cancelled.
    pub registry: Registry,
    /// Places of sessions.
    pub slots: Slots,
    /// Budgets of bytes.
    pub budgets: Budgets,
    /// Turns at large statements.
    pub turns: Turns,
    /// Makes users who do not exist look real.
    pub mock: Mock,
    /// Whether to go on.
    pub phase: watch::Receiver<Phase>,
}

/// Serves one connection. `waiting` is its place among those that have not logged in yet.
pub(super) async fn serve<S: Service>(shared: Arc<Shared<S>>, arrival: Arrival, waiting: Place) {
    let Arrival { socket, peer } = arrival;
    // A connection keeps the settings of its arrival.
    let settings = shared.settings.current();
    let tls = settings.tls.as_ref().filter(|_| peer.is_inet());
    let patience = if waiting.crowd.is_some() { CANCEL_TIMEOUT } else { LONGEST_LOGIN };
    let deadline = Instant::now() + settings.limits.login_timeout.min(patience);
    let mut phase = shared.phase.clone();
    let opening = tokio::select! {
        biased;
        () = reached(&mut phase, Phase::Draining) => return,
        opening = timeout_at(deadline, Box::pin(open(socket, tls, &settings.limits))) => opening,
    };
    let login = match opening {
        Ok(Opening::Login(login)) => login,
        Ok(Opening::Cancel { wire, pid, secret }) => {
            if let Some(errands) = shared.registry.cancel(pid, &secret) {
                // The statement is given up in any case.
                let _ = timeout(DELIVERY, errands.run()).await;
            }
            return drop(wire);
        }
        Ok(Opening::Refused(wire, e)) => {
            tracing::info!(target: STRANGERS, address = %peer, sqlstate = e.code.as_str(), "refused");
            return wire.refuse(e).await;
        }
        Ok(Opening::Closed) => return,
        // As PostgreSQL: who has not even asked for anything gets no answer.
        Ok(Opening::Silent) | Err(_) => {
            return tracing::info!(
                target: STRANGERS, address = %peer, "a client did not send its startup packet in time"
            );
        }
    };
    let Login { mut wire, encrypted, certificate, startup } = *login;
    if let Some(crowd) = waiting.crowd.filter(|crowd| *crowd != Crowd::Nobody) {
        tracing::warn!(
            target: STRANGERS, address = %peer, ?crowd, "refused a connection: too many have not logged in yet"
        );
        return wire.refuse(too_many_logins(crowd)).await;
    }
    if let Some(negotiation) = startup.negotiation() {
        wire.writer.message(negotiation);
    }
    let user = startup.user().to_owned();
    let database = startup.database().to_owned();
    let certificate = certificate.as_deref();
    let visitor = Visitor { peer, encrypted, certificate, user: &user, database: &database };
    let proof = async {
        visitor.knock(&settings.access)?;
        let binding = tls.filter(|_| encrypted);
        let identity = auth::login(&mut wire, &*shared.service, &visitor, binding, &shared.mock).await?;
        visitor.enter(&settings.access, identity.role.as_deref())?;
        Ok(identity)
    };
    let identity = tokio::select! {
        biased;
        () = reached(&mut phase, Phase::Draining) => Err(shutdown().into()),
        identity = timeout_at(deadline, Box::pin(contained(proof))) => identity.unwrap_or_else(|_| Err(too_late().into())),
    };
    // The newest limits: who waits for a place may wait for one that a reload makes.
    let limits = &shared.settings.current().limits;
    let admitted = identity.and_then(|identity| Ok((shared.slots.take(&user, limits)?, identity)));
    drop(waiting);
    let done = match admitted {
        Ok((slot, identity)) => {
            let begun = Instant::now();
            tracing::info!(user, address = %peer, tls = encrypted, "connected");
            let client = Client { address: peer.to_string(), encrypted, ..Client::default() };
            // Boxed, as all that is awaited here once: a session that waits must not keep room for its login.
            let talk = Box::pin(talk(&shared, &mut wire, startup, identity, (slot, client), phase));
            let done = contained(talk).await;
            let seconds = begun.elapsed().as_secs();
            let why = match &done {
                Ok(()) => "terminated",
                Err(Stop::Closed) => "gone",
                Err(Stop::Error(e)) => e.code.as_str(),
            };
            tracing::info!(user, address = %peer, seconds, why, "disconnected");
            done
        }
        Err(stop) => {
            if let Stop::Error(e) = &stop {
                tracing::info!(
                    target: STRANGERS, user = &*said(&user), address = %peer, tls = encrypted, sqlstate = e.code.as_str(),
                    "refused"
                );
            }
            Err(stop)
        }
    };
    match done {
        Err(Stop::Error(e)) => Box::pin(wire.refuse(e)).await,
        Ok(()) | Err(Stop::Closed) => {}
    }
}

async fn open(socket: Box<dyn Socket>, tls: Option<&Tls>, limits: &Limits) -> Opening {
    let opening = startup::negotiate(socket, tls, limits);
    AssertUnwindSafe(opening).catch_unwind().await.unwrap_or_else(|panic| {
        // The socket went with it: nothing can be said to the client.
        let _ = incident(&*panic);
        Opening::Closed
    })
}

/// After the password: tells the client all that it waits for, then serves it.
async fn talk<S: Service>(
    shared: &Shared<S>,
    wire: &mut Wire,
    startup: startup::Startup,
    identity: Identity,
    (_slot, client): (Slot, Client),
    phase: watch::Receiver<Phase>,
) -> Result<(), Stop> {
    let cancel = shared.registry.register(startup.secret_length()).ok_or_else(|| {
        ClientError::incident(SqlState::INTERNAL, "internal error", &"no entropy for a cancel key").fatal()
    })?;
    wire.reader.logged_in();
    wire.writer.message(PgWireBackendMessage::Authentication(Authentication::Ok));
    for (name, value) in parameters(shared.service.parameters(startup.user(), startup.database()), &startup) {
        wire.writer.parameter(&name, &value);
    }
    let secret = match <[u8; 4]>::try_from(&*cancel.secret) {
        Ok(short) => SecretKey::I32(i32::from_be_bytes(short)),
        Err(_) => SecretKey::Bytes(cancel.secret.clone()),
    };
    wire.writer.message(PgWireBackendMessage::BackendKeyData(BackendKeyData::new(cancel.pid, secret)));
    let settings = shared.settings.current();
    let accounts = shared.budgets.open(startup.user(), &settings.limits);
    let turn = shared.turns.of(startup.user());
    let client = Client { pid: cancel.pid, ..client };
    let session = Box::pin(shared.service.open(identity, startup.parameters, client)).await?;
    let state = State::new(session, &settings.limits, accounts, turn.clone());
    let mut dialogue = Dialogue { state, cancel, phase };
    turn.noted(Box::pin(dialogue.serve(wire))).await
}

/// The backend's parameters and our own, ours last so that they win.
fn parameters(backend: Vec<(String, String)>, startup: &startup::Startup) -> Vec<(String, String)> {
    let application = startup.parameters.get("application_name").map_or("", String::as_str);
    let own = [
        ("client_encoding", "UTF8"),
        ("is_superuser", "off"),
        ("session_authorization", startup.user()),
        ("application_name", application),
        ("default_transaction_read_only", "off"),
        ("in_hot_standby", "off"),
    ];
    let mut all: Vec<_> =
        backend.into_iter().filter(|(name, _)| own.iter().all(|(mine, _)| name != mine)).collect();
    all.extend(own.map(|(name, value)| (name.to_owned(), value.to_owned())));
    all
}

fn too_late() -> ClientError {
    ClientError::new(SqlState::QUERY_CANCELED, "canceling authentication due to timeout").fatal()
}

/// A panic is a defect of ours; it ends this connection, with an incident for the operator, and no other.
async fn contained<T>(work: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| Err(incident(&*panic).into()))
}

/// The panic's text is left out: it may hold a part of a statement. The panic hook writes where it was.
fn incident(_: &(dyn Any + Send)) -> ClientError {
    ClientError::incident(SqlState::INTERNAL, "internal error", &"a panic").fatal()
}
