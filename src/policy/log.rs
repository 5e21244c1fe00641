//! `[log]`: how the program tells its operator what it does.

use super::error::Findings;
use super::keys::{Key, Keys};
use super::model::{Log, LogFormat, LogLevel};
use super::reader::{Section, shorten};
use super::suggest::suggest;

/// Keys of `[log]`.
pub(super) const LOG: Keys = Keys {
    section: "[log]",
    list: &[
        Key::of("level", "`error`, `warn`, `info`, `debug` or `trace`", "\"info\"", "\"warn\"")
            .says("Which events are logged; the variable `NOISEGATE_LOG` overrides it."),
        Key::of("format", "`text` or `json`", "\"text\"", "\"json\"")
            .says("Lines for people, or an object per line for programs."),
    ],
    later: &[],
};

pub(super) fn log(root: &Section<'_, '_>, f: &mut Findings) -> Log {
    let mut log = Log::default();
    let Some(section) = root.section("log", f) else { return log };
    section.keys(&LOG, f);
    if let Some(format) = choice(&section, "format", &LogFormat::NAMES, f) {
        log.format = format;
    }
    if let Some(level) = choice(&section, "level", &LogLevel::NAMES, f) {
        log.level = level;
    }
    log
}

fn choice<T: Copy>(
    section: &Section<'_, '_>,
    key: &str,
    names: &[(&'static str, T)],
    f: &mut Findings,
) -> Option<T> {
    let example = names.first().map_or("", |(name, _)| name);
    let chosen = section.string(key, &format!("{key} = {example:?}"), f)?;
    let found = names.iter().find(|(name, _)| *name == chosen.value).map(|(_, value)| *value);
    if found.is_none() {
        let words = names.iter().map(|(name, _)| *name);
        let list: Vec<String> = words.clone().map(|name| format!("{name:?}")).collect();
        let what = format!("{key} = {:?} is not one of {}", shorten(&chosen.value), list.join(", "));
        f.error(&chosen.span, what, suggest(&chosen.value, words));
    }
    found
}

impl LogFormat {
    const NAMES: [(&'static str, Self); 2] = [("text", Self::Text), ("json", Self::Json)];
}

impl LogLevel {
    const NAMES: [(&'static str, Self); 5] = [
        ("info", Self::Info),
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
    ];

    /// The word in the policy, and in filters of the log.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, level)| *level == self).map_or("info", |(name, _)| name)
    }
}
