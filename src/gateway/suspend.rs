//! Users whose fetches keep failing (soundness rule 18): a failure while private rows are read is outside the
//! guarantee, so nobody may provoke many.

use answer::{ClientError, SqlState};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const DAY: Duration = Duration::from_secs(86_400);

/// Failures per user within a day.
pub struct Suspensions {
    limit: u32,
    failures: Arc<Mutex<HashMap<String, (Instant, u32)>>>,
}

impl Suspensions {
    /// Suspends after `limit` failures in a day.
    pub fn new(limit: u32) -> Self {
        Self { limit, failures: Arc::default() }
    }

    /// The same failures under another limit.
    pub fn with_limit(&self, limit: u32) -> Self {
        Self { limit, failures: self.failures.clone() }
    }

    /// Counts a failure.
    pub fn failed(&self, user: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = failures.entry(user.to_owned()).or_insert((Instant::now(), 0));
        if entry.0.elapsed() >= DAY {
            *entry = (Instant::now(), 0);
        }
        entry.1 = entry.1.saturating_add(1);
        if entry.1 == self.limit {
            tracing::error!(%user, failures = entry.1, "a user's statements keep failing over private rows: suspended for a day");
        }
    }

    /// Refuses a suspended user.
    pub fn check(&self, user: &str) -> Result<(), ClientError> {
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match failures.get(user) {
            Some((since, n)) if *n >= self.limit && since.elapsed() < DAY => Err(ClientError::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                "this user is suspended: too many statements failed while private rows were read",
            )
            .hint("Ask the operator: the log has the causes, and limits.max_backend_errors the limit. Nothing was charged.")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_18_failing_users_are_suspended_and_others_are_not() {
        let s = Suspensions::new(2);
        s.failed("eve");
        assert!(s.check("eve").is_ok());
        s.failed("eve");
        assert_eq!(s.check("eve").map_err(|e| e.code), Err(SqlState::INSUFFICIENT_PRIVILEGE));
        assert!(s.check("ada").is_ok());
        assert!(s.with_limit(3).check("eve").is_ok());
        s.with_limit(3).failed("eve");
        assert!(s.with_limit(3).check("eve").is_err(), "failures outlive a reload");
    }
}
