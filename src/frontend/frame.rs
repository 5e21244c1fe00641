//! Cutting the byte stream into messages, with a limit on each length before anything is buffered for it.

use super::stop::{Stop, violation};
use answer::{ClientError, SqlState};
use bytes::{Buf, Bytes, BytesMut};
use std::future::{Future, poll_fn};
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

/// Longest startup packet: `MAX_STARTUP_PACKET_LENGTH` of PostgreSQL.
const MAX_STARTUP: usize = 10_000;
/// Longest message without variable content: `PQ_SMALL_MESSAGE_LIMIT` of PostgreSQL.
const MAX_SMALL: usize = 10_000;
/// What a message may hold beside the statement: names, counts, formats.
const ENVELOPE: usize = 1_024;
/// Bytes kept of what a client sends while its statement runs. Beyond it TCP pushes back.
const MAX_AHEAD: usize = 64 * 1024;
/// How much one read takes, or more where it continues a message.
const READ: usize = 8 * 1024;

/// A message: its type and its body, without the length.
#[derive(Debug)]
pub(super) struct Frame {
    /// Message type byte.
    pub tag: u8,
    /// Bytes behind the length.
    pub body: Bytes,
}

/// The reading half of a connection.
pub(super) struct Reader<R> {
    io: R,
    buf: BytesMut,
    max_statement: usize,
    logged_in: bool,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Reads from `io`; no message may hold a statement above `max_statement` bytes.
    pub fn new(io: R, max_statement: usize) -> Self {
        Self { io, buf: BytesMut::new(), max_statement, logged_in: false }
    }

    /// From now on every message is taken, not only those of a login.
    pub fn logged_in(&mut self) {
        self.logged_in = true;
    }

    /// Whether bytes wait that no message has taken.
    pub fn has_buffered(&self) -> bool {
        !self.buf.is_empty()
    }

    /// The socket again, for TLS, with what was read from it and no message has taken.
    pub fn into_parts(self) -> (R, Bytes) {
        (self.io, self.buf.freeze())
    }

    /// The first byte of all, which stays there.
    pub async fn first(&mut self) -> Result<u8, Stop> {
        self.fill(1).await?;
        self.buf.first().copied().ok_or(Stop::Closed)
    }

    /// The next untyped packet of the start-up phase, without its length.
    pub async fn startup(&mut self) -> Result<Bytes, Stop> {
        self.fill(4).await?;
        let length = self.length_at(0)?;
        if !(8..=MAX_STARTUP).contains(&length) {
            return Err(violation("invalid length of startup packet").into());
        }
        self.fill(length).await?;
        self.buf.advance(4);
        Ok(self.buf.split_to(length - 4).freeze())
    }

    /// The next typed message. Cancel safe.
    pub async fn next(&mut self) -> Result<Frame, Stop> {
        self.fill(1).await?;
        let Some(&tag) = self.buf.first() else { return Err(Stop::Closed) };
        let limit = self.limit(tag)?;
        self.fill(5).await?;
        let length = self.length_at(1)?;
        if length < 4 {
            return Err(violation(format!("invalid message length {length}")).into());
        }
        if length > limit {
            return Err(self.too_long(tag, length).into());
        }
        self.fill(1 + length).await?;
        self.buf.advance(5);
        let body = self.buf.split_to(length - 4).freeze();
        if self.buf.is_empty() {
            // A statement's allocation must not stay with an idle session.
            self.buf = BytesMut::new();
        }
        Ok(Frame { tag, body })
    }

    /// Returns when the client is gone. Until then it keeps what the client sends ahead, up to a bound; a
    /// client that exceeds it is not read (and its departure not seen) until its statement is done. Cancel safe.
    pub async fn watch(&mut self) {
        while self.buf.len() < MAX_AHEAD {
            match poll_fn(|cx| self.poll_read(cx)).await {
                Ok(n) if n > 0 => {}
                _ => return,
            }
        }
        std::future::pending().await
    }

    /// Reads and forgets until the client stops sending: a close with unread bytes would reset the connection,
    /// and the reset can overtake the error message.
    pub async fn discard(&mut self) {
        loop {
            self.buf.clear();
            match poll_fn(|cx| self.poll_read(cx)).await {
                Ok(n) if n > 0 => {}
                _ => return,
            }
        }
    }

    async fn fill(&mut self, wanted: usize) -> Result<(), Stop> {
        while self.buf.len() < wanted {
            match poll_fn(|cx| self.poll_read(cx)).await {
                Ok(n) if n > 0 => {}
                _ => return Err(Stop::Closed),
            }
        }
        Ok(())
    }

    /// Reads what has arrived. The first of it goes through the stack, so that a session that waits keeps no room for it.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.buf.is_empty() {
            // Not what was announced: memory grows with what has arrived.
            self.buf.reserve(READ);
            return pin!(self.io.read_buf(&mut self.buf)).poll(cx);
        }
        let mut room = [const { MaybeUninit::uninit() }; READ];
        let mut read = ReadBuf::uninit(&mut room);
        ready!(Pin::new(&mut self.io).poll_read(cx, &mut read))?;
        self.buf.extend_from_slice(read.filled());
        Poll::Ready(Ok(read.filled().len()))
    }

    fn length_at(&self, at: usize) -> Result<usize, Stop> {
        let bytes: [u8; 4] = match self.buf.get(at..at + 4).map(TryInto::try_into) {
            Some(Ok(bytes)) => bytes,
            _ => return Err(Stop::Closed),
        };
        let length = i32::from_be_bytes(bytes);
        usize::try_from(length).map_err(|_| violation(format!("invalid message length {length}")).into())
    }

    fn limit(&self, tag: u8) -> Result<usize, ClientError> {
        match tag {
            b'p' | b'X' => Ok(MAX_SMALL),
            // Who has not logged in cannot make us keep a statement.
            _ if !self.logged_in => Err(violation(format!("expected SASL response, got message type {tag}"))),
            // Length field, statement, NUL.
            b'Q' => Ok(self.max_statement.saturating_add(5)),
            b'P' | b'B' | b'F' | b'd' => Ok(self.max_statement.saturating_add(ENVELOPE)),
            b'C' | b'D' | b'E' | b'H' | b'S' | b'c' | b'f' => Ok(MAX_SMALL),
            _ => Err(violation(format!("invalid frontend message type {tag}"))),
        }
    }

    fn too_long(&self, tag: u8, length: usize) -> ClientError {
        match tag {
            b'Q' | b'P' | b'B' | b'F' | b'd' => over_limit(length - 4, self.max_statement),
            _ => violation(format!("invalid message length {length}")),
        }
    }
}

/// A FATAL 54000 that names the limit: the statement was not read, so the stream cannot go on.
fn over_limit(bytes: usize, limit: usize) -> ClientError {
    ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, format!("a message of {bytes} bytes is too long"))
        .detail(format!("limits.max_statement_bytes is {limit}."))
        .hint("Send a shorter statement, or ask the operator to raise limits.max_statement_bytes.")
        .fatal()
}
