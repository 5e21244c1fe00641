//! The suite of HPKE that layers are sealed by, and its keys.

use hpke::Kem;
use hpke::kem::X25519HkdfSha256;

pub(crate) type Suite = X25519HkdfSha256;

pub(crate) type PublicKey = <Suite as Kem>::PublicKey;

pub(crate) type SecretKey = <Suite as Kem>::PrivateKey;
