//! The address of a database, as libpq writes it: what tokio-postgres understands of it, and how TLS is used.

use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::str::FromStr;
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, SslMode, SslNegotiation};

/// A `postgres://` URL, or libpq's `key=value` form.
#[derive(Clone)]
pub struct ServerUrl {
    /// All but what follows.
    pub config: Config,
    /// Whom to believe.
    pub tls: ServerTls,
}

/// Demands on TLS with a server: libpq's `sslmode`, `sslrootcert`, `sslcert` and `sslkey`. Whether
/// there is TLS at all is `Config::get_ssl_mode`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerTls {
    /// Trust in the server's certificate; without one, any certificate will do.
    pub trust: Option<Trust>,
    /// The certificate must be for the host that the URL names.
    pub named: bool,
    /// The certificate and the key that are shown to a server that asks for one.
    pub own: Option<(PathBuf, PathBuf)>,
}

/// Authorities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Certificates of the operating system.
    System,
    /// Certificates of a file in PEM form.
    File(PathBuf),
}

/// What tokio-postgres does not understand, or less of than libpq.
const KEYS: &[&str] = &["sslmode", "sslrootcert", "sslcert", "sslkey"];

impl FromStr for ServerUrl {
    type Err = String;

    /// What is wrong is told without a word of the text, which may hold a password.
    fn from_str(text: &str) -> Result<Self, String> {
        let (rest, keys) = split(text);
        let mut config: Config = rest.parse().map_err(|e| {
            format!("it is not a PostgreSQL connection URL ({e}); write postgres://user@host/database")
        })?;
        let tls = tls(&keys, &mut config)?;
        Ok(Self { config, tls })
    }
}

fn tls(keys: &BTreeMap<&'static str, String>, config: &mut Config) -> Result<ServerTls, String> {
    let get = |key: &str| keys.get(key).map(String::as_str).filter(|v| !v.is_empty());
    let trust = get("sslrootcert").map(|v| match v {
        "system" => Trust::System,
        file => Trust::File(file.into()),
    });
    let system = trust == Some(Trust::System);
    let mode = get("sslmode").unwrap_or(if system { "verify-full" } else { "prefer" });
    if system && mode != "verify-full" {
        return Err(
            "sslrootcert=system needs sslmode=verify-full: anybody has a certificate of a public authority"
                .into(),
        );
    }
    let strict = mode.starts_with("verify-");
    config.ssl_mode(match mode {
        "disable" => SslMode::Disable,
        "prefer" => SslMode::Prefer,
        "require" | "verify-ca" | "verify-full" => SslMode::Require,
        "allow" => {
            return Err("sslmode=allow is not supported: write prefer, which asks for TLS first".into());
        }
        _ => return Err("sslmode is one of disable, prefer, require, verify-ca and verify-full".into()),
    });
    if strict && trust.is_none() {
        return Err(format!("sslmode={mode} needs sslrootcert=FILE, or sslrootcert=system"));
    }
    let sure = config.get_ssl_mode() == SslMode::Require;
    if config.get_ssl_negotiation() == SslNegotiation::Direct && !sure {
        return Err("sslnegotiation=direct needs sslmode=require, verify-ca or verify-full".into());
    }
    if config.get_channel_binding() == ChannelBinding::Require && config.get_ssl_mode() == SslMode::Disable {
        return Err("channel_binding=require needs TLS: remove sslmode=disable".into());
    }
    let own = match (get("sslcert"), get("sslkey")) {
        (Some(cert), Some(key)) => Some((cert.into(), key.into())),
        (None, None) => None,
        _ => return Err("sslcert and sslkey are written together".into()),
    };
    // As in libpq, authorities that are named are asked by `require` too.
    let trust = trust.filter(|_| sure);
    Ok(ServerTls { trust, named: mode == "verify-full", own })
}

/// The text without our keys, and their values; of one that is written twice the last.
fn split(text: &str) -> (String, BTreeMap<&'static str, String>) {
    let ours = |key: &str| KEYS.iter().copied().find(|k| *k == key);
    let mut found = BTreeMap::new();
    if text.starts_with("postgres://") || text.starts_with("postgresql://") {
        let Some((before, query)) = text.split_once('?') else { return (text.to_owned(), found) };
        let mut rest = Vec::new();
        for part in query.split('&') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match ours(&percent_decode_str(key).decode_utf8_lossy()) {
                Some(key) => {
                    drop(found.insert(key, percent_decode_str(value).decode_utf8_lossy().into_owned()))
                }
                None => rest.push(part),
            }
        }
        return (format!("{before}?{}", rest.join("&")), found);
    }
    let mut rest = text.to_owned();
    for (at, key, value) in words(text).into_iter().rev() {
        if let Some(key) = ours(&key) {
            rest.replace_range(at, "");
            found.entry(key).or_insert(value);
        }
    }
    (rest, found)
}

