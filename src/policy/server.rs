//! `[backend]`, `[ledger]`, `[limits]`: what needs no schema and changes no answer.

use super::environment::expand;
use super::error::{At, Findings, Span};
use super::given::Given;
use super::keys::{Key, Keys, REQUIRED};
use super::ledger;
use super::model::{Backend, LedgerLocation, Limits};
use super::reader::{Section, shorten};
use super::server_url::ServerUrl;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// A connection string, and the user it names.
pub(super) fn url(
    section: &Section<'_, '_>,
    key: &str,
    user: &str,
    f: &mut Findings,
) -> Option<(At<Given<String>>, Option<String>)> {
    let example = format!("{key} = \"postgres://{user}@127.0.0.1/bikes\"");
    let url = section.required_string(key, &example, f)?;
    let url = expand(key, url, f)?;
    match ServerUrl::from_str(url.value.reveal()) {
        Ok(ServerUrl { config, .. }) if !url.value.keeps_its_parts(&config) => {
            leaves_its_part(key, &url.span, f);
            None
        }
        Ok(ServerUrl { config, .. }) if !config.get_hosts().is_empty() => {
            let user = config.get_user().map(str::to_owned);
            Some((url, user))
        }
        // The text is not repeated: it may hold a password.
        unusable => {
            let why = unusable.err().unwrap_or_else(|| "it names no host".into());
            let what = format!("{key} is no use: {why}");
            f.error(&url.span, what, format!("write for example: {example}"));
            None
        }
    }
}

/// A variable of a URL is more than the part of it in which it stands. What it says is not repeated, and not looked up.
pub(super) fn leaves_its_part(key: &str, span: &Span, f: &mut Findings) {
    let hint =
        "percent-encode the variable's value (@ is %40, / is %2F), or put the password into password_file";
    f.error(
        span,
        format!("{key}: the value of a variable ends the part of the URL in which it stands"),
        hint,
    );
}

