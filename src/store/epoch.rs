//! When the data was read, as far as answers are told apart by it.
//!
//! Soundness rule 27: an epoch ends by the clock, by the owner's command, or by a NOTIFY from a load job, and never by
//! what a row does: whether an answer is fresh, and so what it costs, would be a function of one person's insert. The
//! ledger counts what is ended by hand, for all proxies that share it, and its clock is theirs.

use ledger::{self, Ledger, Refusal};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the ledger's count is believed: another proxy may have ended an epoch.
const BELIEVED: Duration = Duration::from_secs(1);

/// An epoch. Answers of different epochs are different answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Epoch {
    /// Which span of the clock, and how long these are in milliseconds; none without a clock.
    clock: Option<(u64, u64)>,
    /// How often it was ended by hand.
    ended: u64,
}

impl Epoch {
    /// Calls `f` for each thing that tells it from others.
    pub fn each(&self, mut f: impl FnMut(&str)) {
        match self.clock {
            None => f("no clock"),
            Some((span, length)) => f(&format!("span {span} of {length} ms")),
        }
        f(&format!("ended {} times", self.ended));
    }

    /// At this moment, in microseconds since 1970. `ended`: how often it was ended by hand.
    pub fn at(now: i64, refresh: Option<Duration>, ended: u64) -> Self {
        let since = u64::try_from(now).unwrap_or(0) / 1_000;
        let clock = refresh.map(|length| {
            let length = u64::try_from(length.as_millis()).unwrap_or(u64::MAX).max(1);
            (since / length, length)
        });
        Self { clock, ended }
    }
}

/// Epoch that the ledger told last, and when.
#[derive(Debug, Default)]
pub(super) struct EpochCache(Mutex<Option<(Instant, ledger::Epoch)>>);

impl EpochCache {
    /// The epoch at this moment.
    pub(super) async fn now(&self, ledger: &Ledger, refresh: Option<Duration>) -> Result<Epoch, Refusal> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, epoch) = match known.filter(|(at, _)| at.elapsed() < BELIEVED) {
            Some(known) => known,
            None => {
                let at = Instant::now();
                let epoch = ledger.epoch().await?;
                self.learn(at, epoch);
                (at, epoch)
            }
        };
        let passed = i64::try_from(at.elapsed().as_micros()).unwrap_or(i64::MAX);
        Ok(Epoch::at(epoch.now.saturating_add(passed), refresh, epoch.number))
    }

    fn learn(&self, at: Instant, epoch: ledger::Epoch) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Who was slower knows less.
        if known.is_none_or(|(_, known)| known.number <= epoch.number) {
            *known = Some((at, epoch));
        }
    }

    /// Ends the epoch of this number, if nobody else has.
    pub(super) async fn end(
        &self,
        ledger: &Ledger,
        from: u64,
        author: &str,
        reason: &str,
    ) -> Result<(), Refusal> {
        let at = Instant::now();
        self.learn(at, ledger.refresh(from, author, reason).await?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_27_an_epoch_ends_by_the_clock_or_by_hand() {
        let day = Duration::from_secs(86_400);
        let at = |seconds: i64, ended| Epoch::at(seconds * 1_000_000, Some(day), ended);
        assert_eq!(at(86_400, 0), at(2 * 86_400 - 1, 0));
        assert_ne!(at(86_400, 0), at(86_399, 0));
        assert_ne!(at(86_400, 0), at(86_400, 1));
        let hour = Epoch::at(86_400_000_000, Some(Duration::from_secs(3_600)), 0);
        assert_ne!(hour, at(86_400, 0), "spans of another length are other spans");
        assert_eq!(Epoch::at(0, None, 3), Epoch::at(i64::MAX, None, 3));
        assert_ne!(Epoch::at(0, None, 3), Epoch::at(0, None, 2));
    }
}
