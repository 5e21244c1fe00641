//! Errors of the spool, and of batches that are formed of it.

use dp::EntropyError;

/// The spool cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// SQLite's word.
    #[error("the spool failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Of another version.
    #[error("{0:?} is no spool of this version of noisegate")]
    Version(String),
    /// The file cannot be made.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
    /// More waits than may.
    #[error(transparent)]
    Full(#[from] Full),
}

/// There is no room for more reports until some have gone out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shuffler has no room for more reports now; send them again later")]
pub struct Full;

/// A batch could not be formed.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// The spool failed.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// No random bits: nothing was formed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl From<rusqlite::Error> for FormError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Spool(error.into())
    }
}
