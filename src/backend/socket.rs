//! Bytes and frames of one connection to PostgreSQL: where to connect, how to cut messages. No meaning.

use super::error::RelayError;
use bytes::{Buf, Bytes, BytesMut};
use postgres_protocol::message::backend::{DATA_ROW_TAG, Header, Message};
use postgres_protocol::message::frontend;
use std::io;
use std::path::PathBuf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::Host;

/// One place where the server may listen.
#[derive(Clone, Debug)]
pub(super) enum Address {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// The places of a URL, in its order.
pub(super) fn addresses(config: &tokio_postgres::Config) -> Vec<Address> {
    let ports = config.get_ports();
    let port = |n: usize| ports.get(n).or(ports.last()).copied().unwrap_or(5432);
    if !config.get_hostaddrs().is_empty() {
        let ips = config.get_hostaddrs().iter().enumerate();
        return ips.map(|(n, ip)| Address::Tcp(ip.to_string(), port(n))).collect();
    }
    let hosts = config.get_hosts().iter().enumerate();
    hosts
        .map(|(n, host)| match host {
            Host::Tcp(name) => Address::Tcp(name.clone(), port(n)),
            Host::Unix(folder) => Address::Unix(folder.join(format!(".s.PGSQL.{}", port(n)))),
        })
        .collect()
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// A message: a row left as it came, or anything else parsed.
pub(super) enum Frame {
    /// The body of a DataRow message.
    Row(Bytes),
    Other(Message),
}

/// One connection, before and after login.
pub(super) struct Channel {
    socket: Socket,
    inbox: BytesMut,
    address: Address,
}

impl std::fmt::Debug for Channel {
    /// What travels here is not printed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channel").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Channel {
    pub(super) async fn open(address: &Address) -> io::Result<Self> {
        let socket = match address {
            Address::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Socket::Tcp(stream)
            }
            Address::Unix(path) => Socket::Unix(UnixStream::connect(path).await?),
        };
        Ok(Self { socket, inbox: BytesMut::new(), address: address.clone() })
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Sends all of it.
    pub(super) async fn send(&mut self, messages: &[u8]) -> Result<(), RelayError> {
        let sent = match &mut self.socket {
            Socket::Tcp(s) => s.write_all(messages).await,
            Socket::Unix(s) => s.write_all(messages).await,
        };
        sent.map_err(RelayError::io)
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
        let read = match &mut self.socket {
            Socket::Tcp(s) => s.read_buf(&mut self.inbox).await,
            Socket::Unix(s) => s.read_buf(&mut self.inbox).await,
        };
        match read.map_err(RelayError::io)? {
            0 => Err(RelayError::Lost("the server closed the connection".into())),
            _ => Ok(()),
        }
    }

    /// Nothing has arrived and the other side has not hung up: what an idle connection must look like.
    pub(super) fn is_quiet(&self) -> bool {
        let mut byte = [0u8; 1];
        let read = match &self.socket {
            Socket::Tcp(s) => s.try_read(&mut byte),
            Socket::Unix(s) => s.try_read(&mut byte),
        };
        self.inbox.is_empty() && matches!(read, Err(e) if e.kind() == io::ErrorKind::WouldBlock)
    }
}

/// Asks the server to cancel what the session with this key runs. Returns when the server has sent the signal;
/// whether it hit anything, nobody knows.
pub(super) async fn cancel(address: &Address, (process, secret): (i32, i32)) -> Result<(), RelayError> {
    let mut channel = Channel::open(address).await.map_err(RelayError::io)?;
    let mut buffer = BytesMut::new();
    frontend::cancel_request(process, secret, &mut buffer);
    channel.send(&buffer).await?;
    // The server closes the connection when it is done; it never answers.
    let _ = channel.fill().await;
    Ok(())
}
