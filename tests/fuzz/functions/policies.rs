//! What owners write.

use noisegate::policy;
use noisegate::schema::Schema;
use std::path::Path;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../policy/schema.json")).unwrap());

/// A policy, which is taken, or refused with words.
pub fn policies(bytes: &[u8]) -> Result<bool, String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(false) };
    match policy::parse(text, "policy.toml", Path::new("")) {
        Ok(raw) => match raw.check(&SCHEMA) {
            Ok(policy) => {
                // One that is taken keeps to what guarantees rest on.
                for column in policy.tables.iter().flat_map(|t| &t.columns) {
                    let _ = format!("{column:?}");
                }
                Ok(true)
            }
            Err(errors) if errors.to_string().is_empty() => Err("refused without a word".into()),
            Err(_) => Ok(true),
        },
        Err(errors) if errors.to_string().is_empty() => Err("refused without a word".into()),
        Err(_) => Ok(false),
    }
}