/// Where each `key = value` stands, up to the first thing that is none.
fn words(text: &str) -> Vec<(Range<usize>, String, String)> {
    let mut out = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let start = text.len() - rest.len();
        let Some((key, value)) = rest.split_once('=') else { return out };
        let Some((value, after)) = value_of(value.trim_start()) else { return out };
        rest = after.trim_start();
        out.push((start..text.len() - rest.len(), key.trim_end().to_owned(), value));
    }
}

/// A value, in quotes or without, and what stands behind it.
fn value_of(text: &str) -> Option<(String, &str)> {
    let (quoted, text) = text.strip_prefix('\'').map_or((false, text), |inner| (true, inner));
    let (mut out, mut chars) = (String::new(), text.chars());
    loop {
        let before = chars.as_str();
        match chars.next() {
            Some('\\') => out.push(chars.next()?),
            Some('\'') if quoted => return Some((out, chars.as_str())),
            Some(c) if quoted || !c.is_whitespace() => out.push(c),
            None if quoted => return None,
            _ => return Some((out, before)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tls(url: &str) -> (SslMode, ServerTls) {
        let url: ServerUrl = url.parse().unwrap();
        (url.config.get_ssl_mode(), url.tls)
    }

    #[test]
    fn modes_mean_what_they_mean_in_libpq() {
        let none = ServerTls::default();
        assert_eq!(tls("postgres://u@h/d"), (SslMode::Prefer, none.clone()));
        assert_eq!(tls("postgres://u@h/d?sslmode=disable&sslrootcert=/c"), (SslMode::Disable, none.clone()));
        assert_eq!(tls("postgres://u@h/d?sslmode=prefer&sslrootcert=/c"), (SslMode::Prefer, none.clone()));
        assert_eq!(tls("postgres://u@h/d?sslmode=require"), (SslMode::Require, none.clone()));
        let file = |named| ServerTls { trust: Some(Trust::File("/a b".into())), named, own: None };
        assert_eq!(
            tls("postgres://u@h/d?sslmode=require&sslrootcert=%2Fa%20b"),
            (SslMode::Require, file(false))
        );
        assert_eq!(
            tls("host=h user=u sslmode=verify-ca sslrootcert='/a b'"),
            (SslMode::Require, file(false))
        );
        assert_eq!(
            tls(r"sslrootcert = /a\ b host=h sslmode=verify-full user=u"),
            (SslMode::Require, file(true))
        );
        let system = ServerTls { trust: Some(Trust::System), named: true, own: None };
        assert_eq!(tls("postgres://u@h/d?sslrootcert=system"), (SslMode::Require, system));
        let own = ServerTls { own: Some(("/c".into(), "/k".into())), ..none };
        assert_eq!(tls("postgres://u@h/d?sslcert=/c&sslkey=/k"), (SslMode::Prefer, own));
        let last = "postgres://u@h/d?sslmode=disable&application_name=a&sslmode=require";
        assert_eq!(tls(last).0, SslMode::Require);
        assert_eq!(tls("host=h sslmode=disable user=u sslmode=require").0, SslMode::Require);
    }

    #[test]
    fn what_would_be_less_safe_than_it_reads_is_refused() {
        for (url, word) in [
            ("postgres://u@h/d?sslmode=verify-full", "needs sslrootcert"),
            ("postgres://u@h/d?sslmode=verify-ca", "needs sslrootcert"),
            ("postgres://u@h/d?sslmode=require&sslrootcert=system", "needs sslmode=verify-full"),
            ("postgres://u@h/d?sslmode=allow", "prefer"),
            ("postgres://u@h/d?sslmode=Require", "one of"),
            ("postgres://u@h/d?sslnegotiation=direct", "needs sslmode"),
            ("postgres://u@h/d?channel_binding=require&sslmode=disable", "needs TLS"),
            ("postgres://u@h/d?sslcert=/c", "together"),
            ("host=h password='secret sslmode=disable", "not a PostgreSQL connection URL"),
        ] {
            let error = url.parse::<ServerUrl>().err().unwrap();
            assert!(error.contains(word) && !error.contains("secret"), "{url}: {error}");
        }
    }

    #[test]
    fn a_password_may_look_like_a_key() {
        let url: ServerUrl = "host=h user=u password='a sslmode=disable' sslmode=require".parse().unwrap();
        assert_eq!(url.config.get_password(), Some(b"a sslmode=disable".as_slice()));
        assert_eq!(url.config.get_ssl_mode(), SslMode::Require);
        let url: ServerUrl = "postgres://u:p%26sslmode=x@h/d?sslmode=disable".parse().unwrap();
        assert_eq!(url.config.get_password(), Some(b"p&sslmode=x".as_slice()));
        assert_eq!(url.config.get_ssl_mode(), SslMode::Disable);
    }
}
