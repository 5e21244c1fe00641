//! Reports on their way: as they are sent, as a shuffler sees them, and as it passes them on.

use super::error::OpenError;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A report on its way to the shuffler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(pub(super) Box<[u8]>);

impl Message {
    /// A message that arrived over a network, of which nothing is believed.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// Reads a line of `noisegate collect encode`.
    ///
    /// # Errors
    /// It is not base64.
    pub fn parse(line: &str) -> Result<Self, OpenError> {
        URL_SAFE_NO_PAD.decode(line.trim()).map(|bytes| Self(bytes.into())).map_err(|_| OpenError::Length)
    }

    /// As bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// As a line of base64.
    pub fn line(&self) -> String {
        URL_SAFE_NO_PAD.encode(&self.0)
    }
}

/// A report that only the analyser opens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sealed(pub(super) Box<[u8]>);

impl Sealed {
    /// A sealed report that came from a shuffler, of which nothing is believed.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }

    /// As bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A report as a shuffler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Drawn where the report was made: a report that arrives twice has it twice.
    pub id: [u8; 16],
    /// Among what it hides: the digest of a label that its writer chose.
    pub group: [u8; 16],
    /// The sealed report that is passed on.
    pub sealed: Sealed,
}
