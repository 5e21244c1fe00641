//! Stored answers in this process, as they are at rest. The oldest go when there are too many.

use super::key::Key;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of all of them.
const CAPACITY: usize = 64 << 20;

/// Bytes by key.
#[derive(Debug, Default)]
pub struct Memory(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    bytes: HashMap<Key, Arc<[u8]>>,
    order: VecDeque<Key>,
    size: usize,
}

impl Memory {
    /// Record under this key.
    pub fn get(&self, key: &Key) -> Option<Arc<[u8]>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes.get(key).cloned()
    }

    /// Number of records, and their bytes.
    pub fn usage(&self) -> (usize, usize) {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (held.bytes.len(), held.size)
    }

    /// Keeps it, in place of what was there.
    pub fn put(&self, key: Key, bytes: &[u8]) {
        if bytes.len() > CAPACITY {
            return;
        }
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *held;
        match held.bytes.insert(key, bytes.into()) {
            Some(old) => held.size -= old.len(),
            None => held.order.push_back(key),
        }
        held.size += bytes.len();
        while held.size > CAPACITY {
            let Some(oldest) = held.order.pop_front() else { break };
            if let Some(old) = held.bytes.remove(&oldest) {
                held.size -= old.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_first() {
        let memory = Memory::default();
        let large = vec![0u8; CAPACITY / 4];
        for n in 0..6 {
            memory.put([n; 32], &large);
        }
        let kept: Vec<bool> = (0..6).map(|n| memory.get(&[n; 32]).is_some()).collect();
        assert_eq!(kept, [false, false, true, true, true, true]);
        memory.put([5; 32], b"new");
        assert_eq!(memory.get(&[5; 32]).as_deref(), Some(&b"new"[..]));
        assert_eq!(memory.0.lock().map(|h| h.size).ok(), Some(3 * (CAPACITY / 4) + 3));
        memory.put([6; 32], &vec![0; CAPACITY + 1]);
        assert!(memory.get(&[6; 32]).is_none());
    }
}
