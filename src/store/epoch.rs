//! When the data was read, as far as answers are told apart by it.
//!
//! Soundness rule 27: an epoch ends by the clock, by the owner's command, or by a NOTIFY from a load job, and never by
//! what a row does: whether an answer is fresh, and so what it costs, would be a function of one person's insert.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An epoch. Answers of different epochs are different answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Which span of the clock, and how long these are; none without a clock.
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

    /// At this moment. `ended`: how often it was ended by hand.
    pub fn at(now: SystemTime, refresh: Option<Duration>, ended: u64) -> Self {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let clock = refresh.map(|length| {
            let length = length.as_millis().max(1);
            let narrow = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
            (narrow(since / length), narrow(length))
        });
        Self { clock, ended }
    }
}

/// How often this process was told that the data is new.
#[derive(Debug, Default)]
pub struct Ended(AtomicU64);

impl Ended {
    /// Ends the epoch.
    pub fn end(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    /// How often.
    pub fn times(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_27_an_epoch_ends_by_the_clock_or_by_hand() {
        let day = Duration::from_secs(86_400);
        let at = |seconds: u64, ended| Epoch::at(UNIX_EPOCH + Duration::from_secs(seconds), Some(day), ended);
        assert_eq!(at(86_400, 0), at(2 * 86_400 - 1, 0));
        assert_ne!(at(86_400, 0), at(86_399, 0));
        assert_ne!(at(86_400, 0), at(86_400, 1));
        let hour = Epoch::at(UNIX_EPOCH + day, Some(Duration::from_secs(3_600)), 0);
        assert_ne!(hour, at(86_400, 0), "spans of another length are other spans");
        let never = |seconds| Epoch::at(UNIX_EPOCH + Duration::from_secs(seconds), None, 3);
        assert_eq!(never(0), never(1 << 40));
        let ended = Ended::default();
        ended.end();
        assert_eq!(ended.times(), 1);
    }
}
