//! Keys of those who open: X25519, in base64 with a word before it that says whose it is.

use super::DescriptionError;
use super::suite::{PublicKey, SecretKey, Suite};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dp::{Entropy, EntropyError};
use hpke::{Deserializable, Kem, Serializable};

/// A description says which key is whose, and a key file whose it is: neither is taken for the other.
macro_rules! key {
    ($name:ident, $word:literal, $what:literal) => {
        #[doc = concat!("The secret key of ", $what, ". It cannot be printed by accident.")]
        #[derive(Clone)]
        pub struct $name(pub(crate) SecretKey);

        impl $name {
            /// A new one.
            ///
            /// # Errors
            /// There is no entropy.
            pub fn generate(rng: &mut impl Entropy) -> Result<Self, EntropyError> {
                let mut material = [0u8; 32];
                for chunk in material.chunks_mut(8) {
                    chunk.copy_from_slice(&rng.next_u64()?.to_le_bytes());
                }
                Ok(Self(Suite::derive_keypair(&material).0))
            }

            /// Reads what [`Self::text`] wrote.
            ///
            /// # Errors
            /// It is no such key.
            pub fn parse(text: &str) -> Result<Self, DescriptionError> {
                let bytes = text.trim().strip_prefix(concat!("noisegate-", $word, "-secret-"));
                let bytes = bytes.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
                let key = bytes.and_then(|bytes| SecretKey::from_bytes(&bytes).ok());
                key.map(Self).ok_or_else(|| {
                    let what = concat!(
                        "this is no secret key of ",
                        $what,
                        "; `noisegate collect key ",
                        $word,
                        "` makes one"
                    );
                    DescriptionError::Other(what.into())
                })
            }

            /// The secret, for a file that nobody else reads.
            pub fn text(&self) -> String {
                let bytes = URL_SAFE_NO_PAD.encode(self.0.to_bytes());
                format!(concat!("noisegate-", $word, "-secret-{}"), bytes)
            }

            /// The public key, for a description.
            pub fn public(&self) -> String {
                let bytes = URL_SAFE_NO_PAD.encode(Suite::sk_to_pk(&self.0).to_bytes());
                format!(concat!("noisegate-", $word, "-public-{}"), bytes)
            }

            pub(crate) fn read_public(text: &str) -> Result<PublicKey, DescriptionError> {
                let bytes = text.strip_prefix(concat!("noisegate-", $word, "-public-"));
                let bytes = bytes.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
                let key = bytes.and_then(|bytes| PublicKey::from_bytes(&bytes).ok());
                key.ok_or_else(|| {
                    let what =
                        concat!("the description has no public key of ", $what, " where one is expected");
                    DescriptionError::Other(what.into())
                })
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        }
    };
}

key!(ShufflerKey, "shuffler", "a shuffler");
key!(AnalyserKey, "analyser", "an analyser");
