//! Statements: who asked what of which tables, when, and what it took of the budgets.

use crate::reading::Reading;
use crate::words::{moment, number, percent};
use ledger::{Deed, Recorded, Taken};
use maud::{Markup, html};
use policy::{ConsoleRole, Policy};
use std::collections::BTreeMap;

/// The page.
pub fn statements(reading: &Reading, policy: &Policy, role: ConsoleRole) -> Markup {
    html! {
        h1 { "Statements" }
        p class="lead" {
            "Every question about people that was answered, the latest first. An answer that is given again, word for word, costs nothing: "
            "it tells nothing new."
        }
        p {
            @if !policy.ledger_text { "This policy does not keep the texts of questions; each is known by the first letters of a fingerprint. " }
            @else if role == ConsoleRole::Auditor { "The texts of questions are shown to owners only. " }
            "Questions about public tables alone are not listed: they cost nothing."
        }
        @if reading.statements.is_empty() {
            p { "Nothing has been asked yet." }
        } @else {
            (users(reading))
            (list(reading, policy.ledger_text && role == ConsoleRole::Owner))
        }
    }
}

/// Who asked how often, in what is listed.
fn users(reading: &Reading) -> Markup {
    let mut by: BTreeMap<&str, (u128, u128)> = BTreeMap::new();
    for recorded in &reading.statements {
        let (paid, again) = by.entry(&recorded.who).or_default();
        *(if matches!(recorded.deed, Deed::Paid(_)) { paid } else { again }) += 1;
    }
    html! {
        div class="wide" {
            table {
                caption { "Of the latest " (number(reading.statements.len() as u128)) " answers" }
                thead { tr { th scope="col" { "User" } th scope="col" class="n" { "Paid for" } th scope="col" class="n" { "Given again, free" } } }
                tbody {
                    @for (user, (paid, again)) in by { tr { th scope="row" { (user) } td class="n" { (number(paid)) } td class="n" { (number(again)) } } }
                }
            }
        }
    }
}

fn list(reading: &Reading, texts: bool) -> Markup {
    html! {
        div class="wide" {
            table {
                caption { "Answers, the latest first" }
                thead { tr {
                    th scope="col" { "Time" } th scope="col" { "User" } th scope="col" { "About" }
                    th scope="col" { "Took of the budgets" } th scope="col" { @if texts { "Question, as the database was asked" } @else { "Fingerprint" } }
                } }
                tbody { @for recorded in &reading.statements { (row(recorded, texts)) } }
            }
        }
    }
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
            td { (moment(recorded.at)) }
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
