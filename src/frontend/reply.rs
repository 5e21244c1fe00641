//! Messages to the client. Only whole messages enter the buffer, so that a cancelled write can be resumed and
//! an error can follow whatever was sent before.

use super::stop::Stop;
use super::transaction::Step;
use answer::{ClientError, Severity, SqlState};
use answer::{Field, Notice};
use bytes::{BufMut, BytesMut};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{FieldDescription, RowDescription};
use pgwire::messages::response::{
    CommandComplete, EmptyQueryResponse, ErrorResponse, NoticeResponse, ReadyForQuery, TransactionStatus,
};
use pgwire::messages::startup::ParameterStatus;
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// Messages are sent when this much is waiting.
const SEND: usize = 32 * 1024;

/// Messages without a body.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(super) enum Bare {
    /// The statement is prepared.
    ParseComplete = b'1',
    /// The portal is there.
    BindComplete = b'2',
    /// The statement or portal is gone.
    CloseComplete = b'3',
    /// There are no columns to describe.
    NoData = b'n',
    /// The row limit was reached, and the portal waits.
    PortalSuspended = b's',
    /// All of a COPY was sent.
    CopyDone = b'c',
}

/// The writing half of a connection.
pub(super) struct Writer<W> {
    io: W,
    buf: BytesMut,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    /// Writes to `io`.
    pub fn new(io: W) -> Self {
        Self { io, buf: BytesMut::new() }
    }

    /// The socket again, for TLS.
    pub fn into_inner(self) -> W {
        self.io
    }

    /// Queues a message.
    pub fn message(&mut self, message: PgWireBackendMessage) {
        // Encoded aside, so that a message that cannot be encoded leaves no part of itself behind.
        let mut encoded = BytesMut::new();
        match message.encode(&mut encoded) {
            Ok(()) => self.buf.extend_from_slice(&encoded),
            Err(e) => tracing::error!(error = %e, "a message to the client could not be encoded"),
        }
    }

    /// Queues one byte outside of any message: the answer to a request for encryption.
    pub fn byte(&mut self, byte: u8) {
        self.buf.put_u8(byte);
    }

    /// Queues an ErrorResponse.
    pub fn error(&mut self, e: &ClientError) {
        let severity = match e.severity {
            Severity::Error => "ERROR",
            Severity::Fatal => "FATAL",
        };
        let mut fields = report(severity, e.code.as_str(), &e.message);
        fields.extend(e.detail.as_ref().map(|d| (b'D', clean(d))));
        fields.extend(e.hint.as_ref().map(|h| (b'H', clean(h))));
        fields.extend(e.position.map(|p| (b'P', p.to_string())));
        self.message(PgWireBackendMessage::ErrorResponse(ErrorResponse::new(fields)));
    }

    /// Queues a NoticeResponse, as NOTICE or WARNING.
    pub fn notice(&mut self, n: &Notice) {
        let severity = if n.is_warning() { "WARNING" } else { "NOTICE" };
        let mut fields = report(severity, n.code, &n.message);
        fields.extend(n.hint.as_ref().map(|h| (b'H', clean(h))));
        self.message(PgWireBackendMessage::NoticeResponse(NoticeResponse::new(fields)));
    }

    /// Queues a ParameterStatus.
    pub fn parameter(&mut self, name: &str, value: &str) {
        self.message(PgWireBackendMessage::ParameterStatus(ParameterStatus::new(clean(name), clean(value))));
    }

    /// Queues a message that is nothing but its type.
    pub fn bare(&mut self, message: Bare) {
        self.buf.put_u8(message as u8);
        self.buf.put_i32(4);
    }

