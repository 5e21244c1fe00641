//! Limits on the log's lines about clients that are not logged in, by length and by rate.

use std::borrow::Cow;

/// The target of every event that is caused by a client which is not logged in, or not yet. The log
/// writes a fixed number of each kind, and counts the others.
pub const STRANGERS: &str = "noisegate_strangers";

/// Characters of a name that are shown; PostgreSQL's have 63 bytes.
const SHOWN: usize = 64;

/// A name that a stranger says, as the log has it: no longer than names are.
pub fn said(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(SHOWN) {
        None => name.into(),
        Some((end, _)) => format!("{}… ({} bytes)", name.get(..end).unwrap_or_default(), name.len()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_and_what_is_none_is_cut() {
        assert_eq!(said("ada"), "ada");
        assert_eq!(said(&"é".repeat(SHOWN)), "é".repeat(SHOWN));
        let long = "é".repeat(10_000);
        assert_eq!(said(&long), format!("{}… (20000 bytes)", "é".repeat(SHOWN)));
    }
}
