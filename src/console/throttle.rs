//! Throttle on guesses of passwords: after a few wrong ones from one network there is a pause.

use frontend::neighbourhood;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong logins of one network within [`SPAN`].
const MOST: u32 = 8;
const SPAN: Duration = Duration::from_secs(60);
/// Networks that are remembered. Where there are more, all of them are forgotten but for the count of everybody.
const NETWORKS: usize = 4096;
/// Wrong logins of everybody within [`SPAN`].
const MOST_OF_ALL: u32 = 200;

/// Failed logins by network.
#[derive(Default)]
pub struct Throttle(Mutex<Failures>);

#[derive(Default)]
struct Failures {
    of: HashMap<IpAddr, Recent>,
    all: Option<Recent>,
}

#[derive(Clone, Copy)]
struct Recent {
    since: Instant,
    failed: u32,
}

impl Throttle {
    /// Takes note of an attempt before it is judged, so that attempts at once are no way around. False where it is not judged.
    pub fn admit(&self, from: IpAddr) -> bool {
        self.admit_at(from, Instant::now())
    }

    fn admit_at(&self, from: IpAddr, now: Instant) -> bool {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = |r: &Recent| now.duration_since(r.since) < SPAN;
        let all = failures.all.filter(fresh).unwrap_or(Recent { since: now, failed: 0 });
        let network = neighbourhood(from);
        let own =
            failures.of.get(&network).copied().filter(fresh).unwrap_or(Recent { since: now, failed: 0 });
        if own.failed >= MOST || all.failed >= MOST_OF_ALL {
            return false;
        }
        if failures.of.len() >= NETWORKS {
            failures.of.retain(|_, r| fresh(r));
            if failures.of.len() >= NETWORKS {
                failures.of.clear();
            }
        }
        failures.all = Some(Recent { failed: all.failed + 1, ..all });
        failures.of.insert(network, Recent { failed: own.failed + 1, ..own });
        true
    }

    /// The attempt was right: it does not count.
    pub fn forgive(&self, from: IpAddr) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = failures.of.get_mut(&neighbourhood(from)) {
            own.failed = own.failed.saturating_sub(1);
        }
        if let Some(all) = &mut failures.all {
            all.failed = all.failed.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_network_has_some_attempts_a_minute_and_a_right_one_is_not_counted() {
        let throttle = Throttle::default();
        let [a, b, c]: [IpAddr; 3] = ["2001:db8::1", "2001:db8::2", "192.0.2.1"].map(|a| a.parse().unwrap());
        let now = Instant::now();
        for _ in 0..20 {
            assert!(throttle.admit_at(c, now));
            throttle.forgive(c);
        }
        for i in 0..MOST {
            assert!(throttle.admit_at(if i % 2 == 0 { a } else { b }, now));
        }
        assert!(!throttle.admit_at(a, now) && !throttle.admit_at(b, now), "a site is one network");
        assert!(throttle.admit_at(c, now));
        assert!(throttle.admit_at(a, now + SPAN));
    }

    #[test]
    fn everybody_together_has_a_limit_too() {
        let throttle = Throttle::default();
        let now = Instant::now();
        let admitted =
            (0..400u32).filter(|i| throttle.admit_at(std::net::Ipv4Addr::from_bits(*i).into(), now));
        assert_eq!(admitted.count() as u32, MOST_OF_ALL);
    }
}
