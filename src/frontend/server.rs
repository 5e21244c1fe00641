//! Listening, accepting, and shutting down.

use super::auth::Mock;
use super::budget::Budgets;
use super::cancel::Registry;
use super::connection::{self, Shared};
use super::listener::{Address, Listener, accept};
use super::phase::Phase;
use super::service::Service;
use super::settings::{InForce, Settings};
use super::slots::Slots;
use super::tls::Tls;
use super::turns::Turns;
use policy::Limits;
use record::STRANGERS;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until, timeout};

/// Pause after a failed accept: usually file descriptors ran out, and only time brings them back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The longest time a shutdown waits: an instant far beyond it could not be computed.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);
/// What clients get to read their last message.
const FAREWELL: Duration = Duration::from_secs(3);

/// A bound server.
pub struct Server<S> {
    listeners: Vec<Listener>,
    shared: Arc<Shared<S>>,
    phase: watch::Sender<Phase>,
    shutdown: Shutdown,
}

/// Ends a running [`Server`]; clones end the same one.
#[derive(Clone)]
pub struct Shutdown {
    limit: Arc<watch::Sender<Option<Duration>>>,
}

/// Counts the clients of a running [`Server`].
#[derive(Clone)]
pub struct Sessions(Slots);

impl Sessions {
    /// Number of sessions that have logged in.
    pub fn count(&self) -> usize {
        self.0.sessions()
    }
}

impl Shutdown {
    /// Closes the listeners, sends FATAL 57P01 to idle sessions, and to the others once their statement is done
    /// or `limit` has passed. [`Server::run`] returns when all are gone.
    pub fn shutdown(&self, limit: Duration) {
        self.limit.send_if_modified(|now| {
            let shorter = now.is_none_or(|now| limit < now);
            if shorter {
                *now = Some(limit);
            }
            shorter
        });
    }
}

impl<S: Service> Server<S> {
    /// Binds TCP addresses, without access rules. Errors name the address. Must be called within a tokio runtime.
    pub fn bind(
        addresses: &[SocketAddr],
        service: Arc<S>,
        limits: Limits,
        tls: Option<Tls>,
    ) -> io::Result<Self> {
        let listeners = addresses.iter().map(|a| Listener::tcp(*a)).collect::<io::Result<Vec<_>>>()?;
        Self::over(listeners, service, Settings { limits, tls, access: Vec::new() })
    }

    /// Serves on addresses that are bound already.
    pub fn over(listeners: Vec<Listener>, service: Arc<S>, settings: Settings) -> io::Result<Self> {
        if listeners.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "server.listen names no address"));
        }
        let mock = Mock::new().map_err(|e| io::Error::other(format!("no entropy for logins: {e}")))?;
        let (phase, following) = watch::channel(Phase::Serving);
        let shared = Shared {
            service,
            slots: Slots::default(),
            budgets: Budgets::default(),
            turns: Turns::default(),
            settings: InForce::new(settings),
            registry: Registry::default(),
            mock,
            phase: following,
        };
        let shutdown = Shutdown { limit: Arc::new(watch::channel(None).0) };
        Ok(Self { listeners, shared: Arc::new(shared), phase, shutdown })
    }

    /// Addresses that it listens at: port 0 has become a real port.
    pub fn addresses(&self) -> io::Result<Vec<Address>> {
        self.listeners.iter().map(Listener::address).collect()
    }

    /// The TCP addresses among these.
    pub fn local_addrs(&self) -> io::Result<Vec<SocketAddr>> {
        let tcp = |a| if let Address::Tcp(address) = a { Some(address) } else { None };
        Ok(self.addresses()?.into_iter().filter_map(tcp).collect())
    }

    /// A handle that replaces limits, certificate and access rules.
    pub fn settings(&self) -> InForce {
        self.shared.settings.clone()
    }

    /// A handle that counts the clients that have logged in.
    pub fn sessions(&self) -> Sessions {
        Sessions(self.shared.slots.clone())
    }

    /// A handle that ends the server.
    pub fn shutdown_handle(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Serves until [`Shutdown::shutdown`], then until the last connection is gone.
    pub async fn run(self) {
        let Self { listeners, shared, phase, shutdown } = self;
        let mut limit = shutdown.limit.subscribe();
        let mut connections = JoinSet::new();
        let mut first = 0;
        loop {
            tokio::select! {
                biased;
                () = asked(&mut limit) => break,
                Some(ended) = connections.join_next() => log_panic(ended),
                arrived = accept(&listeners, &mut first) => match arrived {
                    Ok(arrival) => {
                        let settings = shared.settings.current();
                        let welcome = arrival.peer.is_welcome(&settings.access);
                        match shared.slots.arrive(arrival.peer, welcome, &settings.limits) {
                            Some(place) => {
                                connections.spawn(connection::serve(Arc::clone(&shared), arrival, place));
                            }
                            None => tracing::warn!(
                                target: STRANGERS, address = %arrival.peer, "dropped a connection: too many have not logged in yet"
                            ),
                        }
                    }
                    Err(e) => {
                        tracing::error!(target: STRANGERS, error = %e, "cannot accept a connection");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(listeners);
        let _ = phase.send(Phase::Draining);
        drain(&mut connections, &mut limit).await;
        let _ = phase.send(Phase::Ending);
        let gone = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(FAREWELL, gone).await;
        // Who still does not read their last message is cut off.
        connections.shutdown().await;
    }
}

/// Returns when somebody asked for the end.
async fn asked(limit: &mut watch::Receiver<Option<Duration>>) {
    // `run` holds the sender, so this cannot fail.
    let _ = limit.wait_for(Option::is_some).await;
}

/// Waits until all connections are gone or the limit, which may be shortened meanwhile, has passed.
async fn drain(connections: &mut JoinSet<()>, limit: &mut watch::Receiver<Option<Duration>>) {
    let begun = Instant::now();
    loop {
        let until = begun + limit.borrow_and_update().unwrap_or_default().min(LONGEST);
        tokio::select! {
            biased;
            ended = connections.join_next() => match ended {
                Some(ended) => log_panic(ended),
                None => return,
            },
            () = sleep_until(until) => return,
            Ok(()) = limit.changed() => {}
        }
    }
}

fn log_panic(ended: Result<(), JoinError>) {
    if let Err(e) = ended
        && e.is_panic()
    {
        tracing::error!(error = %e, "a connection's task panicked");
    }
}
