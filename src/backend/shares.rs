//! Shares of each user in the database: a number of statements at once on each login, and fewer
//! after a while, when others ask, too. A share is of time as well as of places: a user who keeps
//! the database at work leaves the others less of its processors.

use super::error::RelayError;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Over how long what runs is averaged, as a system's load is.
const MEMORY: Duration = Duration::from_secs(15);
/// For how long somebody who has asked is one of those who ask.
const RECENT: Duration = Duration::from_secs(10);
/// Rounding is no load.
const SLACK: f64 = 0.01;
/// The part of the steady load below which a user has rested.
const RESTED: f64 = 0.75;
/// A load that nobody remembers.
const NOTHING: f64 = 0.001;

/// Numbers of statements of one user that run at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtOnce {
    /// On each login.
    pub(super) most: u32,
    /// Of those that keep on, while others ask.
    pub(super) steady: u32,
}

/// The shares of all users.
#[derive(Debug)]
pub(super) struct Shares {
    at_once: AtOnce,
    users: Mutex<HashMap<String, Arc<Share>>>,
}

/// One user's.
#[derive(Debug)]
struct Share {
    /// Places on the login that reads private rows, and on the other.
    fetch: Arc<Semaphore>,
    finish: Arc<Semaphore>,
    load: Mutex<Load>,
}

/// How much of a user runs.
#[derive(Debug)]
struct Load {
    running: u32,
    /// The mean of `running`, of which what is as old as [`MEMORY`] counts for 1/e.
    mean: f64,
    at: Instant,
    asked: Instant,
    /// It was above what is steady, and has not rested since.
    heavy: bool,
}

/// A login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Fetch,
    Finish,
}

/// A place of a user for one statement, until this goes.
#[derive(Debug)]
pub struct Place {
    share: Arc<Share>,
    _permit: OwnedSemaphorePermit,
}

impl Load {
    fn new(now: Instant) -> Self {
        Self { running: 0, mean: 0.0, at: now, asked: now, heavy: false }
    }

    /// Up to now.
    fn follow(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64() / MEMORY.as_secs_f64();
        let kept = (-passed).exp();
        self.mean = self.mean * kept + f64::from(self.running) * (1.0 - kept);
        self.at = now;
    }
}

impl Share {
    fn new(most: u32, now: Instant) -> Self {
        let places = || Arc::new(Semaphore::new(usize::try_from(most).unwrap_or(usize::MAX)));
        Self { fetch: places(), finish: places(), load: Mutex::new(Load::new(now)) }
    }

    fn load(&self, now: Instant) -> MutexGuard<'_, Load> {
        let mut load = self.load.lock().unwrap_or_else(PoisonError::into_inner);
        load.follow(now);
        load
    }

    fn asked_lately(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.load(now).asked) <= RECENT
    }

    fn is_forgotten(&self, now: Instant) -> bool {
        let load = self.load(now);
        let idle = load.running == 0 && load.mean < NOTHING;
        drop(load);
        idle && !self.asked_lately(now)
    }

    fn begins(&self, now: Instant) {
        self.load(now).running += 1;
    }

    fn ends(&self, now: Instant) {
        let mut load = self.load(now);
        load.running = load.running.saturating_sub(1);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.share.ends(Instant::now());
    }
}

impl Shares {
    pub(super) fn new(at_once: AtOnce) -> Self {
        let most = at_once.most.max(1);
        Self { at_once: AtOnce { most, steady: at_once.steady.clamp(1, most) }, users: Mutex::default() }
    }

