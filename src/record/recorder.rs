//! The statements of one database: those that run, the latest that ran, and what is added up of all.

use crate::asked::{Ended, Price};
use crate::outcome::Outcome;
use crate::stage::{Stage, Stages};
use crate::tally::{Refusals, Tallies, Tally};
use crate::totals::Totals;
use crate::trace::Tracer;
use crate::work::{State, Work};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Statements that are listed while they run. A client may leave a thousand cursors open.
const LIVE: usize = 10_000;
/// Statements that are listed after they have ended, and bytes that they take.
const PAST: usize = 2_000;
const PAST_BYTES: usize = 4 << 20;

/// The statements of one database. Beginning and ending one takes the same time however many there were.
#[derive(Debug, Default)]
pub struct Recorder {
    next: AtomicU64,
    live: Mutex<BTreeMap<u64, Arc<Work>>>,
    past: Mutex<Past>,
    totals: Totals,
    /// The database's name, and where its statements go once they have ended.
    tracer: OnceLock<(Arc<str>, Tracer)>,
}

#[derive(Debug, Default)]
struct Past {
    latest: VecDeque<(Arc<Work>, usize)>,
    bytes: usize,
    tallies: Tallies,
}

/// A statement, as it is shown.
#[derive(Clone, Debug)]
pub struct Line {
    /// When it began, in microseconds since 1970.
    pub at: i64,
    /// User who asked.
    pub user: String,
    /// The session's number.
    pub session: i32,
    /// Kind of the statement.
    pub class: &'static str,
    /// Text of the statement, where the policy keeps texts.
    pub text: Option<String>,
    /// Outcome; None while it runs.
    pub outcome: Option<Outcome>,
    /// The SQLSTATE and why, where it ended with an error.
    pub error: Option<(String, String)>,
    /// The stage that it is in, or ended in.
    pub stage: Stage,
    /// Times of its stages.
    pub stages: Stages,
    /// Time of the statement.
    pub took: Duration,
    /// Payments, one for each of its steps.
    pub prices: Vec<Price>,
    /// Rows that the client was sent.
    pub rows: u64,
}

impl Line {
    fn of(work: &Work) -> Self {
        let state = work.state();
        let State { prices, rows, .. } = &*state;
        let (stages, stage) = state.stages();
        let error = match state.ended() {
            Some(Ended::Error(code, why)) => Some((code.clone(), why.clone())),
            _ => None,
        };
        Self {
            at: work.at,
            user: work.asked.user.clone(),
            session: work.asked.session,
            class: work.asked.class,
            text: work.asked.text.clone(),
            outcome: work.outcome(&state),
            error,
            stage,
            stages,
            took: work.took(&state),
            prices: prices.clone(),
            rows: *rows,
        }
    }
}

/// Contents of the record.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Statements that run, the oldest first.
    pub live: Vec<Line>,
    /// Statements that ran, the latest first.
    pub past: Vec<Line>,
    /// By user, since the process began.
    pub users: Vec<(String, Tally)>,
    /// Refusals, the most frequent first.
    pub refused: Vec<Refusals>,
}

impl Recorder {
    /// Begins a statement; its number here.
    pub(crate) fn began(&self, work: &Arc<Work>) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut live = lock(&self.live);
        if live.len() < LIVE {
            live.insert(id, work.clone());
        }
        id
    }

    /// Ends it.
    pub(crate) fn ended(&self, id: u64, work: &Arc<Work>) {
        lock(&self.live).remove(&id);
        let state = work.state();
        let Some(outcome) = work.outcome(&state) else { return };
        let (stages, took, bytes) = (state.stages().0, work.took(&state), work.bytes(&state));
        self.totals.count(outcome, took, &stages);
        self.totals.look(state.looked.0, state.looked.1);
        let mut past = lock(&self.past);
        let error = match state.ended() {
            Some(Ended::Error(code, why)) => Some((code.as_str(), why.as_str())),
            _ => None,
        };
        past.tallies.count(&work.asked.user, outcome, error, took, work.at);
        past.bytes += bytes;
        past.latest.push_back((work.clone(), bytes));
        while past.latest.len() > PAST || past.bytes > PAST_BYTES {
            let Some((_, bytes)) = past.latest.pop_front() else { break };
            past.bytes = past.bytes.saturating_sub(bytes);
        }
        drop(past);
        drop(state);
        if let Some((database, tracer)) = self.tracer.get()
            && let Some(traced) = work.traced(database)
        {
            tracer.send(traced);
        }
    }

    /// Sends statements that begin from now on there, too, once they have ended. The first that is named stays.
    pub fn trace(&self, database: &str, to: Tracer) {
        let _ = self.tracer.set((database.into(), to));
    }

    /// Whether they are sent anywhere.
    pub(crate) fn is_traced(&self) -> bool {
        self.tracer.get().is_some()
    }

    /// Statements that run, at most `lines`, and the latest `lines` that ran; with all sums.
    pub fn shown(&self, lines: usize) -> Shown {
        let live: Vec<Arc<Work>> = lock(&self.live).values().take(lines).cloned().collect();
        let (past, users, refused) = {
            let past = lock(&self.past);
            let latest: Vec<Arc<Work>> =
                past.latest.iter().rev().take(lines).map(|(work, _)| work.clone()).collect();
            (latest, past.tallies.users(), past.tallies.refused())
        };
        let lines = |of: Vec<Arc<Work>>| of.iter().map(|work| Line::of(work)).collect();
        Shown { live: lines(live), past: lines(past), users, refused }
    }

    /// Number of statements that run.
    pub fn running(&self) -> usize {
        lock(&self.live).len()
    }

    /// Totals for monitoring.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Numbers of errors by SQLSTATE.
    pub fn errors(&self) -> BTreeMap<String, u64> {
        lock(&self.past).tallies.codes()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
