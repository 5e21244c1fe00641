//! Turns: of the large statements of one user one is worked on at a time, and the others wait, in
//! the order of their arrival. To parse and plan one takes a processor for as long as a hundred
//! others take. A user who keeps the processors at that waits the longer between two of them, as
//! long as others ask, too.

use answer::PerUser;
use std::future::poll_fn;
use std::num::NonZero;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::sleep_until;

/// Bytes of a text that is large.
const LARGE_TEXT: usize = 32 * 1024;
/// Bytes of a plan that is large.
const LARGE_PLAN: usize = 4 << 20;

/// A turn lasts no longer: whatever takes more waits for the database or for its reader, and not for a processor.
const LONGEST: Duration = Duration::from_secs(2);

/// Of the processors, one user keeps one part in so many at parsing and planning while others ask.
const PARTS: u32 = 16;
/// What takes less is nothing that anybody waits for.
const BRIEF: Duration = Duration::from_millis(1);
/// Nobody rests for longer than this from what they did.
const LONGEST_REST: Duration = Duration::from_secs(5);
/// A statement that is not large begins this much before its user has rested.
const EARLY: Duration = Duration::from_secs(1);
/// For how long somebody who has asked is one of those who ask.
const RECENT: Duration = Duration::from_secs(10);

/// Turns of all users.
#[derive(Debug, Default)]
pub(super) struct Turns(Arc<PerUser<User>>);

/// The turns of one user.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    user: Arc<User>,
    all: Arc<PerUser<User>>,
}

#[derive(Debug)]
struct User {
    large: Arc<Semaphore>,
    times: Mutex<Times>,
}

#[derive(Clone, Copy, Debug)]
struct Times {
    asked: Instant,
    /// When what was done for the user is no more than its part.
    rested: Instant,
}

impl User {
    fn new() -> Self {
        let now = Instant::now();
        Self { large: Arc::new(Semaphore::new(1)), times: Mutex::new(Times { asked: now, rested: now }) }
    }

    fn change<T>(&self, by: impl FnOnce(&mut Times) -> T) -> T {
        by(&mut self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn asked_lately(&self, now: Instant) -> bool {
        self.change(|t| now.saturating_duration_since(t.asked) <= RECENT)
    }

    /// A processor of so many was kept for so long.
    fn took(&self, time: Duration, processors: usize, now: Instant) {
        let rest = time.saturating_mul(PARTS) / u32::try_from(processors).unwrap_or(u32::MAX);
        self.change(|t| t.rested = (t.rested.max(now) + rest.saturating_sub(time)).min(now + LONGEST_REST));
    }
}

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
    /// Turns of this user.
    pub fn of(&self, user: &str) -> Turn {
        Turn { user: self.0.of(user, User::new), all: self.0.clone() }
    }
}

impl Turn {
    /// Waits for a turn, for a text of this many bytes; None when it needs none.
    pub async fn for_text(&self, bytes: usize) -> Option<Taken> {
        self.wait(bytes >= LARGE_TEXT).await
    }

    /// Waits for a turn, for a plan of this many bytes; None when it needs none.
    pub async fn for_plan(&self, bytes: usize) -> Option<Taken> {
        self.wait(bytes >= LARGE_PLAN).await
    }

    async fn wait(&self, large: bool) -> Option<Taken> {
        // It is never closed.
        let permit = if large { self.user.large.clone().acquire_owned().await.ok() } else { None };
        if let Some(until) = self.rests(large, Instant::now()) {
            sleep_until(until.into()).await;
        }
        permit.map(Taken::new)
    }

    /// Until when a statement that is asked now waits, because others ask, too.
    fn rests(&self, large: bool, now: Instant) -> Option<Instant> {
        let rested = self.user.change(|t| {
            t.asked = now;
            t.rested
        });
        let until = if large { Some(rested) } else { rested.checked_sub(EARLY) };
        let other = |user: &User| !std::ptr::eq(user, &*self.user) && user.asked_lately(now);
        until.filter(|until| *until > now && self.all.any(other))
    }

    /// Does a session's work, and notes for how long it keeps a processor at a time.
    pub async fn noted<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|cx| {
            let begun = Instant::now();
            let done = work.as_mut().poll(cx);
            let took = begun.elapsed();
            if took > BRIEF {
                let processors = available_parallelism().map_or(1, NonZero::get);
                self.user.took(took, processors, Instant::now());
            }
            done
        })
        .await
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

    #[test]
    fn who_keeps_the_processors_rests_while_others_ask() {
        let turns = Turns::default();
        let (eve, again) = (turns.of("eve"), turns.of("eve"));
        let (now, moment) = (Instant::now() + EARLY, Duration::from_millis(100));
        eve.user.took(moment, 2, now);
        assert_eq!(again.rests(true, now), None, "nobody else is there");
        // An eighth of one of two processors: seven times as long as it took.
        let ada = turns.of("ada");
        assert_eq!(ada.rests(true, now), None);
        assert_eq!(again.rests(true, now), Some(now + moment * 7));
        assert_eq!(again.rests(true, now + moment * 7), None, "it has rested");
        assert_eq!(again.rests(false, now), None, "small statements wait for no short rest");
        // What was done adds up, and nobody rests for ever.
        eve.user.took(moment, 2, now);
        assert_eq!(again.rests(true, now), Some(now + moment * 14));
        eve.user.took(LONGEST_REST, 2, now);
        assert_eq!(again.rests(true, now), Some(now + LONGEST_REST));
        assert_eq!(again.rests(false, now), Some(now + LONGEST_REST - EARLY));
        // Ada asked a while ago.
        let later = now + RECENT * 2;
        eve.user.took(moment, 2, later);
        assert_eq!(again.rests(true, later), None);
        // A large machine has processors for everybody.
        ada.user.took(moment, 16, later);
        assert_eq!(ada.rests(true, later), None);
    }

    #[tokio::test]
    async fn what_is_brief_is_not_noted() {
        let turns = Turns::default();
        let (eve, ada) = (turns.of("eve"), turns.of("ada"));
        drop(ada.for_text(1).await);
        eve.noted(async {}).await;
        assert_eq!(eve.rests(true, Instant::now()), None);
        let begun = Instant::now();
        eve.noted(async { std::thread::sleep(BRIEF * 20) }).await;
        let small = available_parallelism().is_ok_and(|n| n.get() < 16);
        assert_eq!(eve.rests(true, begun).is_some(), small);
    }
}