    /// A place for a statement of this user, waited for no longer than `patience`.
    ///
    /// # Errors
    /// [`RelayError::Share`].
    pub(super) async fn place(
        &self,
        user: &str,
        side: Side,
        patience: Duration,
    ) -> Result<Place, RelayError> {
        let (share, takes) = self.of(user, Instant::now());
        let places = if side == Side::Fetch { &share.fetch } else { &share.finish };
        let permit = match timeout(patience, places.clone().acquire_many_owned(takes)).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(_)) | Err(_) => return Err(RelayError::Share),
        };
        share.begins(Instant::now());
        Ok(Place { share, _permit: permit })
    }

    /// The share of a user, and how many of its places a statement takes now: more than one where the user's statements have
    /// kept the database at work for a while, and others ask, too.
    fn of(&self, user: &str, now: Instant) -> (Arc<Share>, u32) {
        let AtOnce { most, steady } = self.at_once;
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let share = match users.get(user) {
            Some(share) => share.clone(),
            None => {
                users.retain(|_, share| !share.is_forgotten(now));
                let share = Arc::new(Share::new(most, now));
                users.insert(user.to_owned(), share.clone());
                share
            }
        };
        let heavy = {
            let mut load = share.load(now);
            load.asked = now;
            let bound = f64::from(steady);
            // Who runs as many as are steady stays at them.
            load.heavy = if load.heavy { load.mean > RESTED * bound } else { load.mean > bound + SLACK };
            load.heavy
        };
        let asks = |(name, share): (&String, &Arc<Share>)| name != user && share.asked_lately(now);
        let keeps_on = heavy && users.iter().any(asks);
        (share, if keeps_on { most.div_ceil(steady) } else { 1 })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    const BRIEFLY: Duration = Duration::from_millis(1);

    fn shares() -> Shares {
        Shares::new(AtOnce { most: 4, steady: 1 })
    }

    #[tokio::test]
    async fn each_login_has_places_and_each_user_their_own() {
        let shares = shares();
        let mut held = Vec::new();
        while let Ok(place) = shares.place("eve", Side::Finish, BRIEFLY).await {
            held.push(place);
        }
        assert_eq!(held.len(), 4);
        shares.place("eve", Side::Fetch, BRIEFLY).await.unwrap();
        shares.place("ada", Side::Finish, BRIEFLY).await.unwrap();
        held.pop();
        shares.place("eve", Side::Finish, BRIEFLY).await.unwrap();
        assert_eq!(shares.of("eve", Instant::now()).0.load(Instant::now()).running, 3);
    }

    #[test]
    fn who_keeps_on_has_fewer_places_while_others_ask_and_all_again_later() {
        let (shares, begun) = (shares(), Instant::now());
        let eve = shares.of("eve", begun).0;
        (0..4).for_each(|_| eve.begins(begun));
        let later = begun + MEMORY;
        (0..4).for_each(|_| eve.ends(later));
        assert_eq!(shares.of("eve", later).1, 1, "nobody else asks");
        assert_eq!(shares.of("ada", later).1, 1);
        assert_eq!(shares.of("eve", later).1, 4, "each takes all places");
        assert_eq!(shares.of("eve", later + 2 * RECENT).1, 1, "the other has gone");
        let rested = later + 2 * MEMORY;
        shares.of("ada", rested);
        assert_eq!(shares.of("eve", rested).1, 1, "it has rested");
    }

    #[test]
    fn who_goes_on_with_one_has_not_rested() {
        let (shares, mut now) = (shares(), Instant::now());
        let eve = shares.of("eve", now).0;
        (0..4).for_each(|_| eve.begins(now));
        now += MEMORY;
        (0..3).for_each(|_| eve.ends(now));
        for _ in 0..100 {
            now += RECENT / 2;
            shares.of("ada", now);
            assert_eq!(shares.of("eve", now).1, 4);
        }
    }

    #[test]
    fn one_statement_at_a_time_is_never_too_much() {
        let (shares, mut now) = (shares(), Instant::now());
        let eve = shares.of("eve", now).0;
        eve.begins(now);
        for _ in 0..1_000 {
            now += RECENT / 2;
            shares.of("ada", now);
            assert_eq!(shares.of("eve", now).1, 1);
        }
    }

    #[test]
    fn who_is_gone_is_forgotten() {
        let (shares, now) = (shares(), Instant::now());
        shares.of("eve", now).0.begins(now);
        shares.of("ada", now + 20 * MEMORY);
        assert!(shares.users.lock().unwrap().contains_key("eve"), "a statement runs");
        shares.of("eve", now).0.ends(now + MEMORY);
        shares.of("bob", now + 30 * MEMORY);
        assert!(!shares.users.lock().unwrap().contains_key("eve"));
    }
}
