//! Secrets: computations for which one must hold the key.

use dp::KeyedRng;
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// A person in one relation: a digest of 32 bytes, which its key's holder alone can make.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Person(pub(crate) [u8; 32]);

/// The key of a policy.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Of 32 random bytes.
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The person that a name stands for among those who write to a relation.
    pub fn person(&self, relation: &str, name: &str) -> Person {
        Person(self.digest(b"noisegate collect person 1", &[relation.as_bytes(), name.as_bytes()]))
    }

    /// The random bits by which a person's value is randomised whenever they say it. `question` says what is asked and how it is
    /// randomised: the column, its mechanism and ε.
    ///
    /// Guarantee: against who has not the key, the bits of different persons, questions and values are as good as independent and
    /// uniform (HMAC-SHA-256 is a pseudorandom function, ChaCha20 stretches it). A randomiser that is ε-DP with
    /// fresh bits is so with these, for any number of reports of one value; each other value that the person ever says has bits of
    /// its own and adds another ε. The value must be part of it: with the same bits for all values two reports of one
    /// person would tell both values. `value` is as long whatever was said, so that its length takes no other time.
    pub fn coins(&self, person: &Person, question: &str, value: &[u8]) -> KeyedRng {
        let parts = [&person.0[..], question.as_bytes(), value];
        KeyedRng::new(self.digest(b"noisegate collect coins 1", &parts))
    }

    /// The place of a person in the window that ends at a moment: places in different windows cannot be told to be the
    /// same person's.
    pub(crate) fn place(&self, person: &Person, ends: u64) -> [u8; 32] {
        self.digest(b"noisegate collect window 2", &[&person.0, &ends.to_le_bytes()])
    }

    /// By which a file knows its key, and nobody learns it.
    pub(crate) fn proof(&self) -> [u8; 32] {
        self.digest(b"noisegate collect key 1", &[])
    }

    /// The key of what is stored.
    pub(crate) fn storage(&self) -> [u8; 32] {
        self.digest(b"noisegate collect storage 1", &[])
    }

    /// HMAC-SHA-256 of parts with their lengths, so that no two lists of parts look the same.
    fn digest(&self, purpose: &[u8], parts: &[&[u8]]) -> [u8; 32] {
        let mut out = [0u8; 32];
        // Any length is a key.
        if let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) {
            for part in [purpose].iter().chain(parts) {
                mac.update(&(part.len() as u64).to_le_bytes());
                mac.update(part);
            }
            out = mac.finalize().into_bytes().into();
        }
        out
    }
}
