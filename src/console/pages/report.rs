//! All pages that rest on a policy and a ledger alone, as one file: for who may not, or cannot, log in to a running proxy.

use super::frame::{STYLE, meta};
use super::{View, books, budgets, kept, rules, statements, streams};
use crate::reading::Reading;
use crate::source::InForce;
use crate::words::{moment, number};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use policy::ConsoleRole;

/// What browsers are told to refuse; the style sheet stands in the file itself.
const SECURITY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// The report as one file. It has no text of a statement, whoever asks for it.
pub fn report(about: &str, reading: &Reading, in_force: &InForce) -> Markup {
    let policy = &in_force.policy;
    let parts = [
        ("budgets", "Budgets", budgets(reading, policy)),
        ("statements", "Statements", statements(reading, None, policy, ConsoleRole::Auditor, &View::WHOLE)),
        ("policy", "Policy", rules(in_force)),
        ("streams", "Streams", streams(reading, policy, None)),
        ("kept", "Kept answers", kept(reading, policy, None)),
        ("ledger", "Ledger", books(reading, policy)),
    ];
    html! {
        (DOCTYPE)
        (PreEscaped("<html lang=\"en\">"))
        head {
            (meta())
            meta http-equiv="Content-Security-Policy" content=(SECURITY);
            meta name="generator" content=(concat!("noisegate ", env!("CARGO_PKG_VERSION")));
            title { "Report on " (about) " · noisegate" }
            link rel="icon" href="data:,";
            style { (PreEscaped(STYLE)) }
        }
        body {
            a class="skip" href="#content" { "Skip to the content" }
            header {
                p class="name" { strong { "noisegate" } " " span { (about) } }
                nav aria-label="Parts" { ul { @for (id, title, _) in &parts { li { a href=(format!("#{id}")) { (title) } } } } }
            }
            main id="content" tabindex="-1" {
                p class="lead" {
                    "What has been promised about the people in this data, to whom, and what is left of it: as of " (moment(reading.at)) ", by the policy and "
                    "the " (number(reading.head.id.unsigned_abs().into())) " entries of the ledger, which were all read and proven for this report."
                }
                @for (id, _, content) in &parts { section id=(id) class="part" { (content) } }
            }
            footer { p { "Made by noisegate report on " (moment(reading.at)) ". This file loads nothing and runs nothing." } }
        }
        (PreEscaped("</html>"))
    }
}
