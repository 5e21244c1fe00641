//! HTTP beside the wire: how a request of the console or of monitoring arrives. Connections are counted by address, encrypted
//! where their owner says so, and closed when they take too long; what is asked for is a router's business.

mod places;

use axum::{Extension, Router};
use frontend::Tls;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use places::Places;
use record::STRANGERS;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Connections at once.
const CONNECTIONS: usize = 128;
/// Those of them that may be of one address.
const OF_ONE_ADDRESS: usize = CONNECTIONS / 2;
/// Time for a handshake, and for the head of a request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time for all requests of a connection: clients make another one.
const CONNECTION: Duration = Duration::from_secs(120);

/// Arrival of a request, which is among its extensions.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// From where.
    pub from: IpAddr,
    /// Encrypted.
    pub secure: bool,
    /// At which port: cookies do not tell ports apart.
    pub port: u16,
}

/// Cipher of a connection.
pub enum Cipher {
    /// By this certificate.
    Tls(Tls),
    /// In the clear.
    Plain,
    /// Not at all, and why.
    Refused(&'static str),
}

/// A bound listener.
pub struct Site(TcpListener);

impl Site {
    /// Binds it. `what` it is and `key` of the policy are for the error.
    pub async fn bind(listen: SocketAddr, what: &str, key: &str) -> io::Result<Self> {
        let bound = TcpListener::bind(listen).await;
        bound.map(Self).map_err(|e| {
            io::Error::new(e.kind(), format!("{what} cannot listen on {listen}: {e}; change {key}"))
        })
    }

    /// Over a listener.
    pub fn over(listener: TcpListener) -> Self {
        Self(listener)
    }

    /// Address that it listens at: port 0 has become a real port.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Serves until it is dropped. `cipher` says of each connection, by the address where it arrived, how it is spoken to.
    pub async fn serve(self, router: Router, cipher: impl Fn(IpAddr) -> Cipher + Send + Sync + 'static) {
        let (cipher, places) = (Arc::new(cipher), Places::new(CONNECTIONS, OF_ONE_ADDRESS));
        loop {
            match self.0.accept().await {
                Ok((socket, from)) => {
                    let (router, cipher, mut place) =
                        (router.clone(), cipher.clone(), places.take(from.ip()));
                    tokio::spawn(async move {
                        let attended = timeout(CONNECTION, attend(socket, from, router, &*cipher));
                        tokio::select! {
                            ended = attended => if let Ok(Err(error)) = ended {
                                tracing::debug!(target: STRANGERS, address = %from.ip(), %error, "an HTTP connection ended");
                            },
                            () = place.lost() => {
                                tracing::debug!(target: STRANGERS, address = %from.ip(), "an HTTP connection made room for a newer one");
                            }
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(target: STRANGERS, %error, "HTTP connections cannot be accepted for a moment");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

async fn attend(
    socket: TcpStream,
    from: SocketAddr,
    router: Router,
    cipher: &(dyn Fn(IpAddr) -> Cipher + Send + Sync),
) -> io::Result<()> {
    let at = socket.local_addr()?;
    let arrival = Arrival { from: from.ip(), secure: true, port: at.port() };
    match cipher(at.ip()) {
        Cipher::Tls(tls) => {
            let socket = timeout(PATIENCE, tls.http().accept(socket)).await??;
            http(socket, router, arrival).await
        }
        Cipher::Plain => http(socket, router, Arrival { secure: false, ..arrival }).await,
        Cipher::Refused(why) => Err(io::Error::other(why)),
    }
}

async fn http<S>(socket: S, router: Router, arrival: Arrival) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = TowerToHyperService::new(router.layer(Extension(arrival)));
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    server.serve_connection(TokioIo::new(socket), service).await.map_err(io::Error::other)
}
