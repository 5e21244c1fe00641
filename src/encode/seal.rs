//! Two layers of HPKE (RFC 9180, base mode; DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305).
//!
//! message = version (1 byte) ‖ first 8 bytes of the collection's digest ‖ outer layer
//! outer   = encapsulated key (32) ‖ sealed to the shuffler: id (16) ‖ group (16) ‖ inner layer ‖ tag (16)
//! inner   = encapsulated key (32) ‖ sealed to the analyser: the fields of the report ‖ tag (16)
//!
//! The info of each layer names its reader and has the whole digest: what was sealed for one collection, or for the other reader,
//! opens for no other. Fields have one length per collection, so messages do.

use super::collection::Collection;
use super::error::{EncodeError, OpenError};
use super::keys::{AnalyserKey, ShufflerKey};
use super::message::{Message, Opened, Sealed};
use super::suite::{PublicKey, SecretKey, Suite};
use dp::randomised::Report;
use dp::{Entropy, EntropyError};
use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

type EncappedKey = <Suite as Kem>::EncappedKey;

const VERSION: u8 = 1;
const SHUFFLER: &[u8] = b"noisegate collect shuffler 1\0";
const ANALYSER: &[u8] = b"noisegate collect analyser 1\0";
const GROUP: &[u8] = b"noisegate collect group 1\0";
/// Before the outer layer.
const HEAD: usize = 9;
/// An encapsulated key and a tag.
const LAYER: usize = 32 + 16;
/// Id and group.
const ENVELOPE: usize = 32;

fn info(reader: &[u8], collection: &Collection) -> Vec<u8> {
    [reader, collection.digest()].concat()
}

/// Seals to a key by bits of `rng`, which may fail where HPKE's own source may not.
fn seal(key: &PublicKey, info: &[u8], plain: &[u8], rng: &mut impl Entropy) -> Result<Vec<u8>, EncodeError> {
    let mut seed = [0u8; 32];
    for chunk in seed.chunks_mut(8) {
        chunk.copy_from_slice(&rng.next_u64()?.to_le_bytes());
    }
    let mut bits = ChaCha20Rng::from_seed(seed);
    let sealed = hpke::single_shot_seal_with_rng::<ChaCha20Poly1305, HkdfSha256, Suite>(
        &OpModeS::Base,
        key,
        info,
        plain,
        &[],
        &mut bits,
    );
    let (encapped, cipher) = sealed.map_err(|_| EncodeError::Seal)?;
    Ok([encapped.to_bytes().as_slice(), cipher.as_slice()].concat())
}

/// Opens what [`seal`] made.
pub(crate) fn open(key: &SecretKey, info: &[u8], layer: &[u8]) -> Result<Vec<u8>, OpenError> {
    let (encapped, cipher) = layer.split_at_checked(32).ok_or(OpenError::Length)?;
    let encapped = EncappedKey::from_bytes(encapped).map_err(|_| OpenError::Key)?;
    hpke::single_shot_open::<ChaCha20Poly1305, HkdfSha256, Suite>(
        &OpModeR::Base,
        key,
        &encapped,
        info,
        cipher,
        &[],
    )
    .map_err(|_| OpenError::Key)
}

impl Collection {
    /// Bytes of every message.
    pub fn message_len(&self) -> usize {
        HEAD + LAYER + ENVELOPE + self.sealed_len()
    }

    /// Bytes of every sealed report.
    pub fn sealed_len(&self) -> usize {
        LAYER + self.fields_len()
    }

    /// The group of a label: reports are held back until there are enough of their group.
    pub fn group(&self, label: &str) -> [u8; 16] {
        let digest =
            Sha256::new().chain_update(GROUP).chain_update(self.digest()).chain_update(label).finalize();
        let mut group = [0u8; 16];
        group.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
        group
    }

    /// Seals the fields of a report.
    pub(crate) fn seal(
        &self,
        fields: &[u8],
        group: &str,
        rng: &mut impl Entropy,
    ) -> Result<Message, EncodeError> {
        let inner = seal(self.analyser(), &info(ANALYSER, self), fields, rng)?;
        let id = id(rng)?;
        let plain = [id.as_slice(), &self.group(group), &inner].concat();
        let outer = seal(self.shuffler(), &info(SHUFFLER, self), &plain, rng)?;
        let head = self.digest().get(..HEAD - 1).unwrap_or_default();
        Ok(Message([&[VERSION], head, &outer].concat().into()))
    }
}

/// 16 random bytes.
fn id(rng: &mut impl Entropy) -> Result<[u8; 16], EntropyError> {
    Ok(rng.bits(128)?.to_le_bytes())
}

impl ShufflerKey {
    /// Opens the outer layer of a message.
    ///
    /// # Errors
    /// It is no message of the collection, or not sealed to this key.
    pub fn open(&self, collection: &Collection, message: &Message) -> Result<Opened, OpenError> {
        if message.0.len() != collection.message_len() {
            return Err(OpenError::Length);
        }
        let (head, outer) = message.0.split_at_checked(HEAD).ok_or(OpenError::Length)?;
        let known = collection.digest().get(..HEAD - 1).unwrap_or_default();
        if head.split_first() != Some((&VERSION, known)) {
            return Err(OpenError::Collection);
        }
        let plain = open(&self.0, &info(SHUFFLER, collection), outer)?;
        let (id, rest) = plain.split_first_chunk::<16>().ok_or(OpenError::Length)?;
        let (group, inner) = rest.split_first_chunk::<16>().ok_or(OpenError::Length)?;
        Ok(Opened { id: *id, group: *group, sealed: Sealed(inner.into()) })
    }
}

impl AnalyserKey {
    /// Opens the inner layer: the randomised value of each column, in the description's order.
    ///
    /// # Errors
    /// It is no report of the collection, was not sealed to this key, or holds what no randomiser of it says.
    pub fn open(&self, collection: &Collection, sealed: &Sealed) -> Result<Vec<Report>, OpenError> {
        if sealed.0.len() != collection.sealed_len() {
            return Err(OpenError::Length);
        }
        let fields = open(&self.0, &info(ANALYSER, collection), &sealed.0)?;
        collection.read_fields(&fields).ok_or(OpenError::Report)
    }
}
