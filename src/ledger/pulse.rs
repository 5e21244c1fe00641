//! Pulse of the ledger, for monitoring.

use record::Histogram;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Counts and times of its commits since it was opened.
#[derive(Debug, Default)]
pub struct Pulse {
    commits: Arc<Histogram>,
    failures: AtomicU64,
    tip: AtomicI64,
}

impl Pulse {
    /// Of a ledger whose latest entry is of this moment.
    pub(super) fn at(tip: i64) -> Self {
        Self { tip: tip.into(), ..Self::default() }
    }

    pub(super) fn committed(&self, took: Duration, tip: i64) {
        self.commits.observe(took);
        self.tip.store(tip, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Times of commits, from the end of their decisions.
    pub fn commits(&self) -> &Arc<Histogram> {
        &self.commits
    }

    /// Batches that could not be written.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// When the latest entry was written, as far as is known here, in microseconds since 1970.
    pub fn tip(&self) -> i64 {
        self.tip.load(Ordering::Relaxed)
    }
}
