//! Places for reads of private rows (soundness rules 18 and 39): a read that fails is outside the guarantee, so nobody
//! may provoke many.
//!
//! The ledger counts: a read under way holds one of the failures that its user may have in a day, and gives it back when
//! it has ended well. Here is who waits while all of them are held. A user's statements queue for them in the order in
//! which they came, without a connection to the database; after the statement's timeout they are refused.

use super::Gateway;
use answer::{ClientError, SqlState};
use backend::{Answers, FetchError, Opened};
use ledger::{ReadPlace, ReadTerms};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long the books believe that a read is under way without hearing of it again.
const LEASE: Duration = Duration::from_secs(15);

/// How long another process's reads are believed to be under way without asking the books again.
const PAUSE: Duration = Duration::from_millis(250);

/// Who reads at this proxy. The books decide; this keeps order among those who would ask them.
#[derive(Default)]
pub(super) struct Queues(Mutex<HashMap<String, Weak<Semaphore>>>);

impl Queues {
    /// The queue of a user, with as many places as reads may fail.
    fn of(&self, user: &str, limit: u32) -> Arc<Semaphore> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(user).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let places = usize::try_from(limit).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        let queue = Arc::new(Semaphore::new(places));
        queues.insert(user.to_owned(), Arc::downgrade(&queue));
        queue
    }
}

/// Reads, and counts it: what fails is a failure of the user from the first row on. A change of the schema is not, since
/// no analyst makes one and no row says whether it happens.
pub(super) async fn counted(
    gateway: &Gateway,
    tables: &[usize],
    opened: Opened,
    place: &mut ReadPlace,
) -> Result<Answers, ClientError> {
    place.begin();
    let read = opened.read().await;
    if matches!(read, Err(FetchError::SchemaChanged)) {
        place.never_failed();
    }
    match read {
        Ok(answers) => Ok(answers),
        Err(e) => Err(gateway.fingerprints.told(&gateway.backend, &gateway.policy, tables, e).await),
    }
}

/// A statement's turn to read, and its patience until it has a place in the books.
pub(super) struct Turn<'g> {
    gateway: &'g Gateway,
    user: &'g str,
    deadline: Instant,
    pub(super) permit: Arc<OwnedSemaphorePermit>,
}

impl Gateway {
    /// Refuses a user of whom too many reads have failed, before anything else is done.
    pub(super) fn check_failures(&self, user: &str) -> Result<(), ClientError> {
        self.ledger.check_failures(user, self.policy.limits.max_backend_errors).map_err(|r| r.client())
    }

    /// On what terms a statement may read.
    pub(super) fn read_terms(&self) -> ReadTerms {
        ReadTerms { limit: self.policy.limits.max_backend_errors, lease: LEASE }
    }

    /// Waits until fewer of the user's statements are about to read here than may fail.
    pub(super) async fn turn_to_read<'g>(&'g self, user: &'g str) -> Result<Turn<'g>, ClientError> {
        let deadline = Instant::now() + self.policy.backend.statement_timeout;
        let queue = self.queues.of(user, self.policy.limits.max_backend_errors);
        let left = deadline.saturating_duration_since(Instant::now());
        match tokio::time::timeout(left, queue.acquire_owned()).await {
            Ok(Ok(permit)) => {
                // Those before it may have failed.
                self.check_failures(user)?;
                Ok(Turn { gateway: self, user, deadline, permit: permit.into() })
            }
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }
}

impl Turn<'_> {
    /// The books have no place: some are held by failures, or by reads at another proxy. Returns when it is worth
    /// asking again.
    pub(super) async fn wait(&self) -> Result<(), ClientError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(busy());
        }
        self.gateway.ledger.place_or_change(left.min(PAUSE)).await;
        self.gateway.check_failures(self.user)
    }
}

fn busy() -> ClientError {
    ClientError::new(
        SqlState::TOO_MANY_CONNECTIONS,
        "as many statements of this user read private rows as may still fail, and none of them ended in time",
    )
    .hint(
        "Ask again when one of them has ended. A read counts as a failure until it has ended well, and \
         limits.max_backend_errors says how many may fail in a day. Nothing was charged.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_queues_of_their_own_for_as_long_as_somebody_is_in_them() {
        let queues = Queues::default();
        let eve = queues.of("eve", 2);
        let _held = eve.try_acquire_many(2).ok();
        assert_eq!(queues.of("eve", 9).available_permits(), 0, "the same queue");
        assert_eq!(queues.of("ada", 2).available_permits(), 2);
        assert_eq!(queues.0.lock().map(|q| q.contains_key("ada")).ok(), Some(true));
        let _bob = queues.of("bob", 2);
        assert_eq!(queues.0.lock().map(|q| q.contains_key("ada")).ok(), Some(false), "nobody is in it");
    }
}
