//! Bounds on the log's lines about strangers: of each kind a fixed number at once, and then one a
//! second. Lines that are left out are counted, and said.

use record::STRANGERS;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::callsite::Identifier;
use tracing::{Event, Metadata};
use tracing_subscriber::layer::{Context, Filter};

/// Lines of one kind that are written one after the other.
const AT_ONCE: u32 = 100;
/// Each brings back one.
const EACH: Duration = Duration::from_secs(1);
/// How often it is said what was left out.
const TOLD: Duration = Duration::from_secs(10);

/// Lets an event through, or counts it. Those of others than strangers are none of its business.
#[derive(Clone, Default)]
pub struct Bound(Arc<Mutex<HashMap<Identifier, Kind>>>);

/// The lines of one place in the program.
struct Kind {
    /// Its name: the line's own words.
    what: &'static Metadata<'static>,
    left: u32,
    since: Instant,
    left_out: u64,
}

impl Kind {
    fn admit(&mut self, now: Instant) -> bool {
        let back = now.duration_since(self.since).as_secs() / EACH.as_secs();
        if back > 0 {
            self.left = self.left.saturating_add(u32::try_from(back).unwrap_or(AT_ONCE)).min(AT_ONCE);
            self.since = now;
        }
        let left = self.left.checked_sub(1);
        match left {
            Some(left) => self.left = left,
            None => self.left_out += 1,
        }
        left.is_some()
    }
}

impl Bound {
    fn admit(&self, what: &'static Metadata<'static>, now: Instant) -> bool {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Kind { what, left: AT_ONCE, since: now, left_out: 0 };
        kinds.entry(what.callsite()).or_insert_with(new).admit(now)
    }

    /// What was left out since this was asked last: where the lines are written, and how many.
    fn left_out(&self) -> Vec<(String, u64)> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |kind: &mut Kind| {
            let place =
                format!("{}:{}", kind.what.file().unwrap_or_default(), kind.what.line().unwrap_or_default());
            (place, std::mem::take(&mut kind.left_out))
        };
        kinds.values_mut().map(of).filter(|(_, n)| *n > 0).collect()
    }

    /// Says from time to time what was left out, for as long as the program runs.
    pub fn tell(&self) {
        let bound = self.clone();
        let told = std::thread::Builder::new().name("log".into()).spawn(move || {
            loop {
                std::thread::sleep(TOLD);
                for (kind, lines) in bound.left_out() {
                    tracing::warn!(
                        kind,
                        lines,
                        "left out of the log: lines about clients who are not logged in"
                    );
                }
            }
        });
        if let Err(error) = told {
            tracing::warn!(%error, "what is left out of the log will not be counted there");
        }
    }
}

impl<S> Filter<S> for Bound {
    fn enabled(&self, _: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _: &Context<'_, S>) -> bool {
        event.metadata().target() != STRANGERS || self.admit(event.metadata(), Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::Layer as _;
    use tracing_subscriber::layer::SubscriberExt;

    /// Counts what arrives.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<u64>>);

    impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Written {
        fn on_event(&self, _: &Event<'_>, _: Context<'_, S>) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
    }

    #[test]
    fn strangers_have_so_many_lines_of_a_kind_and_others_have_all() {
        let (bound, written) = (Bound::default(), Written::default());
        let log = tracing_subscriber::registry().with(written.clone().with_filter(bound.clone()));
        let count = || std::mem::take(&mut *written.0.lock().unwrap_or_else(PoisonError::into_inner));
        tracing::subscriber::with_default(log, || {
            for _ in 0..1_000 {
                tracing::warn!(target: STRANGERS, "one kind");
            }
            let first = count();
            assert!((100..200).contains(&first), "{first}");
            tracing::warn!(target: STRANGERS, "another kind");
            assert_eq!(count(), 1);
            for _ in 0..1_000 {
                tracing::warn!("of somebody who is known");
            }
            assert_eq!(count(), 1_000);
            let left_out = bound.left_out();
            assert_eq!(left_out.iter().map(|(_, n)| n).sum::<u64>(), 1_000 - first);
            assert!(left_out.iter().all(|(kind, _)| kind.contains("strangers.rs:")), "{left_out:?}");
            assert!(bound.left_out().is_empty(), "said once");
        });
    }
}
