//! Statements: what runs and ran in this proxy, who asked what of which tables, when, what it took of the budgets, and what was
//! refused. `seen` is of this process and its memory; the rest is of the ledger.

mod seen;
mod view;

pub use view::{Asked, View};

use super::frame::table;
use crate::reading::Reading;
use crate::words::{moment, number, percent};
use ledger::{Deed, Recorded, Taken};
use maud::{Markup, html};
use policy::{ConsoleRole, Policy};
use record::{Outcome, Shown};
use std::collections::BTreeSet;
use view::List;

/// The page, as far as it is looked at. `shown` is None where no proxy runs: then there is the ledger alone.
pub fn statements(
    reading: &Reading,
    shown: Option<&Shown>,
    policy: &Policy,
    role: ConsoleRole,
    view: &View,
) -> Markup {
    let texts = policy.ledger_text && role == ConsoleRole::Owner;
    html! {
        h1 { "Statements" }
        p class="lead" {
            "What is asked, what it takes of the budgets, and what people want and do not get. An answer that is given again, "
            "word for word, costs nothing: it tells nothing new."
        }
        @if !policy.ledger_text { p { "This policy does not keep the texts of questions; each is known by the first letters of a fingerprint." } }
        @else if role == ConsoleRole::Auditor { p { "The texts of questions are shown to owners only." } }
        @if let Some(shown) = shown {
            (seen::seen(shown, role))
            (view.form(&users(reading, shown)))
            (seen::latest(shown, view, role))
        }
        section aria-labelledby="answers" {
            h2 id="answers" { "Answers about people" }
            p { "From the ledger: every question about people that was answered, under this and earlier proxies." }
            @if reading.statements.is_empty() {
                p { "Nothing has been asked yet." }
            } @else {
                @if view.is_usual() && view.is_first(List::Answers) && !reading.dearest.is_empty() {
                    (list("The most expensive", &reading.dearest, texts))
                }
                @let latest = reading.statements.len();
                @let wanted = reading.statements.iter().filter(|r| view.has(&r.who, outcome(r))).collect();
                @let (listed, links) = view.cut(List::Answers, wanted);
                @if listed.is_empty() { p { "None of the latest " (number(latest as u128)) "." } }
                @else { (list(&format!("The latest {}", number(latest as u128)), listed, texts)) }
                (links)
            }
        }
    }
}

/// Everybody who asked anything.
fn users<'r>(reading: &'r Reading, shown: &'r Shown) -> Vec<&'r str> {
    let by_ledger = reading.users.keys().map(String::as_str);
    let all: BTreeSet<&str> = shown.users.iter().map(|(user, _)| user.as_str()).chain(by_ledger).collect();
    all.into_iter().collect()
}

/// The outcome that the proxy told of an entry.
fn outcome(recorded: &Recorded) -> Option<Outcome> {
    match recorded.deed {
        Deed::Paid(_) => Some(Outcome::Fresh),
        Deed::Again(_) => Some(Outcome::Repeated),
        Deed::Other(_) => None,
    }
}

fn list<'r>(caption: &str, recorded: impl IntoIterator<Item = &'r Recorded>, texts: bool) -> Markup {
    table(
        caption,
        html! {
            thead { tr {
                th scope="col" { "Time" } th scope="col" { "User" } th scope="col" { "About" }
                th scope="col" { "Took of the budgets" } th scope="col" { @if texts { "Question, as the database was asked" } @else { "Fingerprint" } }
            } }
            tbody { @for recorded in recorded { (row(recorded, texts)) } }
        },
    )
}

fn row(recorded: &Recorded, texts: bool) -> Markup {
    let (about, took, question) = match &recorded.deed {
        Deed::Paid(paid) => {
            let tables = paid.tables.as_ref().map_or_else(|| "not recorded".into(), |t| t.join(", "));
            let about = match &paid.stream {
                Some(stream) => format!("{tables}; opens the stream {stream}"),
                None => tables,
            };
            let text = paid.text.as_deref().filter(|_| texts);
            let question = match text {
                Some(text) => html! { details { summary { code { (paid.statement) } } pre { (text) } } },
                None => html! { code { (paid.statement) } },
            };
            (about, took(&paid.from), question)
        }
        Deed::Again(statement) => {
            (String::new(), "nothing: given again".into(), html! { code { (statement) } })
        }
        Deed::Other(what) => (String::new(), String::new(), html! { (what) }),
    };
    html! {
        tr {
            td class="t" { (moment(recorded.at)) }
            td {
                (recorded.who)
                @if let Deed::Paid(paid) = &recorded.deed { @if let Some(role) = &paid.role { " (" (role) ")" } }
            }
            td { (about) } td { (took) } td { (question) }
        }
    }
}

fn took(from: &[Taken]) -> String {
    let each: Vec<String> = from.iter().map(|t| format!("{} of {}", percent(t.part), t.budget)).collect();
    if each.is_empty() { "budgets that are no more".into() } else { each.join(", ") }
}
