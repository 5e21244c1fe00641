//! SCRAM-SHA-256 verifiers (RFC 5803): made of a password, and compared with one where the password itself arrives.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, Mac};
use pgwire::api::auth::sasl::scram::gen_salted_password;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, as PostgreSQL keeps it. The password is normalised by SASLprep
/// where it can be, and taken as it is where it cannot.
pub fn verifier(password: &str, salt: &[u8], iterations: u32) -> String {
    let salted = gen_salted_password(password, salt, iterations as usize);
    let stored = Sha256::digest(mac(&salted, b"Client Key"));
    let [salt, stored, server] =
        [salt, stored.as_slice(), &mac(&salted, b"Server Key")].map(|b| BASE64_STANDARD.encode(b));
    format!("SCRAM-SHA-256${iterations}:{salt}${stored}:{server}")
}

/// Whether a verifier was made of this password. Takes as long as its iterations do: not for a thread that others wait for.
pub fn proves(verifier: &str, password: &str) -> bool {
    let Some((costs, _)) = verifier.strip_prefix("SCRAM-SHA-256$").and_then(|v| v.split_once('$')) else {
        return false;
    };
    let Some((iterations, salt)) = costs.split_once(':') else { return false };
    let (Ok(iterations), Ok(salt)) = (iterations.parse(), BASE64_STANDARD.decode(salt)) else { return false };
    let made = self::verifier(password, &salt, iterations);
    made.as_bytes().ct_eq(verifier.as_bytes()).into()
}

fn mac(key: &[u8], text: &[u8]) -> [u8; 32] {
    // HMAC takes keys of any length.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    mac.update(text);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_verifier_of_rfc_7677() {
        let salt = BASE64_STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let made = verifier("pencil", &salt, 4096);
        assert_eq!(
            made,
            "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
             wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        );
        // SASLprep: the full-width letters are the plain ones, a soft hyphen is nothing.
        assert_eq!(verifier("ｐen\u{ad}cil", &salt, 4096), made);
        assert_ne!(verifier("pencil", &salt, 4097), made);
        assert!(proves(&made, "pencil") && proves(&made, "pen\u{ad}cil"));
        for (verifier, password) in [
            (made.as_str(), "pencils"),
            (made.as_str(), ""),
            ("", "pencil"),
            ("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$", "pencil"),
            ("SCRAM-SHA-256$x:W22ZaJ0SNY7soEsUEjb6gQ==$a:b", "pencil"),
        ] {
            assert!(!proves(verifier, password), "{verifier} {password}");
        }
    }
}
