//! Traces of statements that have ended, with every turn of their way, for collectors elsewhere.

use crate::asked::{Asked, Ended, Price};
use crate::outcome::Outcome;
use crate::stage::{Stage, Stages};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Turns of one statement that are kept; later ones are left out.
pub(crate) const TURNS: usize = 64;

/// A time in one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// In which.
    pub stage: Stage,
    /// From when, since the statement began.
    pub from: Duration,
    /// For how long.
    pub took: Duration,
}

/// A statement that has ended.
#[derive(Clone, Debug)]
pub struct Traced {
    /// The database, as clients call it.
    pub database: Arc<str>,
    /// The statement, and its user.
    pub asked: Asked,
    /// When it began, in microseconds since 1970.
    pub at: i64,
    /// Time of the statement.
    pub took: Duration,
    /// Times of stages before it began.
    pub before: Stages,
    /// Turns of its way.
    pub turns: Vec<Turn>,
    /// The end of the statement.
    pub ended: Ended,
    /// The same in a word.
    pub outcome: Option<Outcome>,
    /// Payments.
    pub prices: Vec<Price>,
    /// Rows that the client was sent.
    pub rows: u64,
}

/// A queue for traces of statements that have ended. It never waits: a trace that finds no room is
/// counted.
#[derive(Clone, Debug)]
pub struct Tracer {
    to: mpsc::Sender<Traced>,
    lost: Arc<AtomicU64>,
}

impl Tracer {
    /// To a receiver.
    pub fn new(to: mpsc::Sender<Traced>) -> Self {
        Self { to, lost: Arc::default() }
    }

    /// Number of traces that found no room since this was asked last.
    pub fn lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    pub(crate) fn send(&self, traced: Traced) {
        if self.to.try_send(traced).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
