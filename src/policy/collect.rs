//! `[collect.NAME]`: what is collected by local differential privacy, held against the schema in `collect/check`.

mod check;
mod column;
mod encoder;
mod person;
mod raw;

pub(super) use check::{add_reports, check};
pub(super) use column::COLUMN;
pub(super) use raw::RawCollect;

use super::error::{At, Findings};
use super::keys::{Key, Keys, REQUIRED};
use super::model::{Backend, Collect, Collected, Encoder, Mode, Role, User, View};
use super::raw_table::RawTable;
use super::reader::{Section, shorten, text};
use std::path::Path;

/// Keys of `[collect.NAME]`.
pub(super) const COLLECT: Keys = Keys {
    section: "[collect.NAME]",
    list: &[
        Key::of("table", "string", "the name with `_reports` behind it", "\"survey_reports\"")
            .says("The table of the database that holds the reports: one column for each of `columns`, and no other. `check` prints its DDL."),
        Key::of("schema", "string", "\"public\"", "\"public\"")
            .says("Its schema."),
        Key::of("users", "list of strings", "nobody, without `roles`", "[\"form\"]")
            .says("Login names of those who write. They read nothing through noisegate."),
        Key::of("roles", "list of strings", "nobody, without `users`", "[\"devices\"]")
            .says("Roles whose users write, beside `users`."),
        Key::of("encoder", "`proxy` or `client`", "\"proxy\"", "\"proxy\"")
            .says("Who randomises: noisegate, before anything is logged, queued or stored; or whoever answers, with `noisegate collect encode` or its library: [encoding.md](encoding.md)."),
        Key::of("shuffler", "`none` or `process`", "\"none\"", "\"none\"")
            .says("Who drops order and identity: nobody but the proxy, which writes the rows of a transaction in a random order; or, with `encoder = \"client\"`, a process of its own, `noisegate collect shuffle`, whose login is among `users`."),
        Key::of("shuffler_key", "string", "needed with `encoder = \"client\"`", "\"noisegate-shuffler-public-…\"")
            .says("The shuffler's public key, as `noisegate collect key shuffler` prints it."),
        Key::of("analyser_key_file", "path", "needed with `encoder = \"client\"`", "\"analyser.key\"")
            .says("The secret key that opens the inner layer of reports, made by `noisegate collect key analyser`; nobody but its owner reads the file."),
        Key::of("min_batch", "whole number, 1 to 1000000", "1000", "5000")
            .says("Reports that the shuffler lets go together. This and the next four are part of the description that `noisegate collect describe` prints: who encodes, the shuffler and noisegate have the same or do not understand each other."),
        Key::of("max_delay", "time span of whole seconds", "\"1d\"", "\"6h\"")
            .says("After so long a smaller batch goes out, and is marked as small."),
        Key::of("min_group", "whole number, 1 to 1000000", "20", "100")
            .says("About so many reports of a group before any of it goes out; 1: groups are not held back."),
        Key::of("group_epsilon", "number, 1e-9 to 1000", "1", "0.5")
            .says("ε of the noise on that threshold."),
        Key::of("counted_per_writer", "whole number, 1 to 1000000", "1", "1")
            .says("Reports of one writer that count in a group."),
        Key::of("person", "string", "nobody is told apart", "\"device\"")
            .says("A column that rows have beside `columns`, and that says who gives them. It is never stored: what stands for a person is a digest under the key of `person_key_file`, in a file of its own."),
        Key::of("person_key_file", "path", "needed with `person`", "\"person.key\"")
            .says("32 bytes, or 64 hexadecimal digits (`openssl rand -hex 32`), in a file that nobody but its owner reads."),
        Key::of("epsilon", "number, 1e-9 to 1000", "without a limit, and without `window`", "3.0")
            .says("ε of all that one person says in a `window`: as many rows as fit, each at the sum of its columns' ε. Further ones are refused, whatever they say."),
        Key::of("window", "time span of whole seconds", "needed with `epsilon`", "\"30d\"")
            .says("How long that lasts; windows begin at the epoch."),
        Key::of("persons", "path", "the name with `.persons.db` behind it", "\"survey.persons.db\"")
            .says("The file that remembers, sealed under the person key, how many rows each person gave in a window. It is of one noisegate and one key; two policies of one folder name one each."),
        Key::of("permanent", "boolean", "false", "true")
            .says("Whoever says the same of a column again is randomised in the same way again, which tells nothing more (RAPPOR's permanent response). Each other value that they ever say adds the column's ε. Randomisers are `response` and `rounding`, whose reports are narrow."),
        Key::of("instant_epsilon", "number, 1e-9 to 1000", "needed with `permanent`", "2.0")
            .says("ε of the second, instantaneous layer of a row, which is drawn for each row anew and which its columns share equally: whatever two people's permanent responses are, a row is at most e^ε times as likely to be of the one as of the other. Without it equal reports would link all rows of a person."),
        Key::of("rows_per_person", "whole number, 1 to 1000000", "not known: intervals are refused with `permanent`", "12")
            .says("The most rows that one person gives in all windows together. Permanent responses err in the same direction in all rows of a person, so that intervals hang on how many there are; they are too wide where persons give fewer, and too narrow where they give more."),
        Key::of("columns", "table", REQUIRED, "{ answer = { kind = \"boolean\", epsilon = 1.0 } }")
            .says("What is asked. Rows have these columns and no others."),
    ],
    later: &[],
};

