//! Limits on each writer, in memory and bounded.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::collections::HashMap;

/// HMAC-SHA-256 of a writer's name under a secret, cut to 16 bytes.
pub(crate) fn digest(secret: &str, name: &str) -> [u8; 16] {
    let mut out = [0u8; 16];
    // Any length is a key.
    if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) {
        mac.update(b"noisegate collect writer 1\0");
        mac.update(name.as_bytes());
        out.iter_mut().zip(mac.finalize().into_bytes()).for_each(|(to, from)| *to = from);
    }
    out
}

/// Seconds of a window.
const WINDOW: u64 = 60;
/// Writers that are remembered at once.
const MOST: usize = 1 << 16;

/// Reports of each writer in this minute.
pub struct Writers {
    most: u64,
    window: u64,
    sent: HashMap<[u8; 16], u64>,
}

impl Writers {
    /// Writers with at most `most` reports each in a minute.
    pub fn new(most: u64) -> Self {
        Self { most, window: 0, sent: HashMap::new() }
    }

    /// Whether a writer may send this many reports now; they count if so.
    pub fn admit(&mut self, writer: [u8; 16], reports: u64, now: u64) -> bool {
        if now / WINDOW != self.window {
            self.window = now / WINDOW;
            self.sent.clear();
        }
        if self.sent.len() >= MOST && !self.sent.contains_key(&writer) {
            return false;
        }
        let sent = self.sent.entry(writer).or_default();
        let after = sent.saturating_add(reports);
        let admitted = after <= self.most;
        if admitted {
            *sent = after;
        }
        admitted
    }
}
