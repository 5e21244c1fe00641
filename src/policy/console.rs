//! `[console]`: pages for people who decide and people who look.

use super::error::Findings;
use super::keys::{Key, Keys, REQUIRED};
use super::listen;
use super::model::{Console, ConsoleRole, ConsoleUser};
use super::reader::{Section, shorten};
use super::suggest::suggest;
use super::users;
use std::time::Duration;

/// Keys of `[console]`.
pub(super) const CONSOLE: Keys = Keys {
    section: "[console]",
    list: &[
        Key::of("listen", "IP address and port", "\"127.0.0.1:6480\"", "\"[::1]:6480\"")
            .says("Where browsers arrive. Any address but a loopback one needs `server.tls`, whose certificate the console shows."),
        Key::of("session", "time span", "\"8h\"", "\"1h\"")
            .says("How long a login lasts."),
        Key::of("user", "list of sections", REQUIRED, "[{ name = \"dpo\", role = \"auditor\", scram = \"SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\" }]")
            .says("Who may log in to the console: `[[console.user]]`."),
    ],
    later: &[],
};

/// Keys of `[[console.user]]`.
pub(super) const CONSOLE_USER: Keys = Keys {
    section: "[[console.user]]",
    list: &[
        Key::of("name", "string", REQUIRED, "\"dpo\"").says("Login name."),
        Key::of("role", "`owner` or `auditor`", REQUIRED, "\"auditor\"")
            .says("An owner sees everything; an auditor everything but the texts of statements. Neither can change anything there."),
        Key::of("scram", "verifier", REQUIRED, "\"SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"")
            .says("A SCRAM-SHA-256 verifier, as `noisegate passwd` makes it; no password is stored."),
    ],
    later: &[],
};

/// On loopback, where the policy says nothing.
const PORT: u16 = 6480;

/// The console, if the policy has one.
pub(super) fn console(root: &Section<'_, '_>, has_tls: bool, f: &mut Findings) -> Option<Console> {
    let section = root.section("console", f)?;
    section.keys(&CONSOLE, f);
    let (listen, span) = listen::of_pages(&section, PORT, f);
    if let Some(span) = span.filter(|_| !listen.ip().is_loopback() && !has_tls) {
        let what = "the console would be reachable from other machines without TLS, with its passwords";
        f.error(&span, what, listen::WITH_TLS);
    }
    let session = section.duration("session", f).unwrap_or(Duration::from_secs(8 * 3600));
    let mut list: Vec<ConsoleUser> = Vec::new();
    let sections = section.sections("user", f);
    if sections.is_empty() {
        section.missing("user", "[[console.user]] with name, role and scram", f);
    }
    for one in sections {
        let Some(user) = user(&one, f) else { continue };
        let (user, span) = user;
        if list.iter().any(|u| u.name == user.name) {
            let what = format!("two users of the console are called {:?}", shorten(&user.name));
            f.error(&span, what, "names are unique");
        }
        list.push(user);
    }
    Some(Console { listen, session, users: list })
}

fn user(section: &Section<'_, '_>, f: &mut Findings) -> Option<(ConsoleUser, super::error::Span)> {
    section.keys(&CONSOLE_USER, f);
    let name = section.required_string("name", "name = \"dpo\"", f);
    let role = section.required_string("role", "role = \"auditor\"", f);
    let scram = section.required_string("scram", "scram = \"SCRAM-SHA-256$4096:…\"", f);
    let role = role.and_then(|written| {
        let found = ConsoleRole::ALL.into_iter().find(|r| r.word() == written.value);
        if found.is_none() {
            let what = format!("role = {:?} is not one of \"owner\", \"auditor\"", shorten(&written.value));
            f.error(&written.span, what, suggest(&written.value, ConsoleRole::ALL.map(ConsoleRole::word)));
        }
        found
    });
    if let Some(s) = &scram {
        users::verifier(&s.value, &s.span, f);
    }
    let name = name?;
    Some((ConsoleUser { name: name.value, role: role?, scram: scram?.value }, name.span))
}
