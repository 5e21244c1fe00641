//! The parts of a statement's way, and how long they took.

use std::time::{Duration, Instant};

/// A part of a statement's way, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Text to syntax tree.
    Parse,
    /// Names, types by PostgreSQL, what is private, sensitivities and price.
    Plan,
    /// Waiting: for a turn among the user's reads, for somebody who pays for the same, for a connection to the database.
    Place,
    /// Answers that are kept, and the debit until it is on disk.
    Ledger,
    /// Private rows.
    Fetch,
    /// Noise, and keeping the answer.
    Noise,
    /// The rest of the statement in PostgreSQL, until its first row.
    Finish,
    /// Rows to the client, at its pace.
    Send,
}

const STAGES: usize = Stage::ALL.len();

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::Parse,
        Self::Plan,
        Self::Place,
        Self::Ledger,
        Self::Fetch,
        Self::Noise,
        Self::Finish,
        Self::Send,
    ];

    /// Word for the stage.
    pub fn word(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Plan => "plan",
            Self::Place => "place",
            Self::Ledger => "ledger",
            Self::Fetch => "fetch",
            Self::Noise => "noise",
            Self::Finish => "finish",
            Self::Send => "send",
        }
    }
}

/// Times of stages. A statement is in one at a time: a stage within another is not counted in that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stages([Duration; STAGES]);

impl Stages {
    /// Of one.
    pub fn of(&self, stage: Stage) -> Duration {
        self.0.get(stage as usize).copied().unwrap_or_default()
    }

    /// Adds to one.
    pub fn add(&mut self, stage: Stage, took: Duration) {
        if let Some(sum) = self.0.get_mut(stage as usize) {
            *sum += took;
        }
    }

    /// Stages that took any time.
    pub fn each(&self) -> impl Iterator<Item = (Stage, Duration)> + '_ {
        Stage::ALL.into_iter().map(|stage| (stage, self.of(stage))).filter(|(_, took)| !took.is_zero())
    }
}

/// In which stage a statement is, and how long the others took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    stage: Stage,
    since: Instant,
    took: Stages,
}

impl Progress {
    pub(crate) fn new(before: Stages, now: Instant) -> Self {
        Self { stage: Stage::Plan, since: now, took: before }
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Goes on to another one; the one before.
    pub(crate) fn turn(&mut self, to: Stage, now: Instant) -> Stage {
        self.took.add(self.stage, now.saturating_duration_since(self.since));
        self.since = now;
        std::mem::replace(&mut self.stage, to)
    }

    /// All until now.
    pub(crate) fn until(&self, now: Instant) -> Stages {
        let mut took = self.took;
        took.add(self.stage, now.saturating_duration_since(self.since));
        took
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_belongs_to_one_stage() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let mut before = Stages::default();
        before.add(Stage::Parse, Duration::from_millis(1));
        let mut progress = Progress::new(before, begun);
        assert_eq!(progress.turn(Stage::Fetch, at(10)), Stage::Plan);
        assert_eq!(progress.turn(Stage::Place, at(12)), Stage::Fetch);
        assert_eq!(progress.turn(Stage::Fetch, at(17)), Stage::Place);
        let each: Vec<_> =
            progress.until(at(20)).each().map(|(s, took)| (s.word(), took.as_millis())).collect();
        assert_eq!(each, [("parse", 1), ("plan", 10), ("place", 5), ("fetch", 5)]);
    }
}