    /// Queues a ParameterDescription.
    pub fn parameters(&mut self, types: &[u32]) -> Result<(), ClientError> {
        let Ok(count) = u16::try_from(types.len()) else {
            return Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "there are too many parameters"));
        };
        self.buf.put_u8(b't');
        self.buf.put_i32(4 + 2 + 4 * i32::from(count));
        self.buf.put_u16(count);
        types.iter().for_each(|oid| self.buf.put_u32(*oid));
        Ok(())
    }

    /// Queues a RowDescription.
    pub fn fields(&mut self, fields: &[Field]) -> Result<(), ClientError> {
        if fields.len() > usize::from(u16::MAX >> 1) {
            return Err(too_many_columns());
        }
        let fields = fields
            .iter()
            .map(|f| {
                let (oid, size, modifier) = (f.type_oid, f.type_size, f.type_modifier);
                FieldDescription::new(clean(&f.name), 0, 0, oid, size, modifier, f.format)
            })
            .collect();
        self.message(PgWireBackendMessage::RowDescription(RowDescription::new(fields)));
        Ok(())
    }

    /// Queues a DataRow of this body, and sends when enough is waiting: this is where a slow client holds back
    /// the rows.
    pub async fn row(&mut self, body: &[u8]) -> Result<(), Stop> {
        self.data(b'D', body).await
    }

    /// Queues a CopyOutResponse: the format of all, which is that of each column.
    pub fn copy_out(&mut self, columns: usize, format: i16) -> Result<(), ClientError> {
        self.copy(b'H', columns, format)
    }

    /// Queues a CopyInResponse.
    pub fn copy_in(&mut self, columns: usize, format: i16) -> Result<(), ClientError> {
        self.copy(b'G', columns, format)
    }

    fn copy(&mut self, tag: u8, columns: usize, format: i16) -> Result<(), ClientError> {
        let count =
            u16::try_from(columns).ok().filter(|n| *n <= u16::MAX >> 1).ok_or_else(too_many_columns)?;
        self.buf.put_u8(tag);
        self.buf.put_i32(4 + 1 + 2 + 2 * i32::from(count));
        self.buf.put_u8(u8::from(format != 0));
        self.buf.put_u16(count);
        (0..count).for_each(|_| self.buf.put_i16(format));
        Ok(())
    }

    /// Queues a CopyData, as [`Self::row`] a row.
    pub async fn copy_data(&mut self, body: &[u8]) -> Result<(), Stop> {
        self.data(b'd', body).await
    }

    async fn data(&mut self, tag: u8, body: &[u8]) -> Result<(), Stop> {
        let length = i32::try_from(body.len())
            .ok()
            .and_then(|n| n.checked_add(4))
            .ok_or_else(|| ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "a row is too long"))?;
        self.buf.put_u8(tag);
        self.buf.put_i32(length);
        self.buf.extend_from_slice(body);
        self.relieve().await
    }

    /// Sends when enough is waiting: a batch of many small messages must not be answered from memory alone.
    pub async fn relieve(&mut self) -> Result<(), Stop> {
        if self.buf.len() >= SEND { self.flush().await } else { Ok(()) }
    }

    /// Queues what a control statement did.
    pub fn step(&mut self, step: &Step) {
        if let Some(notice) = &step.notice {
            self.notice(notice);
        }
        self.complete(step.tag);
    }

    /// Queues a CommandComplete.
    pub fn complete(&mut self, tag: &str) {
        self.message(PgWireBackendMessage::CommandComplete(CommandComplete::new(clean(tag))));
    }

    /// Queues an EmptyQueryResponse.
    pub fn empty(&mut self) {
        self.message(PgWireBackendMessage::EmptyQueryResponse(EmptyQueryResponse::new()));
    }

    /// Queues a ReadyForQuery.
    pub fn ready(&mut self, status: TransactionStatus) {
        self.message(PgWireBackendMessage::ReadyForQuery(ReadyForQuery::new(status)));
    }

    /// Sends all that is queued. Cancel safe: what was not sent stays queued.
    pub async fn flush(&mut self) -> Result<(), Stop> {
        while !self.buf.is_empty() {
            match self.io.write_buf(&mut self.buf).await {
                Ok(n) if n > 0 => {}
                _ => return Err(Stop::Closed),
            }
        }
        self.io.flush().await.map_err(|_| Stop::Closed)
    }

    /// Ends the sending direction.
    pub async fn shutdown(&mut self) {
        let _ = self.io.shutdown().await;
    }
}

fn too_many_columns() -> ClientError {
    ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "the result has too many columns")
}

fn report(severity: &str, code: &str, message: &str) -> Vec<(u8, String)> {
    vec![
        (b'S', severity.to_owned()),
        (b'V', severity.to_owned()),
        (b'C', clean(code)),
        (b'M', clean(message)),
    ]
}

/// Strings on the wire end at a NUL: one inside would let a text forge what follows it.
fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
