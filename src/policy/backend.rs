//! `[backend]`.

use super::environment::expand;
use super::error::{At, Findings};
use super::given::Given;
use super::keys::{Key, Keys, REQUIRED};
use super::model::Backend;
use super::reader::{Section, shorten};
use super::url::url;
use schema::Engine;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Keys of `[backend]`.
pub(super) const BACKEND: Keys = Keys {
    section: "[backend]",
    list: &[
        Key::of("url", "URL", REQUIRED, "\"postgres://noisegate@127.0.0.1/bikes\"")
            .says("The database, by the login that reads the policy's tables. `sslmode` and its kin are [libpq's](operations.md#tls-to-the-database)."),
        Key::of("finish_url", "URL", REQUIRED, "\"postgres://noisegate_finish@127.0.0.1/bikes\"")
            .says("The same database, by another login, which reads public tables only."),
        Key::of("passthrough_url", "URL", "none", "\"postgres://owner@127.0.0.1/bikes\"")
            .says("The same database, by a third login, which reads for roles with `mode = \"passthrough\"` and nobody else."),
        Key::of("collect_url", "URL", "none", "\"postgres://noisegate_collect@127.0.0.1/bikes\"")
            .says("The same database, by a login that may INSERT into the tables of `[collect]`, and nothing else. They need it."),
        Key::of("engine", "`\"postgresql\"` or `\"citus\"`", "\"postgresql\"", "\"postgresql\"")
            .says("The engine that answers for the database: PostgreSQL, or [Citus](operations.md#citus), whose coordinator `url` names."),
        Key::of("password_file", "path", "the file that the variable `PGPASSFILE` names", "\"noisegate.pgpass\"")
            .says("Passwords for URLs that have none, in libpq's format `host:port:database:user:password`; only its owner may read it."),
        Key::of("pool", "whole number, 1 to 1000", "8", "16")
            .says("Connections of each login. The finish login has a quarter more, for typing statements."),
        Key::of("pool_per_user", "whole number, 1 to `pool`", "half of `pool`", "4")
            .says("Statements of one user that run at once on each login; others of the user wait."),
        Key::of("pool_per_user_steady", "whole number, 1 to `pool_per_user`", "a quarter of `pool_per_user`", "2")
            .says("The same for a user whose statements have kept more than so many running for a quarter of a minute, as long as others ask, too."),
        Key::of("public_timeout", "time span", "\"20s\", or `statement_timeout` where that is shorter", "\"1min\"")
            .says("Longest time that a statement over public tables alone may take on the database, and that its reader may take nothing."),
        Key::of("statement_timeout", "time span", "\"60s\"", "\"5min\"")
            .says("Longest time that one statement may take on the database."),
        Key::of("work_mem", "size: kB, MB, GB", "32MB, less where `pool` is over 8: 256 MB in all", "\"64MB\"")
            .says("Memory of sessions that read private rows."),
        Key::of("schema", "path", "the policy's name with the ending `.schema.json`", "\"bikes.schema.json\"")
            .says("The schema's snapshot, which `check --write-schema` writes, and `explain` and `check` read without the database."),
    ],
    later: &[],
};

