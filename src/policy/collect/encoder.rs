//! `encoder` and `shuffler` of `[collect.NAME]`, and what they need.

use crate::budget;
use crate::environment::expand;
use crate::error::Findings;
use crate::model::{Encoder, Shuffled};
use crate::reader::{Section, shorten};
use crate::suggest::suggest;
use bigdecimal::BigDecimal;
use std::path::{Path, PathBuf};

/// Keys that only a shuffler has a use for.
const SHUFFLED: [&str; 7] = [
    "shuffler_key",
    "analyser_key_file",
    "min_batch",
    "max_delay",
    "min_group",
    "group_epsilon",
    "counted_per_writer",
];
/// The largest batch, group, or number that counts.
const MOST: u64 = 1_000_000;
const DAY: u64 = 86_400;

/// The encoder, or None where there are mistakes.
pub(super) fn encoder(section: &Section<'_, '_>, base: &Path, f: &mut Findings) -> Option<Encoder> {
    let client = one_of(section, "encoder", ["proxy", "client"], f)?;
    let process = one_of(section, "shuffler", ["none", "process"], f)?;
    if client != process {
        let hint = "write encoder = \"client\" and shuffler = \"process\", or neither: what the proxy randomises \
            it stores itself, and what arrives sealed comes from a shuffler";
        f.error(&section.span, format!("{} has one of encoder and shuffler", section.name), hint);
        return None;
    }
    if !client {
        for key in SHUFFLED {
            if let Some(value) = section.get(key) {
                let hint = "remove it, or write encoder = \"client\" and shuffler = \"process\"";
                f.error(&value.span(), format!("{key} is of a shuffler, and there is none"), hint);
            }
        }
        return Some(Encoder::Proxy);
    }
    let key = section.required_string("shuffler_key", "shuffler_key = \"noisegate-shuffler-public-…\"", f);
    if let Some(key) = key.as_ref().filter(|k| !k.value.starts_with("noisegate-shuffler-public-")) {
        let hint =
            "`noisegate collect key shuffler --output shuffler.key` makes a key and prints the public one";
        f.error(&key.span, "shuffler_key is no public key of a shuffler", hint);
    }
    let file = section.required_string("analyser_key_file", "analyser_key_file = \"analyser.key\"", f);
    let file = file.and_then(|file| expand("analyser_key_file", file, f));
    let delay = section.duration("max_delay", f);
    if let (Some(delay), Some(value)) = (delay, section.get("max_delay"))
        && (delay.subsec_millis() != 0 || delay.as_secs() == 0)
    {
        f.error(&value.span(), "max_delay is in whole seconds", "write for example: max_delay = \"6h\"");
    }
    let group_epsilon = match section.get("group_epsilon") {
        Some(_) => budget::price(section, "group_epsilon", f).map(|e| e.value),
        None => Some(BigDecimal::from(1)),
    };
    let mut count = |key: &str, default: u64| match section.get(key) {
        Some(_) => section.count(key, MOST, f),
        None => Some(default),
    };
    let (min_batch, min_group) = (count("min_batch", 1000), count("min_group", 20));
    let counted_per_writer = count("counted_per_writer", 1);
    Some(Encoder::Client(Box::new(Shuffled {
        shuffler_key: key?.value,
        analyser_key_file: file?.value.map(PathBuf::from).within(base),
        min_batch: min_batch?,
        max_delay: delay.map_or(DAY, |d| d.as_secs()),
        min_group: min_group?,
        group_epsilon: group_epsilon?,
        counted_per_writer: counted_per_writer?,
    })))
}

/// Whether the second of two words is written; None where it is neither.
fn one_of(section: &Section<'_, '_>, key: &str, words: [&str; 2], f: &mut Findings) -> Option<bool> {
    let [first, second] = words;
    let Some(value) = section.get(key) else { return Some(false) };
    let written = section.string(key, &format!("{key} = {first:?}"), f)?;
    if written.value != first && written.value != second {
        let what = format!("unknown {key} {:?}", shorten(&written.value));
        f.error(&value.span(), what, suggest(&written.value, words));
        return None;
    }
    Some(written.value == second)
}
