//! Randomness for noise.

use rand_chacha::{ChaCha20Rng, rand_core::Rng, rand_core::SeedableRng};

/// The operating system gave no entropy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no entropy")]
pub struct EntropyError;

/// A source of independent uniform bits.
///
/// Every theorem in this module assumes that bits are uniform, independent, and secret. [`SecureRng`] is the
/// implementation for production, and is named there by type, but for permanent responses, which [`KeyedRng`] draws; tests have
/// one that can be seeded.
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

/// ChaCha20 from a seed that is given: the same bits for the same seed.
///
/// For responses that must be the same each time, and nothing else. Its seed is what a pseudorandom function makes of a secret key
/// and of all that the bits are for: then they are uniform and independent to everybody who has not the key.
pub struct KeyedRng(ChaCha20Rng);

impl KeyedRng {
    /// The bits of a seed.
    pub fn new(seed: [u8; 32]) -> Self {
        Self(ChaCha20Rng::from_seed(seed))
    }
}

impl Entropy for KeyedRng {
    fn next_u64(&mut self) -> Result<u64, EntropyError> {
        Ok(self.0.next_u64())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::SeededRng;

    #[test]
    fn two_generators_share_nothing() {
        let (mut a, mut b) = (SecureRng::new().unwrap(), SecureRng::new().unwrap());
        let words = |rng: &mut SecureRng| [rng.next_u64().unwrap(), rng.next_u64().unwrap()];
        assert_ne!(words(&mut a), words(&mut b));
    }

    /// After its last word a generator goes on from a fresh seed, not along its old key stream.
    #[test]
    fn a_spent_generator_is_seeded_afresh() {
        let stream = || ChaCha20Rng::from_seed([1; 32]);
        let mut old = SecureRng { stream: stream(), left: 1 };
        let mut expected = stream();
        assert_eq!(old.next_u64().unwrap(), expected.next_u64());
        assert_ne!(old.next_u64().unwrap(), expected.next_u64());
        assert_eq!(old.left, RESEED_AFTER - 1);
    }

    #[test]
    fn bits_are_as_many_as_asked_for() {
        let mut rng = SeededRng::new(2);
        assert_eq!(rng.bits(0).unwrap(), 0);
        for count in 1..=128u32 {
            let all = (0..200).fold(0u128, |all, _| all | rng.bits(count).unwrap());
            assert_eq!(all, u128::MAX >> (128 - count), "{count}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bits() {
        let mut words = [SeededRng::new(7), SeededRng::new(7)].map(|mut rng| rng.next_u64().unwrap());
        assert_eq!(words[0], words[1]);
        words[1] = SeededRng::new(8).next_u64().unwrap();
        assert_ne!(words[0], words[1]);
    }
}