/// Keys of `[backend]`.
pub(super) const BACKEND: Keys = Keys {
    section: "[backend]",
    list: &[
        Key {
            name: "url",
            ty: "URL",
            default: REQUIRED,
            example: "\"postgres://noisegate@127.0.0.1/bikes\"",
            purpose: "The database, by the login that reads the policy's tables. `sslmode` and its kin are [libpq's](operations.md#tls-to-the-database).",
        },
        Key {
            name: "finish_url",
            ty: "URL",
            default: REQUIRED,
            example: "\"postgres://noisegate_finish@127.0.0.1/bikes\"",
            purpose: "The same database, by another login, which reads public tables only.",
        },
        Key {
            name: "passthrough_url",
            ty: "URL",
            default: "none",
            example: "\"postgres://owner@127.0.0.1/bikes\"",
            purpose: "The same database, by a third login, which reads for roles with `mode = \"passthrough\"` and nobody else.",
        },
        Key {
            name: "collect_url",
            ty: "URL",
            default: "none",
            example: "\"postgres://noisegate_collect@127.0.0.1/bikes\"",
            purpose: "The same database, by a login that may INSERT into the tables of `[collect]`, and nothing else. They need it.",
        },
        Key {
            name: "password_file",
            ty: "path",
            default: "the file that the variable `PGPASSFILE` names",
            example: "\"noisegate.pgpass\"",
            purpose: "Passwords for URLs that have none, in libpq's format `host:port:database:user:password`; only its owner may read it.",
        },
        Key {
            name: "pool",
            ty: "whole number, 1 to 1000",
            default: "8",
            example: "16",
            purpose: "Connections of each login. The finish login has a quarter more, for typing statements.",
        },
        Key {
            name: "pool_per_user",
            ty: "whole number, 1 to `pool`",
            default: "half of `pool`",
            example: "4",
            purpose: "Statements of one user that run at once on each login; others of the user wait.",
        },
        Key {
            name: "pool_per_user_steady",
            ty: "whole number, 1 to `pool_per_user`",
            default: "a quarter of `pool_per_user`",
            example: "2",
            purpose: "The same for a user whose statements have kept more than so many running for a quarter of a minute, as long as others ask, too.",
        },
        Key {
            name: "public_timeout",
            ty: "time span",
            default: "\"20s\", or `statement_timeout` where that is shorter",
            example: "\"1min\"",
            purpose: "Longest time that a statement over public tables alone may take on the database, and that its reader may take nothing.",
        },
        Key {
            name: "statement_timeout",
            ty: "time span",
            default: "\"60s\"",
            example: "\"5min\"",
            purpose: "Longest time that one statement may take on the database.",
        },
        Key {
            name: "work_mem",
            ty: "size: kB, MB, GB",
            default: "32MB, less where `pool` is over 8: 256 MB in all",
            example: "\"64MB\"",
            purpose: "Memory of sessions that read private rows.",
        },
        Key {
            name: "schema",
            ty: "path",
            default: "the policy's name with the ending `.schema.json`",
            example: "\"bikes.schema.json\"",
            purpose: "The schema's snapshot, which `check --write-schema` writes, and `explain` and `check` read without the database.",
        },
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

/// Keys of `[ledger]`.
pub(super) const LEDGER: Keys = Keys {
    section: "[ledger]",
    list: &[
        Key {
            name: "url",
            ty: "`sqlite:` and a path, or a `postgres://` URL",
            default: REQUIRED,
            example: "\"sqlite:noisegate.db\"",
            purpose: "What keeps the budgets, made by `noisegate budget create`: a file for one proxy, or a database that any number of proxies share.",
        },
        Key {
            name: "schema",
            ty: "string",
            default: "\"noisegate_ledger\"",
            example: "\"books\"",
            purpose: "The schema of a ledger in PostgreSQL; nothing else is in it.",
        },
        Key {
            name: "password_file",
            ty: "path",
            default: "the file that the variable `PGPASSFILE` names",
            example: "\"ledger.pgpass\"",
            purpose: "The password of a ledger in PostgreSQL whose URL has none, as in `[backend]`.",
        },
        Key {
            name: "timeout",
            ty: "time span",
            default: "\"10s\"",
            example: "\"2s\"",
            purpose: "What a ledger in PostgreSQL gets to answer; then statements are refused (57P03).",
        },
        Key {
            name: "mark",
            ty: "path",
            default: "the file `noisegate.mark` beside the policy",
            example: "\"/var/lib/noisegate/ledger.mark\"",
            purpose: "Where this proxy notes which entry of a ledger in PostgreSQL is the last, so that a restore that lost some is noticed. On its own disk, where it may write; that of a file is beside it, with `-mark` after its name.",
        },
        Key {
            name: "text",
            ty: "boolean",
            default: "false",
            example: "true",
            purpose: "Entries hold the text that the database was sent, with the constants that analysts wrote; without it, a hash. The console shows owners the texts of statements, too.",
        },
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
    if ledger::is_postgres(url.value.reveal()) {
        return ledger::database(&section, url, base, f).map(LedgerLocation::Postgres);
    }
    ledger::warn_of_unused(&section, f);
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

/// Keys of `[limits]`.
pub(super) const LIMITS: Keys = Keys {
    section: "[limits]",
    list: &[
        Key {
            name: "max_statement_bytes",
            ty: "whole number, up to 2^30",
            default: "1048576",
            example: "65536",
            purpose: "Bytes of one message, and so of one statement.",
        },
        Key {
            name: "max_in_list",
            ty: "whole number",
            default: "10000",
            example: "100",
            purpose: "Items in one IN list.",
        },
        Key {
            name: "max_depth",
            ty: "whole number, up to 200",
            default: "100",
            example: "50",
            purpose: "Nesting of brackets and queries; with operators in a row, a statement may be ten times as deep.",
        },
        Key {
            name: "max_expressions",
            ty: "whole number",
            default: "200000",
            example: "50000",
            purpose: "Expressions that a statement may come to, over all that is made of it: its words, resolved names, subqueries read as part of the query, the plan. PostgreSQL gets a quarter of them, once it has put subqueries into each other.",
        },
        Key {
            name: "max_fan_out",
            ty: "whole number",
            default: "1000",
            example: "5000",
            purpose: "Rows of public tables that one private row may meet in joins that no key narrows; how long a statement takes would tell of chosen rows.",
        },
        Key {
            name: "max_joined_rows",
            ty: "whole number",
            default: "1000",
            example: "5000",
            purpose: "Rows of one unit that each of its rows may meet in a join of private tables that no key narrows; of the others of that unit none is read.",
        },
        Key {
            name: "max_row_cost",
            ty: "whole number",
            default: "10000000",
            example: "50000000",
            purpose: "Steps, of about a nanosecond, that the expressions of a statement may take for one private row and all that it meets.",
        },
        Key {
            name: "max_text_bytes",
            ty: "whole number",
            default: "16777216",
            example: "1048576",
            purpose: "Bytes that the texts which a statement computes may take for one row, all together, by its constants and functions; a cell of a table counts 64.",
        },
        Key {
            name: "max_statements",
            ty: "whole number",
            default: "100",
            example: "10",
            purpose: "Statements in one message.",
        },
        Key {
            name: "max_public_groups",
            ty: "whole number",
            default: "10000",
            example: "5000",
            purpose: "Public groups of a release; larger products count as private.",
        },
        Key {
            name: "max_result_groups",
            ty: "whole number",
            default: "1000000",
            example: "100000",
            purpose: "Groups that a fetch may return.",
        },
        Key {
            name: "max_connections",
            ty: "whole number",
            default: "200",
            example: "500",
            purpose: "Logged-in clients.",
        },
        Key {
            name: "max_connections_per_user",
            ty: "whole number",
            default: "50",
            example: "10",
            purpose: "Logged-in clients of one user.",
        },
        Key {
            name: "max_prepared",
            ty: "whole number",
            default: "1000",
            example: "100",
            purpose: "Prepared statements of one session.",
        },
        Key {
            name: "max_waiting_rows",
            ty: "whole number, up to 100000000",
            default: "1000000",
            example: "100000",
            purpose: "Rows for what is collected that wait in one session for its COMMIT, randomised: about a hundred bytes each.",
        },
        Key {
            name: "max_portals",
            ty: "whole number",
            default: "1000",
            example: "100",
            purpose: "Portals of one session.",
        },
        Key {
            name: "max_portal_bytes",
            ty: "whole number",
            default: "67108864",
            example: "1048576",
            purpose: "Bytes of rows that the cursors and suspended portals of one session keep in memory. What is beyond goes to disk.",
        },
        Key {
            name: "max_spool_bytes",
            ty: "whole number",
            default: "1073741824",
            example: "10737418240",
            purpose: "Bytes of rows that the cursors and suspended portals of one session keep on disk, in a file without a name under `TMPDIR`, which vanishes with the session.",
        },
        Key {
            name: "max_user_spool_bytes",
            ty: "whole number",
            default: "4294967296",
            example: "10737418240",
            purpose: "Bytes on disk, of all sessions of one user.",
        },
        Key {
            name: "max_total_spool_bytes",
            ty: "whole number",
            default: "17179869184",
            example: "107374182400",
            purpose: "Bytes on disk, of all sessions.",
        },
        Key {
            name: "max_session_bytes",
            ty: "whole number",
            default: "268435456",
            example: "67108864",
            purpose: "Bytes of memory that one session's prepared statements, portals, kept rows and the statement that runs take, by an estimate of their syntax trees and plans.",
        },
        Key {
            name: "max_user_bytes",
            ty: "whole number",
            default: "536870912",
            example: "1073741824",
            purpose: "Bytes of memory, of all sessions of one user.",
        },
        Key {
            name: "max_total_bytes",
            ty: "whole number",
            default: "2147483648",
            example: "8589934592",
            purpose: "Bytes of memory, of all sessions.",
        },
        Key {
            name: "max_logins_per_address",
            ty: "whole number",
            default: "50",
            example: "200",
            purpose: "Clients of one address that have connected and not logged in yet. All Unix sockets together are one address, and so is each /64 of IPv6.",
        },
        Key {
            name: "login_timeout",
            ty: "time span",
            default: "\"10s\"",
            example: "\"30s\"",
            purpose: "The time that a client has to log in.",
        },
        Key {
            name: "first_byte_timeout",
            ty: "time span",
            default: "\"3s\"",
            example: "\"10s\"",
            purpose: "The time that a client has, of `login_timeout`, until the first byte of what it wants.",
        },
        Key {
            name: "max_backend_errors",
            ty: "whole number",
            default: "5",
            example: "3",
            purpose: "Reads of private rows by one user that may fail in a day, before the user is suspended. A read counts from when it begins until it has ended well, so no more run at once; others wait.",
        },
    ],
    later: &[],
};

pub(super) fn limits(root: &Section<'_, '_>, f: &mut Findings) -> Limits {
    let mut limits = Limits::default();
    let Some(section) = root.section("limits", f) else { return limits };
    section.keys(&LIMITS, f);
    let mut set = |key: &str, max: u64, to: &mut usize| {
        if let Some(n) = section.count(key, max, f) {
            *to = usize::try_from(n).unwrap_or(usize::MAX);
        }
    };
    // 1 GiB is PostgreSQL's own limit of a message; a depth must fit the stack of the threads that recurse.
    set("max_statement_bytes", 1 << 30, &mut limits.max_statement_bytes);
    set("max_in_list", 10_000_000, &mut limits.max_in_list);
    set("max_depth", 200, &mut limits.max_depth);
    set("max_expressions", 100_000_000, &mut limits.max_expressions);
    set("max_statements", 1_000_000, &mut limits.max_statements);
    set("max_public_groups", 100_000_000, &mut limits.max_public_groups);
    set("max_result_groups", 1_000_000_000, &mut limits.max_result_groups);
    set("max_connections", 1_000_000, &mut limits.max_connections);
    set("max_connections_per_user", 1_000_000, &mut limits.max_connections_per_user);
    set("max_logins_per_address", 1_000_000, &mut limits.max_logins_per_address);
    set("max_prepared", 1_000_000, &mut limits.max_prepared);
    set("max_waiting_rows", 100_000_000, &mut limits.max_waiting_rows);
    set("max_portals", 1_000_000, &mut limits.max_portals);
    set("max_portal_bytes", 1 << 40, &mut limits.max_portal_bytes);
    let mut long = |key: &str, max: u64, to: &mut u64| {
        if let Some(n) = section.count(key, max, f) {
            *to = n;
        }
    };
    long("max_spool_bytes", 1 << 50, &mut limits.max_spool_bytes);
    long("max_user_spool_bytes", 1 << 50, &mut limits.max_user_spool_bytes);
    long("max_total_spool_bytes", 1 << 50, &mut limits.max_total_spool_bytes);
    long("max_session_bytes", 1 << 50, &mut limits.max_session_bytes);
    long("max_user_bytes", 1 << 50, &mut limits.max_user_bytes);
    long("max_total_bytes", 1 << 50, &mut limits.max_total_bytes);
    long("max_fan_out", 1_000_000_000, &mut limits.max_fan_out);
    long("max_joined_rows", 1_000_000, &mut limits.max_joined_rows);
    long("max_row_cost", 1_000_000_000_000, &mut limits.max_row_cost);
    long("max_text_bytes", 1 << 40, &mut limits.max_text_bytes);
    for (key, to) in
        [("login_timeout", &mut limits.login_timeout), ("first_byte_timeout", &mut limits.first_byte_timeout)]
    {
        if let Some(t) = section.duration(key, f) {
            *to = t;
        }
    }
    if let Some(n) = section.count("max_backend_errors", 1_000_000, f) {
        limits.max_backend_errors = n as u32;
    }
    limits
}
