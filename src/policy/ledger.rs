//! `[ledger]`.

use super::environment::expand;
use super::error::{At, Findings};
use super::given::Given;
use super::keys::{Key, Keys, REQUIRED};
use super::model::{LedgerDatabase, LedgerLocation};
use super::reader::{Section, shorten};
use super::server_url::ServerUrl;
use super::url::leaves_its_part;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// The schema, where the policy names none.
const SCHEMA: &str = "noisegate_ledger";
/// Where this proxy notes the end of a ledger in a database, where the policy does not say.
const MARK: &str = "noisegate.mark";
/// What the database gets to answer, where the policy does not say.
const TIMEOUT: Duration = Duration::from_secs(10);

impl fmt::Display for LedgerDatabase {
    /// Schema, database and host: nothing of the URL that may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.schema)?;
        let at = self.url.shown();
        let database = if at.database.is_empty() { at.user } else { at.database };
        write!(f, " of database {database:?} at {}", at.host)
    }
}

/// Keys of `[ledger]`.
pub(super) const LEDGER: Keys = Keys {
    section: "[ledger]",
    list: &[
        Key::of("url", "`sqlite:` and a path, or a `postgres://` URL", REQUIRED, "\"sqlite:noisegate.db\"")
            .says("What keeps the budgets, made by `noisegate budget create`: a file for one proxy, or a database that any number of proxies share."),
        Key::of("schema", "string", "\"noisegate_ledger\"", "\"books\"")
            .says("The schema of a ledger in PostgreSQL; nothing else is in it."),
        Key::of("password_file", "path", "the file that the variable `PGPASSFILE` names", "\"ledger.pgpass\"")
            .says("The password of a ledger in PostgreSQL whose URL has none, as in `[backend]`."),
        Key::of("timeout", "time span", "\"10s\"", "\"2s\"")
            .says("What a ledger in PostgreSQL gets to answer; then statements are refused (57P03)."),
        Key::of("mark", "path", "the file `noisegate.mark` beside the policy", "\"/var/lib/noisegate/ledger.mark\"")
            .says("Where this proxy notes which entry of a ledger in PostgreSQL is the last, so that a restore that lost some is noticed. On its own disk, where it may write; that of a file is beside it, with `-mark` after its name."),
        Key::of("text", "boolean", "false", "true")
            .says("Entries hold the text that the database was sent, with the constants that analysts wrote; without it, a hash. The console shows owners the texts of statements, too."),
    ],
    later: &[],
};

pub(super) fn ledger(root: &Section<'_, '_>, base: &Path, f: &mut Findings) -> Option<LedgerLocation> {
    let example = "url = \"sqlite:noisegate.db\"";
    let Some(section) = root.section("ledger", f) else {
        if root.get("ledger").is_none() {
            let hint = format!("write [ledger] with {example}: where the budgets are kept");
            f.error_in_file("the policy has no [ledger]", hint);
        }
        return None;
    };
    section.keys(&LEDGER, f);
    let url = section.required_string("url", example, f)?;
    let url = expand("url", url, f)?;
    if is_postgres(url.value.reveal()) {
        return database(&section, url, base, f).map(LedgerLocation::Postgres);
    }
    warn_of_unused(&section, f);
    match url.value.reveal().strip_prefix("sqlite:") {
        Some(path) if !path.is_empty() && path != ":memory:" => {
            let named = |url: String| PathBuf::from(url.strip_prefix("sqlite:").unwrap_or(&url));
            Some(LedgerLocation::Sqlite(url.value.map(named).within(base)))
        }
        _ => {
            f.error(
                &url.span,
                "the ledger's url names neither a SQLite file nor a PostgreSQL database",
                format!("write {example}"),
            );
            None
        }
    }
}

/// `ledger.text`. What is wrong with the section is reported by [`ledger`].
pub(super) fn ledger_text(root: &Section<'_, '_>, f: &mut Findings) -> bool {
    if !root.get("ledger").is_some_and(|l| l.get_ref().is_table()) {
        return false;
    }
    let section = root.section("ledger", f);
    section.and_then(|s| s.boolean("text", f)).is_some_and(|b| b.value)
}

/// Whether a URL leads to PostgreSQL.
fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

/// The keys that a ledger in a file has no use for.
fn warn_of_unused(section: &Section<'_, '_>, f: &mut Findings) {
    for (key, _) in section.entries() {
        if ["schema", "password_file", "timeout", "mark"].contains(&key.value.as_str()) {
            let what = format!("{} in [ledger] is for ledgers in PostgreSQL; this one is a file", key.value);
            f.warn(&key.span, what, "remove it, or write url = \"postgres://…\"");
        }
    }
}

/// The rest of `[ledger]`, once its URL is known to lead to PostgreSQL.
fn database(
    section: &Section<'_, '_>,
    url: At<Given<String>>,
    base: &Path,
    f: &mut Findings,
) -> Option<LedgerDatabase> {
    let why = match ServerUrl::from_str(url.value.reveal()) {
        Ok(u) if !url.value.keeps_its_parts(&u.config) => {
            leaves_its_part("url", &url.span, f);
            return None;
        }
        Ok(u) if !u.config.get_hosts().is_empty() && u.config.get_user().is_some() => None,
        Ok(_) => Some("it needs a user and a host".into()),
        Err(why) => Some(why),
    };
    let usable = why.is_none();
    if let Some(why) = why {
        // The text is not repeated: it may hold a password.
        f.error(
            &url.span,
            format!("the ledger's url is no use: {why}"),
            "write for example: url = \"postgres://noisegate_ledger@127.0.0.1/books\"",
        );
    }
    let schema = match section.string("schema", &format!("schema = \"{SCHEMA}\""), f) {
        // PostgreSQL cuts longer names off, and keeps `pg_` for itself.
        Some(s) if s.value.is_empty() || s.value.len() > 63 || s.value.starts_with("pg_") => {
            let what = format!("schema = {:?} cannot be the name of a schema", shorten(&s.value));
            f.error(&s.span, what, format!("write for example: schema = \"{SCHEMA}\""));
            return None;
        }
        Some(s) => s.value,
        None => SCHEMA.to_owned(),
    };
    let password_file = match section.get("password_file") {
        None => None,
        Some(_) => {
            let written = section.required_string("password_file", "password_file = \"ledger.pgpass\"", f)?;
            Some(expand("password_file", written, f)?.value.map(PathBuf::from).within(base))
        }
    };
    let timeout = section.duration("timeout", f).unwrap_or(TIMEOUT);
    let mark = match section.get("mark") {
        None => base.join(MARK).into(),
        Some(_) => {
            let written = section.required_string("mark", "mark = \"/var/lib/noisegate/ledger.mark\"", f)?;
            expand("mark", written, f)?.value.map(PathBuf::from).within(base)
        }
    };
    usable.then_some(LedgerDatabase { url: url.value, password_file, schema, timeout, mark })
}
