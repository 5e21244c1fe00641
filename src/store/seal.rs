//! Answers at rest: encrypted under a key that is not where they are.
//!
//! XChaCha20-Poly1305 with random nonces of 24 bytes, which never meet again, and the answer's own key as associated
//! data: bytes moved to another place open no more than changed ones do.

use super::key::Key;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

/// First byte of what is stored: as it is.
const PLAIN: u8 = 0;
/// First byte of what is stored: encrypted.
const SEALED: u8 = 1;
const NONCE: usize = 24;

/// Seals and opens.
#[derive(Clone)]
pub struct Seal(Option<XChaCha20Poly1305>);

/// Why bytes do not open. For the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The bytes are encrypted, and the policy names no key.
    #[error("it is encrypted, and the policy names no cache.key_file")]
    NoKey,
    /// Another key, or other bytes.
    #[error("it does not open: the key is another one, or the bytes were changed")]
    Closed,
    /// No such format.
    #[error("it has a format that this version does not know")]
    Format,
}

impl Seal {
    /// Under this key; none leaves bytes as they are.
    pub fn new(key: Option<[u8; 32]>) -> Self {
        Self(key.map(|key| XChaCha20Poly1305::new(&key.into())))
    }

    /// Bytes to store. None without randomness.
    pub fn close(&self, key: &Key, plain: &[u8]) -> Option<Vec<u8>> {
        let Some(cipher) = &self.0 else {
            return Some([&[PLAIN], plain].concat());
        };
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        let sealed = cipher.encrypt(XNonce::from_slice(&nonce), Payload { msg: plain, aad: key }).ok()?;
        Some([&[SEALED], &nonce[..], &sealed].concat())
    }

    /// Bytes that were sealed. With a key, bytes that are not encrypted do not count: anybody could
    /// have written them.
    pub fn open(&self, key: &Key, stored: &[u8]) -> Result<Vec<u8>, Broken> {
        match (stored.split_first(), &self.0) {
            (Some((&PLAIN, plain)), None) => Ok(plain.to_vec()),
            (Some((&PLAIN, _)), Some(_)) => Err(Broken::Closed),
            (Some((&SEALED, _)), None) => Err(Broken::NoKey),
            (Some((&SEALED, rest)), Some(cipher)) => {
                let (nonce, sealed) = rest.split_at_checked(NONCE).ok_or(Broken::Format)?;
                let payload = Payload { msg: sealed, aad: key };
                cipher.decrypt(XNonce::from_slice(nonce), payload).map_err(|_| Broken::Closed)
            }
            _ => Err(Broken::Format),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn only_the_key_in_its_own_place_opens() {
        let seal = Seal::new(Some([1; 32]));
        let stored = seal.close(&[9; 32], b"answer").unwrap();
        assert_eq!(seal.open(&[9; 32], &stored).unwrap(), b"answer");
        assert!(!stored.windows(6).any(|w| w == b"answer"));
        assert_ne!(stored, seal.close(&[9; 32], b"answer").unwrap(), "nonces are random");
        assert_eq!(seal.open(&[8; 32], &stored), Err(Broken::Closed), "another place");
        assert_eq!(Seal::new(Some([2; 32])).open(&[9; 32], &stored), Err(Broken::Closed));
        assert_eq!(Seal::new(None).open(&[9; 32], &stored), Err(Broken::NoKey));
        for i in 1..stored.len() {
            let mut changed = stored.clone();
            changed[i] ^= 1;
            assert_eq!(seal.open(&[9; 32], &changed), Err(Broken::Closed), "byte {i}");
        }
        for cut in 0..stored.len() {
            assert!(seal.open(&[9; 32], &stored[..cut]).is_err());
        }
    }

    #[test]
    fn what_was_stored_without_a_key_does_not_count_with_one() {
        let plain = Seal::new(None).close(&[9; 32], b"answer").unwrap();
        assert_eq!(Seal::new(None).open(&[9; 32], &plain).unwrap(), b"answer");
        assert_eq!(Seal::new(Some([1; 32])).open(&[9; 32], &plain), Err(Broken::Closed));
        assert_eq!(Seal::new(None).open(&[9; 32], &[]), Err(Broken::Format));
        assert_eq!(Seal::new(None).open(&[9; 32], &[7, 7]), Err(Broken::Format));
    }
}
