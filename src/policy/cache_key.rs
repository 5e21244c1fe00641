//! The key of stored answers: read when it is needed, and shown nowhere.

use super::given::Given;
use super::model::CacheKey;
use super::private_file::private_file;
use std::path::PathBuf;

impl CacheKey {
    /// The 32 bytes.
    ///
    /// # Errors
    /// The file cannot be read, others than its owner can read it, or it holds something else. Never a part of it.
    pub fn read(&self) -> Result<[u8; 32], String> {
        match self {
            Self::Bytes(bytes) => Ok(*bytes),
            Self::File(file) => from_file(file),
        }
    }
}

impl std::fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(_) => f.write_str("Bytes(…)"),
            Self::File(file) => f.debug_tuple("File").field(file).finish(),
        }
    }
}

fn from_file(file: &Given<PathBuf>) -> Result<[u8; 32], String> {
    let bytes = private_file(file, "the key file", 128)?;
    let wrong = || format!("the key file {file} holds neither 32 bytes nor 64 hexadecimal digits");
    if let Ok(key) = bytes.as_slice().try_into() {
        return Ok(key);
    }
    std::str::from_utf8(&bytes).ok().and_then(|text| from_hex(text.trim())).ok_or_else(wrong)
}

/// 64 hexadecimal digits.
pub(super) fn from_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    let digit = |c: u8| char::from(c).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let pairs = text.as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> = pairs
        .map(|pair| match pair {
            [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
            _ => None,
        })
        .collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_32_bytes_or_their_digits_and_nobody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        let read = |bytes: &[u8], mode: u32| {
            std::fs::write(&file, bytes).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            CacheKey::File(file.clone().into()).read()
        };
        assert_eq!(read(&[7; 32], 0o600), Ok([7; 32]));
        assert_eq!(read(format!("{}\n", "0a".repeat(32)).as_bytes(), 0o400), Ok([10; 32]));
        for (bytes, mode, why) in [
            (&[7; 32][..], 0o640, "can be read by others"),
            (&[7; 31], 0o600, "holds neither"),
            (&[b'0'; 65], 0o600, "holds neither"),
            ("+1".repeat(32).as_bytes(), 0o600, "holds neither"),
            (&[7; 300], 0o600, "at most 128 bytes"),
        ] {
            let refused = read(bytes, mode).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(CacheKey::File(file.clone().into()).read().unwrap_err().contains("cannot be read"));
        assert_eq!(format!("{:?}", CacheKey::Bytes([1; 32])), "Bytes(…)");
    }
}
