//! A statement while it runs, and what is known of it afterwards. Code that works on it finds it by
//! its task, as events find their span: nothing between the wire and the database has to hand it
//! on.

use crate::held::{held, holding};
use crate::outcome::Outcome;
use crate::recorder::Recorder;
use crate::stage::{Progress, Stage, Stages};
use crate::trace::{TURNS, Traced, Turn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

tokio::task_local! {
    /// The statement that this task works on.
    static NOW: Arc<Work>;
}

/// Bytes of a text that are kept.
const TEXT: usize = 2_000;

/// Facts about a statement when it begins.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The user.
    pub user: String,
    /// In which database, where there are several.
    pub database: Option<String>,
    /// The session's number, by which the client cancels.
    pub session: i32,
    /// Kind of the statement (`query`, `explain`).
    pub class: &'static str,
    /// Text of the statement, where the policy keeps texts; it is cut.
    pub text: Option<String>,
    /// Times of stages before it: it was parsed, it was bound.
    pub before: Stages,
}

/// Share of a budget that a payment took.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The budget's name.
    pub budget: String,
    /// The part of its limit, from 0 to 1.
    pub part: f64,
}

/// A payment.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// The name of the price.
    pub epsilon: String,
    /// The ledger's entry.
    pub entry: i64,
    /// Shares of each budget that pays.
    pub shares: Vec<Share>,
}

/// The end of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With its last row.
    Done,
    /// With an error: the SQLSTATE, and why in words without the analyst's own ([`crate::reason`]).
    Error(String, String),
    /// The client went away first.
    Early,
}

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
    fn new(mut asked: Asked, traced: bool) -> Self {
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
    fn turn(&self, stage: Stage) -> Option<Stage> {
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

/// A statement that runs. It ends with [`Self::end`], or early when this goes.
#[derive(Debug)]
pub struct Running {
    work: Arc<Work>,
    id: u64,
    recorder: Arc<Recorder>,
}

impl Running {
    /// Begins one.
    pub fn begin(recorder: &Arc<Recorder>, asked: Asked) -> Self {
        let work = Arc::new(Work::new(asked, recorder.is_traced()));
        Self { id: recorder.began(&work), work, recorder: recorder.clone() }
    }

    /// Has a future work on it.
    pub async fn working<F: Future>(&self, work: F) -> F::Output {
        NOW.scope(self.work.clone(), work).await
    }

    /// Notes that rows flow: from now on it is at the client's pace.
    pub fn sends(&self) {
        self.work.turn(Stage::Send);
    }

    /// Ends it, once.
    pub fn end(&self, ended: Ended, rows: u64) {
        let mut state = self.work.state();
        if state.ended.is_some() {
            return;
        }
        let now = Instant::now();
        self.work.note(&mut state, now);
        state.rows = rows;
        state.ended = Some((ended, now));
        drop(state);
        self.recorder.ended(self.id, &self.work);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let rows = self.work.state().rows;
        self.end(Ended::Early, rows);
    }
}

/// The statement of this task is in a stage until this goes; then it is in the one before again.
#[must_use]
pub struct Step(Option<(Arc<Work>, Stage)>);

impl Drop for Step {
    fn drop(&mut self) {
        if let Some((work, before)) = self.0.take() {
            work.turn(before);
        }
    }
}

/// The statement of this task, if it has one, goes on to a stage.
pub fn step(stage: Stage) -> Step {
    let now = NOW.try_with(Arc::clone).ok();
    Step(now.and_then(|work| work.turn(stage).map(|before| (work, before))))
}

/// Notes the outcome of the statement of this task. A statement that is paid for in part is paid
/// for.
pub fn answered(outcome: Outcome) {
    let _ = NOW.try_with(|work| {
        let mut state = work.state();
        if state.answered != Some(Outcome::Fresh) {
            state.answered = Some(outcome);
        }
    });
}

/// The statement of this task was paid for, whether or not somebody still waits for it.
pub fn paid(price: Price) {
    answered(Outcome::Fresh);
    let _ = NOW.try_with(|work| work.state().prices.push(price));
}

/// Releases of the statement of this task were looked for among kept answers.
pub fn looked(found: usize, missing: usize) {
    let _ = NOW.try_with(|work| {
        let looked = &mut work.state().looked;
        looked.0 += found as u64;
        looked.1 += missing as u64;
    });
}

/// A future that works on the statement of this task in another one.
pub fn inherited<F: Future>(work: F) -> impl Future<Output = F::Output> {
    let now = NOW.try_with(Arc::clone).ok();
    let held = held();
    async move {
        let work = async {
            match now {
                Some(now) => NOW.scope(now, work).await,
                None => work.await,
            }
        };
        match held {
            Some(held) => holding(held, work).await,
            None => work.await,
        }
    }
}
