//! A statement while it runs. Code that works on it finds it by its task, as events find their
//! span: nothing between the wire and the database has to hand it on.

use crate::asked::{Asked, Ended, Price};
use crate::held::{held, holding};
use crate::outcome::Outcome;
use crate::recorder::Recorder;
use crate::stage::Stage;
use crate::work::Work;
use std::sync::Arc;

tokio::task_local! {
    /// The statement that this task works on.
    static NOW: Arc<Work>;
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
        if self.work.end(ended, rows) {
            self.recorder.ended(self.id, &self.work);
        }
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
