//! A statement: what is known of it while it runs, and afterwards.

use crate::asked::{Asked, Ended, Price, Share};
use crate::outcome::Outcome;
use crate::stage::{Progress, Stage, Stages};
use crate::trace::{TURNS, Traced, Turn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes of a text that are kept.
const TEXT: usize = 2_000;

/// A statement.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) asked: Asked,
    /// Microseconds since 1970.
    pub(crate) at: i64,
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
pub(crate) struct State {
    progress: Progress,
    /// Where statements are traced: its way until now.
    turns: Option<Vec<Turn>>,
    /// The outcome; None while it is open.
    pub(crate) answered: Option<Outcome>,
    pub(crate) prices: Vec<Price>,
    pub(crate) rows: u64,
    /// Releases that were looked for among kept answers: found, and missing.
    pub(crate) looked: (u64, u64),
    ended: Option<(Ended, Instant)>,
}

impl State {
    pub(crate) fn ended(&self) -> Option<&Ended> {
        self.ended.as_ref().map(|(ended, _)| ended)
    }

    /// Times of its stages, and the stage that it is in.
    pub(crate) fn stages(&self) -> (Stages, Stage) {
        let until = self.ended.as_ref().map_or_else(Instant::now, |(_, at)| *at);
        (self.progress.until(until), self.progress.stage())
    }
}

impl Work {
    pub(crate) fn new(mut asked: Asked, traced: bool) -> Self {
        if let Some(text) = &mut asked.text
            && text.len() > TEXT
        {
            let end = (0..=TEXT).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
            text.truncate(end);
            text.push('…');
            text.shrink_to_fit();
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        let begun = Instant::now();
        let progress = Progress::new(asked.before, begun);
        let state = State {
            progress,
            turns: traced.then(Vec::new),
            answered: None,
            prices: Vec::new(),
            rows: 0,
            looked: (0, 0),
            ended: None,
        };
        Self { asked, at, begun, state: state.into() }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From its beginning until its end, or until now.
    pub(crate) fn took(&self, state: &State) -> Duration {
        state.ended.as_ref().map_or_else(Instant::now, |(_, at)| *at).saturating_duration_since(self.begun)
    }

    /// The outcome, in a word; None while it runs.
    pub(crate) fn outcome(&self, state: &State) -> Option<Outcome> {
        Some(match state.ended()? {
            Ended::Done => state.answered.unwrap_or_else(|| Outcome::of_class(self.asked.class)),
            Ended::Error(code, _) => Outcome::of_error(code),
            Ended::Early => Outcome::Cancelled,
        })
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self, state: &State) -> usize {
        let price = |p: &Price| {
            let names: usize = p.shares.iter().map(|s| size_of::<Share>() + s.budget.len()).sum();
            size_of::<Price>() + p.epsilon.len() + names
        };
        let reason = match state.ended() {
            Some(Ended::Error(code, why)) => code.len() + why.len(),
            _ => 0,
        };
        let text = self.asked.text.as_ref().map_or(0, String::len);
        let prices: usize = state.prices.iter().map(price).sum();
        size_of::<Self>() + self.asked.user.len() + text + prices + reason
    }

    /// Goes on to a stage; None once it has ended: what is done for whoever has gone is nobody's time.
    pub(crate) fn turn(&self, stage: Stage) -> Option<Stage> {
        let mut state = self.state();
        match state.ended {
            None => {
                let now = Instant::now();
                self.note(&mut state, now);
                Some(state.progress.turn(stage, now))
            }
            Some(_) => None,
        }
    }

    /// Notes the stage that ends now.
    fn note(&self, state: &mut State, now: Instant) {
        let (stage, since) = (state.progress.stage(), state.progress.since());
        if let Some(turns) = state.turns.as_mut().filter(|turns| turns.len() < TURNS) {
            let (from, took) =
                (since.saturating_duration_since(self.begun), now.saturating_duration_since(since));
            turns.push(Turn { stage, from, took });
        }
    }

    /// Ends the statement; false where it has ended before.
    pub(crate) fn end(&self, ended: Ended, rows: u64) -> bool {
        let mut state = self.state();
        if state.ended.is_some() {
            return false;
        }
        let now = Instant::now();
        self.note(&mut state, now);
        state.rows = rows;
        state.ended = Some((ended, now));
        true
    }

    /// Once it has ended, with every turn of its way, where statements are traced. Its turns go with it.
    pub(crate) fn traced(&self, database: &Arc<str>) -> Option<Traced> {
        let mut state = self.state();
        let turns = state.turns.take()?;
        Some(Traced {
            database: database.clone(),
            asked: self.asked.clone(),
            at: self.at,
            took: self.took(&state),
            before: self.asked.before,
            turns,
            ended: state.ended()?.clone(),
            outcome: self.outcome(&state),
            prices: state.prices.clone(),
            rows: state.rows,
        })
    }
}
