//! What owners write.

use crate::functions::policies;
use crate::fuzz;
use crate::input::{Corpus, files, kept};
use crate::wrong;

#[test]
fn policies_and_all_their_mistakes() {
    let mut inputs = kept("policies");
    inputs.extend(files("config", &["toml"]));
    inputs.extend(wrong::wrong().into_iter().map(|(_, text)| text.into_bytes()));
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
    let (tried, meant) = fuzz("policies", Corpus { inputs, words, text: true }, policies);
    assert!(meant * 50 > tried, "{meant} of {tried}");
}