/// `tables` and `views`: whose names are taken; `base`: where relative paths begin.
pub(super) fn collects(
    root: &Section<'_, '_>,
    tables: &[RawTable],
    views: &[View],
    backend: Option<&Backend>,
    base: &Path,
    f: &mut Findings,
) -> Vec<RawCollect> {
    let Some(all) = root.section("collect", f) else { return Vec::new() };
    let mut out: Vec<RawCollect> = Vec::new();
    for (name, value) in all.entries() {
        let Some(section) = Section::of(format!("[collect.{}]", shorten(&name.value)), value, f) else {
            continue;
        };
        if let Some(raw) = collect(name, &section, tables, views, base, f) {
            out.push(raw);
        }
    }
    for (i, one) in out.iter().enumerate() {
        let Some((file, key)) = person::kept(&one.collect) else { continue };
        let others = out.iter().take(i).filter_map(|o| Some((&o.collect.name, person::kept(&o.collect)?)));
        if let Some((name, _)) = others.into_iter().find(|(_, (f, k))| *f == file && *k != key) {
            let what =
                format!("{:?} and {:?} keep persons in one file, by different keys", name, one.collect.name);
            let hint = "give this one a file of its own: persons = \"…\"; or both the same person_key_file";
            f.error(&one.span, what, hint);
        }
    }
    if let (Some(backend), Some(first)) = (backend, out.first())
        && backend.collect_url.is_none()
    {
        f.error(
            &first.span,
            "[collect] needs a login that writes: [backend] has no collect_url",
            "write for example: collect_url = \"postgres://noisegate_collect@127.0.0.1/bikes\"",
        );
    }
    out
}

/// Checks that writers read nothing: none of them may have a role that is answered with exact rows.
pub(super) fn writers_read_nothing(
    collects: &[RawCollect],
    users: &[User],
    roles: &[Role],
    f: &mut Findings,
) {
    let exact = |role: &str| roles.iter().any(|r| r.name == role && r.mode == Mode::Passthrough);
    for RawCollect { collect, span, .. } in collects {
        let mut refuse = |who: &str, name: &str| {
            let what = format!("{who} {:?} writes to {:?} and reads exact rows", shorten(name), collect.name);
            f.error(
                span,
                what,
                "who writes reads nothing: give one of the two to another user, or another role",
            );
        };
        for role in collect.roles.iter().filter(|role| exact(role)) {
            refuse("the role", role);
        }
        for user in users.iter().filter(|u| collect.users.contains(&u.name)) {
            if user.role.as_deref().is_some_and(exact) {
                refuse("the user", &user.name);
            }
        }
    }
}

