//! Reads of private rows, counted as failures from when they begin until they have ended well (soundness rule 39).
//!
//! A read that fails tells something that no noise hides, so nobody may provoke many. Counting failures after the fact
//! lets as many happen as run at once. So each read takes one of the places that its user has for failures in a day,
//! before its first row, and gives it back when it has ended well. What was cancelled and what nobody waited for keeps
//! its place.
//!
//! A place is held under a short lease, which is renewed while the read is under way. What was never heard of again was under way when
//! a proxy died, which is nobody's failure (soundness rule 56): it takes no place when its lease is over, or when
//! the next process opens a file that only one may open, and those who wait for what it paid for go on. A proxy that was only slow
//! still says of its reads that they failed: the list has them for a day.
//!
//! The books have the list, beside the chain of entries: a debit and the place of its read are made durable by one
//! commit. Giving a place back is written without a sync, because losing that errs on the safe side.

use super::error::Refusal;
use super::log::{PrivateRead, ReadChange};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// For how long a failure counts, in microseconds.
const DAY: i64 = 86_400_000_000;

/// On what terms a read may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTerms {
    /// Failures of a user in a day, reads under way among them.
    pub limit: u32,
    /// Time after which a read that was not heard of is no longer taken for one under way: its
    /// process is gone. It is heard of three times as often.
    pub lease: Duration,
}

/// Whether a user's next read may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The user may read.
    Free,
    /// All places that are left are those of reads under way.
    Full,
    /// As many have failed as may.
    Suspended,
}

/// Standing of a user, by the list.
pub(super) fn standing(reads: &[PrivateRead], user: &str, now: i64, limit: u32) -> Standing {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let counts = |r: &&PrivateRead| r.user == user && !is_past(r, now) && (r.failed || r.until > now);
    if failures(reads, user, now) >= limit {
        Standing::Suspended
    } else if reads.iter().filter(counts).count() >= limit {
        Standing::Full
    } else {
        Standing::Free
    }
}

/// Reads of the last day that failed.
pub(super) fn failures(reads: &[PrivateRead], user: &str, now: i64) -> usize {
    let failed = |r: &&PrivateRead| r.user == user && !is_past(r, now) && r.failed;
    reads.iter().filter(failed).count()
}

/// Whether it counts no more.
pub(super) fn is_past(read: &PrivateRead, now: i64) -> bool {
    read.began <= now.saturating_sub(DAY)
}

/// The list with a change.
pub(super) fn apply(reads: &mut Vec<PrivateRead>, change: &ReadChange) {
    match change {
        ReadChange::Reserve(read) => reads.push(read.clone()),
        ReadChange::Fail(id) => reads.iter_mut().filter(|r| r.id == *id).for_each(|r| r.failed = true),
        ReadChange::Remove(id) => reads.retain(|r| r.id != *id),
    }
}

/// The list as the writer saw it last.
#[derive(Default)]
pub(super) struct Seen {
    reads: Mutex<Vec<PrivateRead>>,
    changed: Notify,
}

impl Seen {
    pub(super) fn publish(&self, reads: Vec<PrivateRead>) {
        let mut seen = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen != reads {
            *seen = reads;
            drop(seen);
            self.changed.notify_waiters();
        }
    }

    pub(super) fn standing(&self, user: &str, now: i64, limit: u32) -> Standing {
        standing(&self.reads.lock().unwrap_or_else(PoisonError::into_inner), user, now, limit)
    }

    /// Returns when the list has changed, or after a while: another process may have changed it.
    pub(super) async fn change(&self, patience: Duration) {
        let _ = tokio::time::timeout(patience, self.changed.notified()).await;
    }
}

/// Refuses who has no place left for failures.
pub(super) fn refuse_suspended(standing: Standing) -> Result<(), Refusal> {
    match standing {
        Standing::Suspended => Err(Refusal::Suspended),
        Standing::Free | Standing::Full => Ok(()),
    }
}

/// Entry of the list for a read.
pub(super) fn reserved(id: &str, user: &str, now: i64, terms: ReadTerms) -> PrivateRead {
    let lease = super::time::micros(terms.lease);
    PrivateRead {
        id: id.to_owned(),
        user: user.to_owned(),
        began: now,
        until: now.saturating_add(lease),
        failed: false,
    }
}

/// Shared with the writer.
pub(super) type SharedSeen = Arc<Seen>;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(id: &str, began: i64, failed: bool) -> PrivateRead {
        PrivateRead { id: id.into(), user: "eve".into(), began, until: began + 10, failed }
    }

    #[test]
    fn rule_39_reads_under_way_take_the_places_of_failures() {
        let reads = [read("a", 100, false), read("b", 100, true)];
        assert_eq!(standing(&reads, "eve", 105, 3), Standing::Free);
        assert_eq!(standing(&reads, "eve", 105, 2), Standing::Full);
        assert_eq!(standing(&reads, "eve", 105, 1), Standing::Suspended);
        assert_eq!(standing(&reads, "ada", 105, 1), Standing::Free);
        // Nobody heard of it within its lease: who made it is gone.
        assert_eq!(standing(&reads, "eve", 110, 2), Standing::Free);
        assert_eq!(standing(&[read("a", 100, true)], "eve", 110, 1), Standing::Suspended);
        // A day later.
        assert_eq!(standing(&reads, "eve", 100 + DAY, 1), Standing::Free);
    }
}
