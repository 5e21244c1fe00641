//! Users who may log in: `[[user]]`, `server.users_file`, `server.auth_query`.

use super::environment::expand;
use super::error::{Findings, Span};
use super::keys::{Key, Keys, REQUIRED};
use super::model::{AuthQuery, Server, User};
use super::reader::{Section, shorten};
use super::url::url;
use super::userlist;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::path::Path;

/// No file of users is larger.
const MAX_BYTES: u64 = 64 << 20;

/// Keys of `[[user]]`.
pub(super) const USER: Keys = Keys {
    section: "[[user]]",
    list: &[
        Key::of("name", "string", REQUIRED, "\"ada\"").says("Login name."),
        Key::of("role", "string", "none", "\"research\"")
            .says("For budgets per role, and access rules."),
        Key::of("scram", "verifier", "required, without `certificate`", "\"SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"")
            .says("A SCRAM-SHA-256 verifier, as `noisegate passwd` and PostgreSQL make it; no password is stored."),
        Key::of("certificate", "string", "none is asked for", "\"ada\"")
            .says("The common name (CN) of the certificate that the client must show, signed by `server.tls.client_ca`; beside the \
                      password where there is `scram`, else alone."),
        Key::of("notices", "boolean", "the role's, or true", "false")
            .says("Whether its sessions begin with `noisegate.notices = on`."),
    ],
    later: &[],
};

/// The users of the policy and of its file.
pub(super) fn users(root: &Section<'_, '_>, base: &Path, server: &Server, f: &mut Findings) -> Vec<User> {
    let mut users: Vec<User> = Vec::new();
    for section in root.sections("user", f) {
        section.keys(&USER, f);
        let name = section.required_string("name", "name = \"ada\"", f);
        let role = section.string("role", "role = \"research\"", f);
        if let Some(r) = role.as_ref().filter(|r| r.value.is_empty()) {
            f.error(&r.span, "role is empty", "leave it out: a user need not have a role");
        }
        let certificate = section.string("certificate", "certificate = \"ada\"", f);
        if let Some(c) = &certificate {
            if c.value.is_empty() {
                f.error(&c.span, "certificate is empty", "write the common name of the user's certificate");
            }
            if server.tls.as_ref().is_none_or(|tls| tls.client_ca.is_none()) {
                let hint = "set client_ca = \"clients.crt\" in [server] tls: who vouches for them";
                f.error(&c.span, "no certificate of a client is believed", hint);
            }
        }
        let example = "scram = \"SCRAM-SHA-256$4096:…\"";
        let scram = match certificate.is_some() && section.get("scram").is_none() {
            true => Some(None),
            false => section.required_string("scram", example, f).map(Some),
        };
        if let Some(Some(s)) = &scram {
            verifier(&s.value, &s.span, f);
        }
        let notices = section.boolean("notices", f).map(|b| b.value);
        let (Some(name), Some(scram)) = (name, scram) else { continue };
        if users.iter().any(|u| u.name == name.value) {
            f.error(
                &name.span,
                format!("two users are called {:?}", shorten(&name.value)),
                "names are unique",
            );
        }
        users.push(User {
            name: name.value,
            role: role.map(|r| r.value),
            scram: scram.map(|s| s.value),
            certificate: certificate.map(|c| c.value),
            notices,
        });
    }
    if let Some(server) = root.section("server", &mut f.clone()) {
        of_file(&server, base, &mut users, f);
    }
    users
}

/// Adds the users of `server.users_file`.
fn of_file(server: &Section<'_, '_>, base: &Path, users: &mut Vec<User>, f: &mut Findings) {
    if server.get("users_file").is_none() {
        return;
    }
    let Some(written) = server.required_string("users_file", "users_file = \"users.txt\"", f) else { return };
    let Some(path) = expand("users_file", written, f) else { return };
    if f.elsewhere() {
        return;
    }
    let (file, span) = (base.join(path.value.reveal()), path.span);
    let read = match std::fs::metadata(&file) {
        Ok(m) if !m.is_file() || m.len() > MAX_BYTES => {
            Err(format!("not a file of at most {MAX_BYTES} bytes"))
        }
        Ok(_) => std::fs::read_to_string(&file).map_err(|e| e.to_string()),
        Err(e) => Err(e.to_string()),
    };
    let text = match read {
        Ok(text) => text,
        Err(e) => {
            let hint = "`noisegate passwd NAME --users-file FILE` makes one, a user at a time";
            f.error(&span, format!("users_file cannot be read: {e}"), hint);
            return;
        }
    };
    let (entries, wrong) = userlist::parse(&text);
    for line in wrong {
        f.error(&span, format!("users_file, {line}"), "");
    }
    for e in entries {
        let shown = shorten(&e.name);
        if users.iter().any(|u| u.name == e.name) {
            let what = format!("users_file, line {}: there is another user {shown:?}", e.line);
            f.error(&span, what, "names are unique, in the file and in the policy together");
        } else if parse(&e.secret).is_none() {
            f.error(
                &span,
                format!("users_file, line {}: the user {shown:?} has no SCRAM-SHA-256 verifier", e.line),
                "md5 and plain passwords are not accepted: `noisegate passwd NAME --users-file FILE` writes a verifier",
            );
        } else {
            users.push(User {
                name: e.name,
                role: e.role,
                scram: Some(e.secret),
                certificate: None,
                notices: None,
            });
        }
    }
}

/// Keys of `[server] auth_query`.
pub(super) const AUTH_QUERY: Keys = Keys {
    section: "[server] auth_query",
    list: &[
        Key::of("url", "URL", REQUIRED, "\"postgres://noisegate_auth@127.0.0.1/bikes\"")
            .says("The database that is asked, by a login of its own."),
        Key::of("query", "SQL", REQUIRED, "\"SELECT public.noisegate_verifier($1)\"")
            .says("Gives the SCRAM-SHA-256 verifier of the user `$1` as one column of type text; nothing for who may not log in."),
        Key::of("role", "string", "none", "\"analysts\"")
            .says("The role of everybody who is found."),
        Key::of("iterations", "whole number, 1 to 10000000", "4096", "10000")
            .says("Iterations of the verifiers there: users who do not exist are asked for as many, so that they look alike."),
    ],
    later: &[],
};

/// `server.auth_query`.
pub(super) fn auth_query(server: &Section<'_, '_>, f: &mut Findings) -> Option<AuthQuery> {
    server.get("auth_query")?;
    let section = server.section("auth_query", f)?;
    section.keys(&AUTH_QUERY, f);
    let url = url(&section, "url", "noisegate_auth", f);
    let example = "query = \"SELECT public.noisegate_verifier($1)\"";
    let query = section.required_string("query", example, f);
    if let Some(q) = query.as_ref().filter(|q| !q.value.contains("$1")) {
        let what = "the query does not use $1, the name of the user who logs in";
        f.error(&q.span, what, format!("write for example: {example}"));
    }
    let role = section.string("role", "role = \"analysts\"", f);
    if let Some(r) = role.as_ref().filter(|r| r.value.is_empty()) {
        f.error(&r.span, "role is empty", "leave it out: a user need not have a role");
    }
    let iterations = section.count("iterations", 10_000_000, f).and_then(|n| u32::try_from(n).ok());
    Some(AuthQuery {
        url: url?.0.value,
        query: query?.value,
        role: role.map(|r| r.value),
        iterations: iterations.unwrap_or(4096),
    })
}

/// `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`, as PostgreSQL keeps it: iterations and length of the
/// salt.
fn parse(text: &str) -> Option<(u32, usize)> {
    let rest = text.strip_prefix("SCRAM-SHA-256$")?;
    let (front, keys) = rest.split_once('$')?;
    let (iterations, salt) = front.split_once(':')?;
    let (stored, server) = keys.split_once(':')?;
    let iterations = iterations.parse::<u32>().ok().filter(|n| (1..=10_000_000).contains(n))?;
    let salt = BASE64_STANDARD.decode(salt).ok().filter(|s| !s.is_empty())?;
    let keys = [stored, server].map(|k| BASE64_STANDARD.decode(k).is_ok_and(|k| k.len() == 32));
    (keys == [true, true]).then_some((iterations, salt.len()))
}

/// Judges a verifier of the policy. It is never printed.
pub(super) fn verifier(text: &str, span: &Span, f: &mut Findings) {
    match parse(text) {
        Some((iterations, salt)) if iterations < 4096 || salt < 16 => {
            let hint = "PostgreSQL's own verifiers have 4096 iterations and 16 bytes of salt";
            f.warn(span, "this SCRAM verifier is weaker than PostgreSQL's", hint);
        }
        Some(_) => {}
        None => f.error(
            span,
            "scram is not a SCRAM-SHA-256 verifier",
            "write SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>, as `noisegate passwd` or \
             PostgreSQL's pg_authid.rolpassword has it; never a password",
        ),
    }
}

/// Iterations of a verifier.
pub fn iterations(verifier: &str) -> Option<u32> {
    parse(verifier).map(|(iterations, _)| iterations)
}
