//! One connection's two halves, whatever carries them, and the ways it can stop.

use super::frame::Reader;
use super::reply::Writer;
use answer::{ClientError, SqlState};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::time::timeout;

/// How long a refused client may take to read why.
const LINGER: Duration = Duration::from_secs(2);

/// Anything that carries the protocol: TCP, or TLS over it.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// A connection, split so that it can be read while it is written.
pub(super) struct Wire {
    /// From the client.
    pub reader: Reader<ReadHalf<Box<dyn Socket>>>,
    /// To the client.
    pub writer: Writer<WriteHalf<Box<dyn Socket>>>,
}

/// Why an exchange did not go on.
#[derive(Debug)]
pub(super) enum Stop {
    /// The client is gone, or the network failed.
    Closed,
    /// An ERROR ends the statement, a FATAL the connection.
    Error(ClientError),
}

impl From<ClientError> for Stop {
    fn from(e: ClientError) -> Self {
        Self::Error(e)
    }
}

/// 22021: bytes that are no text.
const CHARACTER_NOT_IN_REPERTOIRE: SqlState = SqlState(*b"22021");

/// The client's text: the only encoding is UTF-8.
pub(super) fn text(bytes: &[u8]) -> Result<&str, ClientError> {
    std::str::from_utf8(bytes).map_err(|_| {
        ClientError::new(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
    })
}

/// A FATAL 08P01.
pub(super) fn violation(message: impl Into<String>) -> ClientError {
    ClientError::new(SqlState::PROTOCOL_VIOLATION, message).fatal()
}

impl Wire {
    /// Takes the socket; no message may hold a statement above `max_statement` bytes.
    pub fn new(socket: Box<dyn Socket>, max_statement: usize) -> Self {
        let (read, write) = tokio::io::split(socket);
        Self { reader: Reader::new(read, max_statement), writer: Writer::new(write) }
    }

    /// The socket again. Bytes that were read ahead are lost: see [`Reader::has_buffered`].
    pub fn into_socket(self) -> Box<dyn Socket> {
        self.reader.into_inner().unsplit(self.writer.into_inner())
    }

    /// Ends the connection: sends what is queued and `error` as FATAL, then closes.
    pub async fn refuse(mut self, error: ClientError) {
        self.writer.error(&error.fatal());
        let farewell = async {
            if self.writer.flush().await.is_ok() {
                self.writer.shutdown().await;
                self.reader.discard().await;
            }
        };
        let _ = timeout(LINGER, farewell).await;
    }
}
