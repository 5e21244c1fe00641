//! Addresses that clients arrive at.

use super::peer::Peer;
use super::unix::{self, SocketFile};
use super::wire::Socket;
use policy::{self, Listen};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::task::{Context, Poll};
use tokio::net::{TcpListener, TcpSocket, UnixListener};

/// Connections the kernel keeps while none is accepted.
const BACKLOG: u32 = 1_024;
/// Names a Unix socket where the policy has no TCP address.
const DEFAULT_PORT: u16 = 6432;

/// A bound address.
pub struct Listener(Kind);

enum Kind {
    Tcp(TcpListener),
    // The file first: it goes before the listener does.
    Unix { _file: SocketFile, listener: UnixListener, path: PathBuf },
}

/// Address that a server listens at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// At an IP address and port.
    Tcp(SocketAddr),
    /// At a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self(Kind::Tcp(listener))
    }
}

/// A new client.
pub(super) struct Arrival {
    /// The connection.
    pub socket: Box<dyn Socket>,
    /// Place of the client.
    pub peer: Peer,
}

impl Listener {
    /// Binds every address of the policy. Errors name the address. Must be called within a tokio runtime.
    pub fn bind(server: &policy::Server) -> io::Result<Vec<Self>> {
        let mut bound: Vec<Option<Self>> = Vec::new();
        for listen in &server.listen {
            bound.push(match listen {
                Listen::Tcp(address) => Some(Self::tcp(*address)?),
                Listen::Unix { .. } => None,
            });
        }
        // Sockets are named after the port of the first TCP address, which must be bound by now: it may be 0.
        let port = bound.iter().flatten().find_map(|l| match l.address() {
            Ok(Address::Tcp(address)) => Some(address.port()),
            _ => None,
        });
        let port = port.unwrap_or(DEFAULT_PORT);
        let all = bound.into_iter().zip(&server.listen);
        all.map(|(listener, listen)| match listener {
            Some(listener) => Ok(listener),
            None => Self::unix(listen, port, server.unix_socket_permissions),
        })
        .collect()
    }

    /// Binds one TCP address.
    pub(super) fn tcp(address: SocketAddr) -> io::Result<Self> {
        let bind = || {
            let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
            // A restart must not wait for old connections, and dead peers must be noticed: accepted sockets
            // inherit keepalive.
            socket.set_reuseaddr(true)?;
            socket.set_keepalive(true)?;
            socket.bind(address)?;
            socket.listen(BACKLOG)
        };
        bind().map(Into::into).map_err(|e| {
            let why = match e.kind() {
                io::ErrorKind::AddrInUse => "another program listens there; stop it or change server.listen",
                io::ErrorKind::AddrNotAvailable => {
                    "this machine does not have that address; change server.listen"
                }
                io::ErrorKind::PermissionDenied => "not allowed; ports below 1024 need privileges",
                _ => "check server.listen",
            };
            io::Error::new(e.kind(), format!("cannot listen on {address}: {why} ({e})"))
        })
    }

    fn unix(listen: &Listen, port: u16, mode: u32) -> io::Result<Self> {
        let path = listen.socket(port);
        let (listener, file) = unix::bind(&path, port, mode).map_err(|e| {
            let why = match e.kind() {
                io::ErrorKind::NotFound => "the folder is not there; make it, or change server.listen",
                io::ErrorKind::PermissionDenied => "the folder is not ours to write to",
                _ => "check server.listen",
            };
            io::Error::new(e.kind(), format!("cannot listen on {}: {why} ({e})", path.display()))
        })?;
        Ok(Self(Kind::Unix { _file: file, listener, path }))
    }

    /// Address that it listens at: port 0 has become a real port.
    pub fn address(&self) -> io::Result<Address> {
        match &self.0 {
            Kind::Tcp(listener) => listener.local_addr().map(Address::Tcp),
            Kind::Unix { path, .. } => Ok(Address::Unix(path.clone())),
        }
    }

    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Arrival>> {
        match &self.0 {
            Kind::Tcp(listener) => listener.poll_accept(cx).map_ok(|(socket, from)| {
                // Answers are small and wait for nothing: do not let the kernel gather them.
                let _ = socket.set_nodelay(true);
                Arrival { socket: Box::new(socket), peer: Peer::inet(from.ip()) }
            }),
            Kind::Unix { listener, .. } => listener
                .poll_accept(cx)
                .map_ok(|(socket, _)| Arrival { socket: Box::new(socket), peer: Peer::Local }),
        }
    }
}

/// The next client of any listener. `first` is asked first, and moves on, so that none is starved by another.
pub(super) async fn accept(listeners: &[Listener], first: &mut usize) -> io::Result<Arrival> {
    poll_fn(|cx| {
        for step in 0..listeners.len() {
            let at = first.wrapping_add(step) % listeners.len();
            if let Some(listener) = listeners.get(at)
                && let Poll::Ready(accepted) = listener.poll_accept(cx)
            {
                *first = at + 1;
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    })
    .await
}
