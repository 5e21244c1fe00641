//! A statement that has ended, with every turn of its way: for whoever sends traces elsewhere.

use crate::outcome::Outcome;
use crate::stage::{Stage, Stages};
use crate::work::{Asked, Ended, Price};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Turns of one statement that are kept; what comes after them is in none.
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
    /// Who asked, and what.
    pub asked: Asked,
    /// When it began, in microseconds since 1970.
    pub at: i64,
    /// How long it took.
    pub took: Duration,
    /// What was done for it before it began.
    pub before: Stages,
    /// Its way.
    pub turns: Vec<Turn>,
    /// How it ended.
    pub ended: Ended,
    /// The same in a word.
    pub outcome: Option<Outcome>,
    /// What was paid.
    pub prices: Vec<Price>,
    /// Rows that the client was sent.
    pub rows: u64,
}

/// Where statements go that have ended. It never waits: what finds no room is counted.
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

    /// How many found no room since this was asked last.
    pub fn lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    pub(crate) fn send(&self, traced: Traced) {
        if self.to.try_send(traced).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}