/// `file` is the policy's name in messages, `base` its folder.
pub(super) fn backend(root: &Section<'_, '_>, file: &str, base: &Path, f: &mut Findings) -> Option<Backend> {
    let Some(section) = root.section("backend", f) else {
        if root.get("backend").is_none() {
            let hint = "write [backend] with url and finish_url: the database to read, by two logins";
            f.error_in_file("the policy has no [backend]", hint);
        }
        return None;
    };
    section.keys(&BACKEND, f);
    let shown = |at: &At<Given<String>>| format!("{:?}", at.value.shown().user);
    let fetch = url(&section, "url", "noisegate", f);
    let finish = url(&section, "finish_url", "noisegate_finish", f);
    if let (Some((_, Some(a))), Some((at, Some(b)))) = (&fetch, &finish)
        && a == b
    {
        f.error(
            &at.span,
            format!("finish_url logs in as {}, as url does", shown(at)),
            "make a second login that can read public tables only: finish must not reach private rows",
        );
    }
    let direct = section.get("passthrough_url").and_then(|_| url(&section, "passthrough_url", "owner", f));
    if let Some((at, Some(user))) = &direct
        && [&fetch, &finish].into_iter().flatten().any(|(_, other)| other.as_ref() == Some(user))
    {
        f.error(
            &at.span,
            format!("passthrough_url logs in as {}, as another URL does", shown(at)),
            "make a third login: what analysts are answered by must not be the way of owners",
        );
    }
    let collect =
        section.get("collect_url").and_then(|_| url(&section, "collect_url", "noisegate_collect", f));
    if let Some((at, Some(user))) = &collect
        && [&fetch, &finish, &direct].into_iter().flatten().any(|(_, other)| other.as_ref() == Some(user))
    {
        f.error(
            &at.span,
            format!("collect_url logs in as {}, as another URL does", shown(at)),
            "make a login of its own, which may INSERT into the tables of [collect] and read nothing",
        );
    }
    let engine = section.string("engine", "engine = \"citus\"", f).and_then(|s| {
        let known = Engine::WORDS.into_iter().find(|(word, _)| *word == s.value);
        if known.is_none() {
            let hint = "write engine = \"postgresql\" or engine = \"citus\"";
            f.error(&s.span, format!("engine = {:?} is not known", shorten(&s.value)), hint);
        }
        known.map(|(_, engine)| engine)
    });
    let pool = section.count("pool", 1000, f).unwrap_or(8);
    let of_each = |key, most: u64, share: u64, f: &mut Findings| {
        let n = section.count(key, most, f).unwrap_or((most / share).max(1));
        u32::try_from(n).unwrap_or(u32::MAX)
    };
    let pool_per_user = of_each("pool_per_user", pool, 2, f);
    let pool_per_user_steady = of_each("pool_per_user_steady", pool_per_user.into(), 4, f);
    let statement_timeout = section.duration("statement_timeout", f).unwrap_or(Duration::from_secs(60));
    let public_timeout = section.duration("public_timeout", f).unwrap_or(Duration::from_secs(20));
    let public_timeout = public_timeout.min(statement_timeout);
    let work_mem = section.string("work_mem", "work_mem = \"64MB\"", f).and_then(|s| {
        let digits = s.value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = s.value.get(digits.len()..).unwrap_or_default();
        let number = digits.parse::<u32>().is_ok_and(|n| n > 0);
        if number && matches!(unit, "kB" | "MB" | "GB") {
            return Some(s.value);
        }
        let what = format!("work_mem = {:?} is not a size", shorten(&s.value));
        f.error(&s.span, what, "write for example: work_mem = \"64MB\" (units: kB, MB, GB)");
        None
    });
    let mut file_name = |key: &str, example: &str| {
        section.get(key)?;
        let written = section.required_string(key, &format!("{key} = {example:?}"), f)?;
        expand(key, written, f).map(|s| s.value.map(PathBuf::from).within(base))
    };
    let schema = file_name("schema", "bikes.schema.json");
    let password_file = file_name("password_file", "noisegate.pgpass");
    let beside =
        || Path::new(file).with_extension("schema.json").file_name().map(PathBuf::from).unwrap_or_default();
    let schema = schema.unwrap_or_else(|| base.join(beside()).into());
    let (url, finish_url) = (fetch?.0.value, finish?.0.value);
    let pool = pool as usize;
    let passthrough_url = direct.map(|(at, _)| at.value);
    let collect_url = collect.map(|(at, _)| at.value);
    Some(Backend {
        engine: engine.unwrap_or_default(),
        url,
        finish_url,
        passthrough_url,
        collect_url,
        password_file,
        pool,
        pool_per_user,
        pool_per_user_steady,
        public_timeout,
        statement_timeout,
        work_mem,
        schema,
    })
}
