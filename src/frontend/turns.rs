//! Turns: of the large statements of one user one is worked on at a time, and the others wait, in the order in which they came.
//! To parse and plan one takes a processor for as long as a hundred others take.

use answer::PerUser;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bytes of a text that is large.
const LARGE_TEXT: usize = 32 * 1024;
/// Bytes of a plan that is large.
const LARGE_PLAN: usize = 4 << 20;

/// Who has a turn.
#[derive(Debug, Default)]
pub(super) struct Turns(PerUser<Semaphore>);

/// The turns of one user.
#[derive(Clone, Debug)]
pub(super) struct Turn(Arc<Semaphore>);

impl Turns {
    /// Those of this user.
    pub fn of(&self, user: &str) -> Turn {
        Turn(self.0.of(user, || Semaphore::new(1)))
    }
}

impl Turn {
    /// Waits for a turn, for a text of so many bytes; None where it needs none.
    pub async fn for_text(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.wait(bytes >= LARGE_TEXT).await
    }

    /// Waits for a turn, for a plan of so many bytes; None where it needs none.
    pub async fn for_plan(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        self.wait(bytes >= LARGE_PLAN).await
    }

    async fn wait(&self, large: bool) -> Option<OwnedSemaphorePermit> {
        // It is never closed.
        if large { self.0.clone().acquire_owned().await.ok() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn a_user_has_one_turn_and_small_statements_need_none() {
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
