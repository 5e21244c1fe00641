//! A generator with a known seed, for tests and golden scripts.
//!
//! It is another type than [`super::SecureRng`], compiled for tests alone: the library and the program do not contain it.

use super::{Entropy, EntropyError};
use rand_chacha::{ChaCha20Rng, rand_core::Rng, rand_core::SeedableRng};

/// The same bits for the same seed. Noise drawn from it protects nobody.
pub struct SeededRng(ChaCha20Rng);

impl SeededRng {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha20Rng::seed_from_u64(seed))
    }
}

impl Entropy for SeededRng {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        Ok(self.0.next_u64())
    }
}
