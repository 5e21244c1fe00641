//! Cancel requests: the session that one means, and which of its statements.
//!
//! A client takes a cancel request for delivered when its connection is closed, and sends its next
//! statement then. So a request is for the statement that is under way when the request is read,
//! and for none that begins later; and its connection is closed when it has arrived wherever that
//! statement is at work.

use answer::{Errand, Errands};
use bytes::Bytes;
use record::STRANGERS;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use subtle::ConstantTimeEq;
use tokio::sync::Notify;

/// The running sessions by process id. Only who knows a session's secret can cancel its statement.
#[derive(Clone, Default)]
pub(super) struct Registry(Arc<Mutex<Sessions>>);

#[derive(Default)]
struct Sessions {
    last: i32,
    entries: HashMap<i32, Entry>,
}

struct Entry {
    secret: Bytes,
    signal: Arc<Signal>,
}

/// What a session and those who cancel share.
#[derive(Default)]
struct Signal {
    /// None while no statement is under way.
    under_way: Mutex<Option<UnderWay>>,
    cancelled: Notify,
}

/// A statement, or a batch of the extended protocol.
struct UnderWay {
    cancelled: bool,
    errands: Errands,
    errand: Errand,
}

impl Signal {
    fn under_way(&self) -> MutexGuard<'_, Option<UnderWay>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session's own entry; dropping it removes the session.
pub(super) struct Registered {
    registry: Registry,
    /// The process id told to the client.
    pub pid: i32,
    /// The secret told to the client.
    pub secret: Bytes,
    signal: Arc<Signal>,
}

impl Registry {
    /// Registers a session with a new random secret of `length` bytes; `None` if there is no entropy.
    pub fn register(&self, length: usize) -> Option<Registered> {
        let mut secret = vec![0u8; length];
        getrandom::fill(&mut secret).ok()?;
        let secret = Bytes::from(secret);
        let signal = Arc::<Signal>::default();
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // Positive, and round again after two billion connections.
            sessions.last = sessions.last.checked_add(1).unwrap_or(1);
            if !sessions.entries.contains_key(&sessions.last) {
                break;
            }
        }
        let pid = sessions.last;
        sessions.entries.insert(pid, Entry { secret: secret.clone(), signal: signal.clone() });
        Some(Registered { registry: self.clone(), pid, secret, signal })
    }

    /// Cancels what is under way in the session, if the secret is its own: the errands that this leaves. The caller must not tell the
    /// client which it was.
    pub fn cancel(&self, pid: i32, secret: &[u8]) -> Option<Errands> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sessions.entries.get(&pid) {
            Some(entry) if bool::from(entry.secret.ct_eq(secret)) => {
                let signal = entry.signal.clone();
                drop(sessions);
                let mut under_way = signal.under_way();
                let statement = under_way.as_mut()?;
                statement.cancelled = true;
                signal.cancelled.notify_one();
                Some(statement.errands.clone())
            }
            _ => {
                tracing::warn!(target: STRANGERS, pid, "a cancel request named no session or a wrong key");
                None
            }
        }
    }
}

impl Registered {
    /// A statement begins, or goes on where it is one already: cancel requests from here on are for it. What works on it works with
    /// this errand.
    pub fn begin(&mut self) -> Errand {
        let mut under_way = self.signal.under_way();
        let statement = under_way.get_or_insert_with(|| {
            let (errands, errand) = Errands::new();
            UnderWay { cancelled: false, errands, errand }
        });
        statement.errand.clone()
    }

    /// Nothing is under way any more: cancel requests are for nothing.
    pub fn rest(&mut self) {
        *self.signal.under_way() = None;
    }

    /// Rests for as long as somebody waits for it.
    pub async fn resting(&mut self) {
        self.rest();
        std::future::pending().await
    }

    /// Returns when the client has asked to cancel what is under way.
    pub async fn cancelled(&mut self) {
        while !self.signal.under_way().as_ref().is_some_and(|statement| statement.cancelled) {
            self.signal.cancelled.notified().await;
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.rest();
        self.registry.0.lock().unwrap_or_else(PoisonError::into_inner).entries.remove(&self.pid);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use futures::FutureExt;

    #[test]
    fn only_the_right_secret_cancels() {
        let registry = Registry::default();
        let mut a = registry.register(32).unwrap();
        let mut b = registry.register(4).unwrap();
        assert_ne!(a.pid, b.pid);
        let (errand, _) = (a.begin(), b.begin());
        assert!(registry.cancel(a.pid, &b.secret).is_none());
        assert!(registry.cancel(a.pid, &a.secret[..4]).is_none());
        assert!(a.cancelled().now_or_never().is_none());
        let errands = registry.cancel(a.pid, &a.secret.clone()).unwrap();
        assert!(a.cancelled().now_or_never().is_some());
        assert!(b.cancelled().now_or_never().is_none());
        a.rest();
        assert!(errands.run().now_or_never().is_none(), "it is still at work");
        drop(errand);
        assert!(errands.run().now_or_never().is_some());
        let pid = a.pid;
        drop(a);
        assert!(!registry.0.lock().unwrap().entries.contains_key(&pid));
    }

    #[test]
    fn a_cancel_is_for_what_is_under_way_and_for_nothing_that_begins_later() {
        let registry = Registry::default();
        let mut session = registry.register(4).unwrap();
        let secret = session.secret.clone();
        assert!(registry.cancel(session.pid, &secret).is_none(), "nothing is under way");
        let _first = session.begin();
        assert!(session.cancelled().now_or_never().is_none());
        assert!(registry.cancel(session.pid, &secret).is_some());
        // It has ended before it heard of that.
        session.rest();
        let _second = session.begin();
        assert!(session.cancelled().now_or_never().is_none());
        assert!(registry.cancel(session.pid, &secret).is_some());
        let _still_the_second = session.begin();
        assert!(session.cancelled().now_or_never().is_some());
    }
}
