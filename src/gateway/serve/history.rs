//! History of the policy in force: since when, with which warnings, and in place of which other
//! one.

use policy::Policy;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Differences between a gateway and the one that it was reopened from.
#[derive(Debug)]
pub struct Reopened {
    /// Sections and keys of the policy that have changed and are in force with it.
    pub changed: Vec<&'static str>,
    /// Sections and keys that have changed and need a restart.
    pub restart: Vec<&'static str>,
    /// The tables' definitions have changed, or other tables are named.
    pub schema_changed: bool,
    /// Warnings: allowed, but probably not meant.
    pub warnings: Vec<String>,
    /// Notes: nothing mends them.
    pub notes: Vec<String>,
}

/// History of the policy in force.
#[derive(Clone, Debug)]
pub struct History {
    /// When, in microseconds since 1970.
    pub since: i64,
    /// Warnings: allowed, but probably not meant.
    pub warnings: Vec<String>,
    /// The last one that was otherwise, if there was one since the start.
    pub before: Option<Arc<Policy>>,
}

impl History {
    /// Of the first policy.
    pub(in crate::gateway) fn begun(warnings: Vec<String>) -> Self {
        Self { since: now(), warnings, before: None }
    }

    /// Of the policy that takes the place of `old`. One that changes nothing has the history of the other.
    pub(in crate::gateway) fn followed(&self, old: &Policy, reopened: &Reopened) -> Self {
        let warnings = [reopened.warnings.as_slice(), &reopened.notes].concat();
        if reopened.changed.is_empty() && !reopened.schema_changed {
            return Self { warnings, ..self.clone() };
        }
        Self { since: now(), warnings, before: Some(Arc::new(old.clone())) }
    }
}

/// Microseconds since 1970, by this machine's clock.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
