//! The configuration of a shuffler: TOML, of which every key is known.

use crate::cli::encode::collection;
use crate::cli::key;
use bigdecimal::BigDecimal;
use encode::ShufflerKey;
use serde::Deserialize;
use shuffler::{Rules, Shuffler};
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// As the file has it. Paths are relative to its folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    listen: SocketAddr,
    key: PathBuf,
    collections: Vec<PathBuf>,
    spool: PathBuf,
    batches: PathBuf,
    min_batch: u64,
    max_delay: u64,
    min_group: u64,
    #[serde(default = "one_text")]
    group_epsilon: String,
    #[serde(default = "one")]
    counted_per_writer: u64,
    #[serde(default = "million")]
    max_reports: u64,
    #[serde(default = "thousand")]
    reports_per_minute: u64,
    #[serde(default)]
    forwarded_for: bool,
    #[serde(default, rename = "writer")]
    writers: Vec<Writer>,
}

fn one_text() -> String {
    "1".into()
}

fn one() -> u64 {
    1
}

fn million() -> u64 {
    1_000_000
}

fn thousand() -> u64 {
    1000
}

/// Who may write, by the SHA-256 of a token.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Writer {
    /// For limits.
    pub name: String,
    /// 64 hexadecimal digits.
    pub token_sha256: String,
}

/// What a shuffler needs.
pub struct Config {
    /// Where it listens: this machine only.
    pub listen: SocketAddr,
    /// The key and the collections.
    pub shuffler: Shuffler,
    /// When reports go out.
    pub rules: Rules,
    /// The spool's file.
    pub spool: PathBuf,
    /// The folder for batches.
    pub batches: PathBuf,
    /// Reports that may wait.
    pub max_reports: u64,
    /// Reports of one writer in a minute.
    pub reports_per_minute: u64,
    /// Addresses are those that a proxy before it has written down.
    pub forwarded_for: bool,
    /// Empty: everybody, by address.
    pub writers: Vec<Writer>,
}

/// Reads a configuration and all that it names.
pub fn read(path: &Path) -> Result<Config, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let text: Text = toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let wrong = |what: String| format!("{}: {what}", path.display());
    if !text.listen.ip().is_loopback() {
        let what = "listen is not an address of this machine alone: reports are sealed, tokens are not; \
            listen on 127.0.0.1 behind a web server that speaks TLS, with forwarded_for = true";
        return Err(wrong(what.into()).into());
    }
    let epsilon = BigDecimal::from_str(&text.group_epsilon).ok().and_then(|e| dp::ratio(&e));
    let epsilon =
        epsilon.ok_or_else(|| wrong("group_epsilon is a decimal in quotes, such as \"1\"".into()))?;
    let rules = Rules::new(text.min_batch, text.max_delay, text.min_group, text.counted_per_writer, &epsilon)
        .map_err(|e| wrong(e.to_string()))?;
    if text.collections.is_empty() {
        return Err(
            wrong("collections is empty: name the descriptions that reports are taken of".into()).into()
        );
    }
    let collections =
        text.collections.iter().map(|c| collection(&folder.join(c))).collect::<Result<_, _>>()?;
    let digits = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if let Some(writer) = text.writers.iter().find(|w| !digits(&w.token_sha256)) {
        let what = format!(
            "token_sha256 of writer {:?} is not 64 hexadecimal digits: printf %s TOKEN | sha256sum",
            writer.name
        );
        return Err(wrong(what).into());
    }
    let key = ShufflerKey::parse(&key::read(&folder.join(&text.key))?)?;
    Ok(Config {
        listen: text.listen,
        shuffler: Shuffler::new(key, collections),
        rules,
        spool: folder.join(text.spool),
        batches: folder.join(text.batches),
        max_reports: text.max_reports,
        reports_per_minute: text.reports_per_minute,
        forwarded_for: text.forwarded_for,
        writers: text.writers,
    })
}
