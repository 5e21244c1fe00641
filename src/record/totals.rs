//! Counters and histograms that monitoring reads: no lock, and the same size for ever.

use crate::outcome::Outcome;
use crate::stage::{Stage, Stages};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of a histogram's buckets, in seconds; a last one has the rest.
pub const BOUNDS: [f64; 17] = [
    0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// A histogram of times, in buckets.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    /// Counts one.
    pub fn observe(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        if let Some(count) = self.buckets.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Bounds with what is in each bucket, and the rest under infinity.
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        bounds.zip(&self.buckets).map(|(bound, n)| (bound, n.load(Ordering::Relaxed))).collect()
    }

    /// Number of times that were noted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|n| n.load(Ordering::Relaxed)).sum()
    }

    /// Seconds of all together.
    pub fn sum(&self) -> f64 {
        Duration::from_micros(self.micros.load(Ordering::Relaxed)).as_secs_f64()
    }
}

/// All statements since the process began.
#[derive(Debug, Default)]
pub struct Totals {
    statements: [AtomicU64; Outcome::ALL.len()],
    whole: Histogram,
    found: AtomicU64,
    missing: AtomicU64,
    stages: [Histogram; Stage::ALL.len()],
}

impl Totals {
    pub(crate) fn count(&self, outcome: Outcome, took: Duration, stages: &Stages) {
        if let Some(count) = self.statements.get(outcome as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.whole.observe(took);
        for (stage, took) in stages.each() {
            self.stage(stage).observe(took);
        }
    }

    /// Number of statements with this outcome.
    pub fn statements(&self, outcome: Outcome) -> u64 {
        self.statements.get(outcome as usize).map_or(0, |n| n.load(Ordering::Relaxed))
    }

    pub(crate) fn look(&self, found: u64, missing: u64) {
        self.found.fetch_add(found, Ordering::Relaxed);
        self.missing.fetch_add(missing, Ordering::Relaxed);
    }

    /// Releases that were looked for among kept answers: how many were found, and how many not.
    pub fn looked(&self) -> (u64, u64) {
        (self.found.load(Ordering::Relaxed), self.missing.load(Ordering::Relaxed))
    }

    /// From a statement's beginning to its last row.
    pub fn whole(&self) -> &Histogram {
        &self.whole
    }

    /// Times of a stage, of statements that passed it.
    pub fn stage(&self, stage: Stage) -> &Histogram {
        self.stages.get(stage as usize).unwrap_or(&self.whole)
    }
}
