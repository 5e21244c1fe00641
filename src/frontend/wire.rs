//! Halves of a connection, whatever carries them, and how one is refused.

use super::frame::Reader;
use super::reply::Writer;
use answer::ClientError;
use std::io::Cursor;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadHalf, WriteHalf};
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

impl Wire {
    /// Takes the socket; no message may hold a statement above `max_statement` bytes.
    pub fn new(socket: Box<dyn Socket>, max_statement: usize) -> Self {
        let (read, write) = tokio::io::split(socket);
        Self { reader: Reader::new(read, max_statement), writer: Writer::new(write) }
    }

    /// The socket again, which gives what was read ahead once more.
    pub fn into_socket(self) -> Box<dyn Socket> {
        let (read, ahead) = self.reader.into_parts();
        if ahead.is_empty() {
            return read.unsplit(self.writer.into_inner());
        }
        Box::new(tokio::io::join(Cursor::new(ahead).chain(read), self.writer.into_inner()))
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
