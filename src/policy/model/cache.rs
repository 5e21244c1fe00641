//! Kept answers: `[cache]`.

use crate::given::Given;
use std::path::PathBuf;
use std::time::Duration;

/// `[cache]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Answers are kept.
    pub enabled: bool,
    /// Time for which an answer is given again; None is until something else ends it.
    pub refresh: Option<Duration>,
    /// The channel whose NOTIFY ends the answers kept so far.
    pub notify: Option<String>,
    /// The least time between two of these that are heard.
    pub notify_interval: Duration,
    /// Time that `now()` is rounded down to a multiple of, where private rows are compared with it.
    pub snap: Option<Duration>,
    /// Key that kept answers are encrypted with.
    pub key: Option<CacheKey>,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            enabled: true,
            refresh: Some(Duration::from_secs(86_400)),
            notify: None,
            notify_interval: Duration::from_secs(60),
            snap: None,
            key: None,
        }
    }
}

/// `cache.key_file`, `cache.key`
#[derive(Clone, PartialEq, Eq)]
pub enum CacheKey {
    /// File of the key.
    File(Given<PathBuf>),
    /// The key itself.
    Bytes([u8; 32]),
}
