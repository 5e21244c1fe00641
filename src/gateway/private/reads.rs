//! Places for reads of private rows (soundness rules 18 and 39): a read that fails is outside the guarantee, so nobody
//! may provoke many.
//!
//! The ledger counts: a read under way holds one of the failures that its user may have in a day, and gives it back when
//! it has ended well. Here is who waits while all of them are held. A user's statements queue for them in the order in
//! which they came, without a connection to the database; after the statement's timeout they are refused.

use crate::gateway::Gateway;
use answer::{ClientError, SqlState};
use backend::{Answers, FetchError, FetchRequest, FetchText, Fingerprint, Opened, Place, Sieve};
use ledger::{ReadPlace, ReadTerms};
use record::Stage;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;

/// The time for which the books believe that a read is under way without hearing of it again.
const LEASE: Duration = Duration::from_secs(15);

/// The time for which another process's reads are believed to be under way without asking the books
/// again.
const PAUSE: Duration = Duration::from_millis(250);

/// Opens a fetch, up to the first private row: a database that is away, or was altered, must not
/// cost anything.
pub async fn opened(
    gateway: &Gateway,
    tables: &[usize],
    statements: Vec<FetchText>,
    fingerprint: Fingerprint,
) -> Result<Opened, ClientError> {
    let max_rows = gateway.policy.limits.max_result_groups;
    let request = FetchRequest { statements, fingerprint: Some(fingerprint), max_rows };
    let _fetching = record::step(Stage::Fetch);
    match gateway.backend.open(request).await {
        Ok(opened) => Ok(opened),
        Err(e) => Err(gateway.fingerprints.told(&gateway.backend, &gateway.policy, tables, e).await),
    }
}

/// Reads, and counts it: what fails is a failure of the user from the first row on. A change of the schema is not, since
/// no analyst makes one and no row says whether it happens; nor is the fall of the whole database, which is nobody's (soundness
/// rule 56).
pub async fn counted(
    gateway: &Gateway,
    tables: &[usize],
    opened: Opened,
    sieves: Vec<Option<Sieve>>,
    place: &mut ReadPlace,
) -> Result<Answers, ClientError> {
    place.begin();
    let begun = Instant::now();
    let read = opened.read_through(sieves).await;
    if let Some(quantum) = gateway.policy.answers.quantum {
        tokio::time::sleep(until_next(begun.elapsed(), quantum)).await;
    }
    // How many groups were kept is a released number.
    if matches!(read, Err(FetchError::SchemaChanged | FetchError::Many(_) | FetchError::Fell(_))) {
        place.never_failed();
    }
    match read {
        Ok(answers) => Ok(answers),
        Err(e) => Err(gateway.fingerprints.told(&gateway.backend, &gateway.policy, tables, e).await),
    }
}

/// The time from now until the next multiple of the quantum after the read began: what is told of how long it took is how many of
/// these there were. Whether it failed is told, too, but not when.
fn until_next(elapsed: Duration, quantum: Duration) -> Duration {
    let (elapsed, quantum) = (elapsed.as_nanos(), quantum.as_nanos().max(1));
    let left = quantum - elapsed % quantum;
    Duration::from_nanos(u64::try_from(left).unwrap_or(u64::MAX))
}

/// A statement's turn to read, and its patience until it has a place in the books.
pub struct Turn<'g> {
    gateway: &'g Gateway,
    user: &'g str,
    deadline: Instant,
    pub permit: Arc<Permit>,
}

/// A place among a user's reads, in the books and in the database.
pub struct Permit {
    _queued: OwnedSemaphorePermit,
    _place: Place,
}

impl Gateway {
    /// Refuses a user of whom too many reads have failed, before anything else is done.
    pub(in crate::gateway) fn check_failures(&self, user: &str) -> Result<(), ClientError> {
        self.ledger.check_failures(user, self.policy.limits.max_backend_errors).map_err(|r| r.client())
    }

    /// On what terms a statement may read.
    pub(in crate::gateway) fn read_terms(&self) -> ReadTerms {
        ReadTerms { limit: self.policy.limits.max_backend_errors, lease: LEASE }
    }

    /// Waits until fewer of the user's statements are about to read here than may fail.
    pub(in crate::gateway) async fn turn_to_read<'g>(
        &'g self,
        user: &'g str,
    ) -> Result<Turn<'g>, ClientError> {
        let deadline = Instant::now() + self.policy.backend.statement_timeout;
        // The books decide; this keeps order among those who would ask them.
        let places = usize::try_from(self.policy.limits.max_backend_errors).unwrap_or(usize::MAX);
        let queue = self.queues.of(user, places);
        let left = deadline.saturating_duration_since(Instant::now());
        let _waiting = record::step(record::Stage::Place);
        match tokio::time::timeout(left, queue.acquire_owned()).await {
            Ok(Ok(queued)) => {
                let left = deadline.saturating_duration_since(Instant::now());
                let place = self.backend.place_to_read(user, left).await?;
                // Those before it may have failed.
                self.check_failures(user)?;
                let permit = Permit { _queued: queued, _place: place };
                Ok(Turn { gateway: self, user, deadline, permit: permit.into() })
            }
            Ok(Err(_)) | Err(_) => Err(busy()),
        }
    }
}

impl Turn<'_> {
    /// The books have no place: some are held by failures, or by reads at another proxy. Returns when it is worth
    /// asking again.
    pub async fn wait(&self) -> Result<(), ClientError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(busy());
        }
        let _waiting = record::step(record::Stage::Place);
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
    fn reads_end_at_multiples_of_the_quantum() {
        let ms = Duration::from_millis;
        for (elapsed, end) in [(1, 100), (99, 100), (100, 200), (101, 200), (950, 1000)] {
            assert_eq!(ms(elapsed) + until_next(ms(elapsed), ms(100)), ms(end), "{elapsed}");
        }
    }
}