fn collect(
    name: At<String>,
    section: &Section<'_, '_>,
    tables: &[RawTable],
    views: &[View],
    base: &Path,
    f: &mut Findings,
) -> Option<RawCollect> {
    section.keys(&COLLECT, f);
    judge(&name, tables, views, f);
    let table = match section.get("table") {
        Some(_) => section.required_string("table", "table = \"survey_reports\"", f)?,
        None => At { value: format!("{}_reports", name.value), span: name.span.clone() },
    };
    let schema = match section.get("schema") {
        Some(_) => section.required_string("schema", "schema = \"public\"", f)?.value,
        None => "public".to_owned(),
    };
    if tables.iter().any(|t| t.name.value == table.value && t.schema.value == schema) {
        let what = format!("{:?} holds randomised reports, and is a table of the policy, too", table.value);
        f.error(
            &table.span,
            what,
            "remove its [table]: analysts ask the collected relation, by its own name",
        );
    }
    let users = names(section, "users", "users = [\"form\"]", f);
    let roles = names(section, "roles", "roles = [\"devices\"]", f);
    if section.get("users").is_none() && section.get("roles").is_none() {
        f.error(
            &section.span,
            format!("{} names nobody who writes", section.name),
            "write for example: users = [\"form\"]",
        );
    }
    let encoder = encoder::encoder(section, base, f);
    let Some(value) = section.get("columns") else {
        section.missing("columns", "columns.answer = { kind = \"boolean\", epsilon = 1.0 }", f);
        return None;
    };
    let all = Section::of(format!("columns of {}", section.name), value, f)?;
    let (mut columns, mut spans) = (Vec::new(), Vec::new());
    let entries = all.entries();
    let count = entries.len();
    let permanent = section.get("person").is_some() && person::is_permanent(section, f);
    for (column, value) in entries {
        let shown = format!("column {:?} of {}", shorten(&column.value), section.name);
        let Some(inner) = Section::of(shown, value, f) else { continue };
        let span = column.span.clone();
        if let Some(c) = column::column(column, &inner, permanent, f) {
            columns.push(c);
            spans.push(span);
        }
    }
    if count == 0 {
        f.error(
            &value.span(),
            "columns is empty",
            "write for example: columns.answer = { kind = \"boolean\", epsilon = 1.0 }",
        );
    }
    if columns.len() != count || count == 0 {
        return None;
    }
    let reports = usize::MAX;
    let At { value: name, span } = name;
    let epsilon = columns.iter().map(|c: &Collected| &c.epsilon).sum();
    let person = person::person(section, &name, &epsilon, &mut columns, base, f);
    if let (Some(_), Some(Encoder::Client(_))) = (&person, &encoder) {
        let hint = "remove person and what belongs to it: what arrives from a shuffler says nothing of who gave it; the shuffler \
            limits each writer, and a device can repeat its own reports";
        f.error(&span, "with encoder = \"client\" nobody is told apart", hint);
    }
    // A mistake in it is a finding already, and does not hide those of the columns.
    let encoder = encoder.unwrap_or(Encoder::Proxy);
    let collect =
        Collect { name, schema, table: table.value, reports, users, roles, columns, encoder, person };
    Some(RawCollect { collect, span, columns: spans })
}

fn judge(name: &At<String>, tables: &[RawTable], views: &[View], f: &mut Findings) {
    let shown = shorten(&name.value);
    let first = |c: char| c.is_ascii_lowercase() || c == '_';
    let plain = name.value.starts_with(first)
        && name.value.chars().all(|c| first(c) || c.is_ascii_digit())
        && name.value.len() <= 55;
    if !plain {
        let hint = "small letters, digits and _, at most 55 of them: it is written without quotes";
        f.error(&name.span, format!("{shown:?} cannot be a collected relation's name"), hint);
    }
    let taken =
        tables.iter().any(|t| t.name.value == name.value) || views.iter().any(|v| v.name == name.value);
    if taken {
        f.error(
            &name.span,
            format!("a table or a view is called {shown:?}, too"),
            "give the collected relation another name",
        );
    }
}

/// The strings of a list. An empty list admits nobody, and is a mistake.
fn names(section: &Section<'_, '_>, key: &str, example: &str, f: &mut Findings) -> Vec<String> {
    let Some(list) = section.list(key, example, f) else { return Vec::new() };
    if list.value.is_empty() {
        f.error(
            &list.span,
            format!("{key} is empty"),
            format!("leave it out, or write for example: {example}"),
        );
    }
    list.value.into_iter().filter_map(|v| text(key, v, example, f)).map(|At { value, .. }| value).collect()
}
