//! Turns: of the large statements of one user one is worked on at a time, and the others wait, in the order in which they came.
//! To parse and plan one takes a processor for as long as a hundred others take.

use answer::PerUser;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

/// Bytes of a text that is large.
const LARGE_TEXT: usize = 32 * 1024;
/// Bytes of a plan that is large.
const LARGE_PLAN: usize = 4 << 20;

/// A turn lasts no longer: whatever takes more waits for the database or for its reader, and not for a processor.
const LONGEST: Duration = Duration::from_secs(2);

/// Who has a turn.
#[derive(Debug, Default)]
pub(super) struct Turns(PerUser<Semaphore>);

/// The turns of one user.
#[derive(Clone, Debug)]
pub(super) struct Turn(Arc<Semaphore>);

/// A turn that somebody has, until this goes or its time is over.
#[derive(Debug)]
pub(super) struct Taken {
    permit: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    timer: JoinHandle<()>,
}

impl Taken {
    fn new(permit: OwnedSemaphorePermit) -> Self {
        let permit = Arc::new(Mutex::new(Some(permit)));
        let timed = permit.clone();
        let timer = tokio::spawn(async move {
            tokio::time::sleep(LONGEST).await;
            give_back(&timed);
        });
        Self { permit, timer }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.timer.abort();
        give_back(&self.permit);
    }
}

fn give_back(permit: &Mutex<Option<OwnedSemaphorePermit>>) {
    drop(permit.lock().unwrap_or_else(PoisonError::into_inner).take());
}

impl Turns {
    /// Those of this user.
    pub fn of(&self, user: &str) -> Turn {
        Turn(self.0.of(user, || Semaphore::new(1)))
    }
}

impl Turn {
    /// Waits for a turn, for a text of so many bytes; None where it needs none.
    pub async fn for_text(&self, bytes: usize) -> Option<Taken> {
        self.wait(bytes >= LARGE_TEXT).await
    }

    /// Waits for a turn, for a plan of so many bytes; None where it needs none.
    pub async fn for_plan(&self, bytes: usize) -> Option<Taken> {
        self.wait(bytes >= LARGE_PLAN).await
    }

    async fn wait(&self, large: bool) -> Option<Taken> {
        // It is never closed.
        if large { self.0.clone().acquire_owned().await.ok().map(Taken::new) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn a_turn_ends_when_its_time_is_over() {
        let turns = Turns::default();
        let eve = turns.of("eve");
        let _held = eve.for_text(LARGE_TEXT).await;
        let waited = tokio::time::timeout(LONGEST * 3, eve.for_text(LARGE_TEXT)).await;
        assert!(waited.is_ok_and(|turn| turn.is_some()));
    }

    #[tokio::test]
    async fn a_user_has_one_turn_and_small_statements_need_none() {
        let turns = Turns::default();
        let (eve, again, ada) = (turns.of("eve"), turns.of("eve"), turns.of("ada"));
        let held = eve.for_text(LARGE_TEXT).now_or_never().flatten();
        assert!(held.is_some() && again.for_plan(LARGE_PLAN).now_or_never().is_none());
        assert!(again.for_text(100).now_or_never().is_some_and(|turn| turn.is_none()));
        assert!(ada.for_text(LARGE_TEXT).now_or_never().flatten().is_some());
        drop(held);
        assert!(again.for_plan(LARGE_PLAN).now_or_never().flatten().is_some());
    }
}
