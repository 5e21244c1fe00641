//! Which session a CancelRequest means.

use bytes::Bytes;
use record::STRANGERS;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use subtle::ConstantTimeEq;
use tokio::sync::watch;

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
    signal: watch::Sender<()>,
}

/// A session's own entry; dropping it removes the session.
pub(super) struct Registered {
    registry: Registry,
    /// The process id told to the client.
    pub pid: i32,
    /// The secret told to the client.
    pub secret: Bytes,
    signal: watch::Receiver<()>,
}

impl Registry {
    /// Registers a session with a new random secret of `length` bytes; `None` if there is no entropy.
    pub fn register(&self, length: usize) -> Option<Registered> {
        let mut secret = vec![0u8; length];
        getrandom::fill(&mut secret).ok()?;
        let secret = Bytes::from(secret);
        let (sender, receiver) = watch::channel(());
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // Positive, and round again after two billion connections.
            sessions.last = sessions.last.checked_add(1).unwrap_or(1);
            if !sessions.entries.contains_key(&sessions.last) {
                break;
            }
        }
        let pid = sessions.last;
        sessions.entries.insert(pid, Entry { secret: secret.clone(), signal: sender });
        Some(Registered { registry: self.clone(), pid, secret, signal: receiver })
    }

    /// Signals the session, if the secret is its own. The caller must not tell the client which it was.
    pub fn cancel(&self, pid: i32, secret: &[u8]) {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sessions.entries.get(&pid) {
            Some(entry) if bool::from(entry.secret.ct_eq(secret)) => {
                let _ = entry.signal.send(());
            }
            _ => tracing::warn!(target: STRANGERS, pid, "a cancel request named no session or a wrong key"),
        }
    }
}

impl Registered {
    /// Forgets signals that came between statements.
    pub fn arm(&mut self) {
        self.signal.mark_unchanged();
    }

    /// Returns when the client asks to cancel.
    pub async fn cancelled(&mut self) {
        if self.signal.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
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
        registry.cancel(a.pid, &b.secret);
        registry.cancel(a.pid, &a.secret[..4]);
        assert!(a.cancelled().now_or_never().is_none());
        registry.cancel(a.pid, &a.secret.clone());
        assert!(a.cancelled().now_or_never().is_some());
        assert!(b.cancelled().now_or_never().is_none());
        registry.cancel(b.pid, &b.secret.clone());
        b.arm();
        assert!(b.cancelled().now_or_never().is_none(), "a late cancel must not hit the next statement");
        let pid = a.pid;
        drop(a);
        assert!(!registry.0.lock().unwrap().entries.contains_key(&pid));
    }
}
