//! The ways an exchange can stop.

use answer::{ClientError, SqlState};

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
