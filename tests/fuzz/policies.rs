//! What owners write.

use crate::fuzz;
use crate::input::{Corpus, files, kept};
use noisegate::policy;
use noisegate::schema::Schema;
use std::path::Path;

#[test]
fn policies_and_all_their_mistakes() {
    let schema: Schema = serde_json::from_str(include_str!("../policy/schema.json")).unwrap();
    let mut inputs = kept("policies");
    inputs.extend(files("config", &["toml"]));
    inputs.extend(files("tests/policy/bad", &["toml"]));
    let words = [
        "true",
        "0",
        "-1",
        "1e-9",
        "99999999999999999999",
        "\"\"",
        "[]",
        "{}",
        "[[budget]]",
        "[limits]",
        "[table.trips]",
        "=",
        "inf",
        "nan",
        "1979-05-27",
        "\"10s\"",
        "\"${HOME}\"",
        "columns",
        "range",
        "references",
        "values",
        "\"pure\"",
        "\"zcdp\"",
    ];
    let words = words.iter().map(|w| w.as_bytes().to_vec()).collect();
    let (tried, meant) = fuzz("policies", Corpus { inputs, words, text: true }, |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return Ok(false) };
        match policy::parse(text, "policy.toml", Path::new("")) {
            Ok(raw) => match raw.check(&schema) {
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
    });
    assert!(meant * 50 > tried, "{meant} of {tried}");
}
