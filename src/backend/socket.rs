//! Bytes and frames of one connection to PostgreSQL: where to connect, how to cut messages. No meaning.

use super::alive::Alive;
use super::error::{LARGEST_ROW, RelayError};
use super::tls::Tls;
use bytes::{Buf, Bytes, BytesMut};
use futures::FutureExt;
use postgres_protocol::authentication::sasl::ChannelBinding;
use postgres_protocol::message::backend::{DATA_ROW_TAG, Header, Message};
use postgres_protocol::message::frontend;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::{Host, SslMode, SslNegotiation};

/// A place where the server may listen, and how to talk to it.
#[derive(Clone)]
pub(super) struct Target {
    address: Address,
    /// The name that a certificate is for.
    name: String,
    tls: Tls,
    mode: SslMode,
    /// TLS begins at once, and is not asked for.
    direct: bool,
    alive: Alive,
}

#[derive(Clone)]
enum Address {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.address {
            Address::Tcp(host, port) => write!(f, "{host}:{port}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The places of a URL, in its order.
pub(super) fn targets(config: &tokio_postgres::Config, tls: &Tls) -> Vec<Target> {
    let ports = config.get_ports();
    let port = |n: usize| ports.get(n).or(ports.last()).copied().unwrap_or(5432);
    let target = |address, name: &str| Target {
        address,
        name: name.to_owned(),
        tls: tls.clone(),
        mode: config.get_ssl_mode(),
        direct: config.get_ssl_negotiation() == SslNegotiation::Direct,
        alive: Alive::of(config),
    };
    let hosts = config.get_hosts();
    if !config.get_hostaddrs().is_empty() {
        let ips = config.get_hostaddrs().iter().enumerate();
        let named = |(n, ip): (usize, &IpAddr)| {
            let ip = ip.to_string();
            let name = match hosts.get(n) {
                Some(Host::Tcp(name)) => name.clone(),
                _ => ip.clone(),
            };
            target(Address::Tcp(ip, port(n)), &name)
        };
        return ips.map(named).collect();
    }
    let each = hosts.iter().enumerate().map(|(n, host)| match host {
        Host::Tcp(name) => target(Address::Tcp(name.clone(), port(n)), name),
        Host::Unix(folder) => target(Address::Unix(folder.join(format!(".s.PGSQL.{}", port(n)))), ""),
    });
    each.collect()
}

/// Bytes of the largest buffer that a connection keeps from one statement to the next.
const BLOATED: usize = 1 << 20;

trait Socket: AsyncRead + AsyncWrite + Send + Sync + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Socket for T {}

/// A message: a row left as it came, or anything else parsed.
pub(super) enum Frame {
    /// The body of a DataRow message.
    Row(Bytes),
    Other(Message),
}

/// A connection, before and after login.
pub(super) struct Channel {
    socket: Box<dyn Socket>,
    inbox: BytesMut,
    target: Target,
    binding: Option<ChannelBinding>,
}

impl std::fmt::Debug for Channel {
    /// What travels here is not printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("target", &self.target).finish_non_exhaustive()
    }
}

impl Channel {
    pub(super) async fn open(target: &Target) -> io::Result<Self> {
        let (socket, binding): (Box<dyn Socket>, _) = match &target.address {
            Address::Tcp(host, port) => {
                let mut stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                target.alive.set(&stream)?;
                if target.has_tls(&mut stream).await? {
                    let stream = target.tls.connect(&target.name, stream).await?;
                    let binding = stream.binding();
                    (Box::new(stream), binding)
                } else {
                    (Box::new(stream), None)
                }
            }
            // As in libpq there is no TLS within a machine.
            Address::Unix(path) => (Box::new(UnixStream::connect(path).await?), None),
        };
        Ok(Self { socket, inbox: BytesMut::new(), target: target.clone(), binding })
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// Data that SCRAM can be bound to, under TLS; they are taken once.
    pub(super) fn binding(&mut self) -> Option<ChannelBinding> {
        self.binding.take()
    }

    /// Sends all of it.
    pub(super) async fn send(&mut self, messages: &[u8]) -> Result<(), RelayError> {
        self.socket.write_all(messages).await.map_err(RelayError::io)?;
        self.socket.flush().await.map_err(RelayError::io)
    }

    /// The next message, waiting for it.
    pub(super) async fn receive(&mut self) -> Result<Frame, RelayError> {
        loop {
            if let Some(frame) = self.buffered()? {
                return Ok(frame);
            }
            self.fill().await?;
        }
    }

    /// The next message, if all of it has arrived.
    pub(super) fn buffered(&mut self) -> Result<Option<Frame>, RelayError> {
        let Some(header) = Header::parse(&self.inbox).map_err(RelayError::io)? else { return Ok(None) };
        if header.tag() != DATA_ROW_TAG {
            return Ok(Message::parse(&mut self.inbox).map_err(RelayError::io)?.map(Frame::Other));
        }
        // `Header::parse` has checked that the length is at least 4.
        let total = header.len().unsigned_abs() as usize + 1;
        if total > LARGEST_ROW {
            return Err(RelayError::TooLarge);
        }
        if self.inbox.len() < total {
            self.inbox.reserve(total - self.inbox.len());
            return Ok(None);
        }
        let mut row = self.inbox.split_to(total);
        row.advance(5);
        Ok(Some(Frame::Row(row.freeze())))
    }

    /// Waits for more bytes.
    pub(super) async fn fill(&mut self) -> Result<(), RelayError> {
        self.inbox.reserve(16 * 1024);
        let read = self.socket.read_buf(&mut self.inbox).await;
        match read.map_err(RelayError::io)? {
            0 => Err(RelayError::Lost("the server closed the connection".into())),
            _ => Ok(()),
        }
    }

    /// Whether the connection holds memory that an unusual answer took.
    pub(super) fn is_bloated(&self) -> bool {
        self.inbox.capacity() > BLOATED
    }

    /// Nothing has arrived and the other side has not hung up: what an idle connection must look like.
    pub(super) fn is_quiet(&mut self) -> bool {
        let mut byte = [0u8; 1];
        self.inbox.is_empty() && self.socket.read(&mut byte).now_or_never().is_none()
    }
}

impl Target {
    /// Whether TLS begins now: it is asked for in the clear, or nobody asks.
    async fn has_tls(&self, stream: &mut TcpStream) -> io::Result<bool> {
        if self.mode == SslMode::Disable || self.direct {
            return Ok(self.direct);
        }
        let mut out = BytesMut::new();
        frontend::ssl_request(&mut out);
        stream.write_all(&out).await?;
        let mut answer = [0u8; 1];
        stream.read_exact(&mut answer).await?;
        match answer {
            [b'S'] => Ok(true),
            [b'N'] if self.mode == SslMode::Prefer => Ok(false),
            [b'N'] => Err(io::Error::other("the server has no TLS, and sslmode asks for it")),
            _ => Err(io::Error::other("what answers here is no PostgreSQL server")),
        }
    }
}

/// Asks the server to cancel what the session with this key runs; whether that hit anything, nobody knows. It has sent the signal when
/// this returns.
pub(super) async fn cancel(target: &Target, (process, secret): (i32, i32)) -> Result<(), RelayError> {
    let mut channel = Channel::open(target).await.map_err(RelayError::io)?;
    let mut buffer = BytesMut::new();
    frontend::cancel_request(process, secret, &mut buffer);
    channel.send(&buffer).await?;
    // It never answers, and says no goodbye under TLS.
    match channel.socket.read(&mut [0; 1]).await {
        Err(e) if e.kind() != io::ErrorKind::UnexpectedEof => Err(RelayError::io(e)),
        Ok(_) | Err(_) => Ok(()),
    }
}
