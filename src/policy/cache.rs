//! `[cache]`: how long answers are kept, and under what key.

use super::environment::expand;
use super::error::Findings;
use super::keys::{Key, Keys};
use super::model::{Cache, CacheKey};
use super::reader::Section;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest name that PostgreSQL gives a channel.
const CHANNEL_BYTES: usize = 63;

/// Keys of `[cache]`.
pub(super) const CACHE: Keys = Keys {
    section: "[cache]",
    list: &[
        Key::of("enabled", "boolean", "true", "false")
            .says("Keep answers, so that asking again costs nothing and gives the same numbers."),
        Key::of("refresh", "time span, or `never`", "\"24h\"", "\"7d\"")
            .says("How long an answer is given again: time is cut into spans of this length, counted from 1970 in UTC, and each has its own answers."),
        Key::of("notify", "channel", "none", "\"bikes_loaded\"")
            .says("A NOTIFY on this channel of the database ends the answers kept so far: for load jobs, never for triggers on private tables."),
        Key::of("notify_interval", "time span", "\"1min\"", "\"10min\"")
            .says("The least time between two ends by NOTIFY, which any login of the database can send: one that comes sooner waits until it is over, and the log says so."),
        Key::of("snap", "time span", "none", "\"5min\"")
            .says("What private rows are compared with is computed from now() rounded down to a multiple of this, so that a dashboard's moving range stays the same for as long."),
        Key::of("key_file", "path", "answers are kept as they are", "\"noisegate.key\"")
            .says("The key that kept answers are encrypted with: 32 bytes, or 64 hexadecimal digits. Only its owner may read it; it belongs anywhere but beside the ledger."),
        Key::of("key", "64 hexadecimal digits", "none", "\"0001020304050607080910111213141516171819202122232425262728293031\"")
            .says("The same, instead of a file: write a variable, `\"${NAME}\"`."),
    ],
    later: &[],
};

pub(super) fn cache(root: &Section<'_, '_>, base: &Path, f: &mut Findings) -> Cache {
    let mut cache = Cache::default();
    let Some(section) = root.section("cache", f) else { return cache };
    section.keys(&CACHE, f);
    if let Some(enabled) = section.boolean("enabled", f) {
        cache.enabled = enabled.value;
    }
    let never = section.get("refresh").and_then(|v| v.get_ref().as_str()) == Some("never");
    if never {
        cache.refresh = None;
    } else if let Some(refresh) = section.duration("refresh", f) {
        cache.refresh = Some(refresh);
        if refresh < Duration::from_secs(1) {
            let span = section.get("refresh").map(toml::Spanned::span).unwrap_or_default();
            f.error(&span, "refresh is shorter than a second", "write enabled = false to keep no answers");
        }
    }
    if let Some(channel) = section.string("notify", "notify = \"bikes_loaded\"", f) {
        if channel.value.is_empty() || channel.value.len() > CHANNEL_BYTES {
            let what = format!("notify is not a channel's name of 1 to {CHANNEL_BYTES} bytes");
            f.error(&channel.span, what, "write for example: notify = \"bikes_loaded\"");
        }
        cache.notify = Some(channel.value);
    }
    if let Some(interval) = section.duration("notify_interval", f) {
        cache.notify_interval = interval;
    }
    cache.snap = section.duration("snap", f);
    let mut text = |key: &str, example: &str| {
        section.get(key)?;
        let written = section.required_string(key, example, f)?;
        expand(key, written, f)
    };
    let file = text("key_file", "key_file = \"noisegate.key\"");
    let key = text("key", "key = \"${NOISEGATE_CACHE_KEY}\"");
    cache.key = match (file, key) {
        (Some(file), Some(_)) => {
            f.error(&file.span, "both key_file and key are given", "leave one of them out");
            None
        }
        (Some(file), None) => Some(CacheKey::File(file.value.map(PathBuf::from).within(base))),
        (None, Some(key)) => {
            let bytes = super::cache_key::from_hex(key.value.reveal().trim());
            if bytes.is_none() && !f.elsewhere() {
                // The text is not repeated: it may be nearly a key.
                let hint = "make one by `openssl rand -hex 32`, and name the variable that holds it";
                f.error(&key.span, "key is not 64 hexadecimal digits", hint);
            }
            bytes.map(CacheKey::Bytes)
        }
        (None, None) => None,
    };
    cache
}
