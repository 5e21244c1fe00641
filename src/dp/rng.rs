//! Randomness for noise.

use rand_chacha::{ChaCha20Rng, rand_core::Rng, rand_core::SeedableRng};

/// The operating system gave no entropy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no entropy")]
pub struct EntropyError;

/// A source of independent uniform bits.
///
/// Every theorem in this module assumes that bits are uniform, independent, and secret. [`SecureRng`] is the only
/// implementation for production, and is named there by type; [`super::testing`] has one that can be seeded.
pub trait Entropy {
    /// 64 uniform bits.
    fn next_u64(&mut self) -> Result<u64, EntropyError>;

    /// `count` uniform bits (at most 128), as a number below 2^count. Draws nothing where `count` is 0.
    fn bits(&mut self, count: u32) -> Result<u128, EntropyError> {
        Ok(match count {
            0 => 0,
            1..=64 => u128::from(self.next_u64()? >> (64 - count)),
            _ => {
                (u128::from(self.next_u64()?) << 64 | u128::from(self.next_u64()?)) >> (128 - count.min(128))
            }
        })
    }
}

/// Words drawn between two seeds (8 MiB of key stream): a state that leaks tells little of what came before.
const RESEED_AFTER: u32 = 1 << 20;

/// ChaCha20 seeded by the operating system, and seeded afresh from there now and then.
///
/// A source that fails is an error, never a fallback. The state is not printable.
pub struct SecureRng {
    stream: ChaCha20Rng,
    left: u32,
}

impl SecureRng {
    /// A generator with a fresh seed.
    pub fn new() -> Result<Self, EntropyError> {
        let mut seed = [0u8; 32];
        getrandom::fill(&mut seed).map_err(|_| EntropyError)?;
        Ok(Self { stream: ChaCha20Rng::from_seed(seed), left: RESEED_AFTER })
    }
}

impl Entropy for SecureRng {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        if self.left == 0 {
            *self = Self::new()?;
        }
        self.left -= 1;
        Ok(self.stream.next_u64())
    }
}
