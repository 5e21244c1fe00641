//! The configuration of a shuffler: TOML, of which every key is known.

use crate::cli::collect::encode::collection;
use crate::cli::collect::key;
use backend::Login;
use bigdecimal::BigDecimal;
use encode::{Collection, Shuffle, ShufflerKey};
use serde::Deserialize;
use shuffler::{Rules, Shuffler};
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// As the file has it. Paths are relative to its folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    listen: SocketAddr,
    key: PathBuf,
    collections: Vec<PathBuf>,
    spool: PathBuf,
    batches: PathBuf,
    min_batch: Option<u64>,
    max_delay: Option<u64>,
    min_group: Option<u64>,
    group_epsilon: Option<String>,
    counted_per_writer: Option<u64>,
    #[serde(default = "million")]
    max_reports: u64,
    #[serde(default = "thousand")]
    reports_per_minute: u64,
    #[serde(default)]
    forwarded_for: bool,
    analyser: Option<Analyser>,
    #[serde(default, rename = "writer")]
    writers: Vec<Writer>,
}

fn million() -> u64 {
    1_000_000
}

fn thousand() -> u64 {
    1000
}

/// Where batches are delivered.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Analyser {
    url: String,
    password_file: Option<PathBuf>,
}

/// A writer, by the SHA-256 of a token.
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
    /// When reports of each collection go out, by its digest.
    pub rules: Vec<(Vec<u8>, Rules)>,
    /// The analyser to deliver batches to; None leaves them in the folder.
    pub analyser: Option<Login>,
    /// The spool's file.
    pub spool: PathBuf,
    /// The folder for batches; with an analyser, for those that it refused.
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
    if text.collections.is_empty() {
        return Err(
            wrong("collections is empty: name the descriptions that reports are taken of".into()).into()
        );
    }
    let (mut collections, mut rules) = (Vec::new(), Vec::new());
    for file in &text.collections {
        let collection = collection(&folder.join(file))?;
        let own = rules_of(&collection, &text).map_err(|e| wrong(format!("{}: {e}", file.display())))?;
        rules.push((collection.digest().to_vec(), own));
        collections.push(collection);
    }
    let analyser = text.analyser.as_ref().map(|a| {
        let file = a.password_file.as_ref().map(|f| folder.join(f).into());
        let url = policy::with_password(&a.url.clone().into(), file.as_ref())?;
        Login::parse(&url, &[], Duration::ZERO)
    });
    let analyser = analyser.transpose().map_err(|e| wrong(format!("[analyser]: {e}")))?;
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
        analyser,
        spool: folder.join(text.spool),
        batches: folder.join(text.batches),
        max_reports: text.max_reports,
        reports_per_minute: text.reports_per_minute,
        forwarded_for: text.forwarded_for,
        writers: text.writers,
    })
}

/// The rules of a collection: its description's, which everybody who answers has seen, or, where it has none, this file's.
fn rules_of(collection: &Collection, text: &Text) -> Result<Rules, String> {
    let own = text.min_batch.is_some()
        || text.max_delay.is_some()
        || text.min_group.is_some()
        || text.group_epsilon.is_some()
        || text.counted_per_writer.is_some();
    let shuffle = match collection.shuffle() {
        Some(_) if own => {
            return Err("the description has the rules by which reports go out: remove min_batch, max_delay, min_group, \
                group_epsilon and counted_per_writer here, or give such a collection a shuffler of its own"
                .into());
        }
        Some(shuffle) => shuffle.clone(),
        None => {
            let needed = |key: &str, value: Option<u64>| {
                value.ok_or_else(|| format!("the description has no rules: write {key} here"))
            };
            Shuffle {
                min_batch: needed("min_batch", text.min_batch)?,
                max_delay: needed("max_delay", text.max_delay)?,
                min_group: needed("min_group", text.min_group)?,
                group_epsilon: text.group_epsilon.clone().unwrap_or_else(|| "1".into()),
                counted_per_writer: text.counted_per_writer.unwrap_or(1),
            }
        }
    };
    let epsilon = BigDecimal::from_str(&shuffle.group_epsilon).ok().and_then(|e| dp::ratio(&e));
    let epsilon = epsilon.ok_or("group_epsilon is a decimal in quotes, such as \"1\"")?;
    let Shuffle { min_batch, max_delay, min_group, counted_per_writer, .. } = shuffle;
    Rules::new(min_batch, max_delay, min_group, counted_per_writer, &epsilon).map_err(|e| e.to_string())
}
