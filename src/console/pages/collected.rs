//! Private collection, as people read it: what is asked, where an answer is changed, and what a
//! stolen table would tell.

use super::frame::table;
use crate::meaning::Meaning;
use crate::words::{at_most, count};
use bigdecimal::{BigDecimal, ToPrimitive};
use maud::{Markup, html};
use policy::{Collect, Encoder, Policy};

/// What somebody believed of an answer before they saw what is stored.
const BEFORE: f64 = 0.1;

/// All of it.
pub fn collected(policy: &Policy) -> Markup {
    html! {
        @if !policy.collects.is_empty() {
            h2 { "Collected privately" }
            p {
                "Answers to these are changed at random before they are stored: nobody can tell from the database, or from a stolen copy of it, which are true. Those who "
                "ask read estimates over many answers, and pay nothing for them."
            }
            @for c in &policy.collects { (of(c)) }
        }
    }
}

/// What somebody believes, at most, who saw what is stored of one answer.
fn most(epsilon: &BigDecimal) -> String {
    let epsilon = epsilon.to_f64().unwrap_or(f64::INFINITY);
    at_most(Meaning::of(epsilon, 0.0).suspicion(BEFORE).most)
}

/// Seconds in the largest unit that says them.
fn span(seconds: u64) -> String {
    match seconds {
        s if s % 86_400 == 0 => count((s / 86_400).into(), "day", "days"),
        s if s % 3_600 == 0 => count((s / 3_600).into(), "hour", "hours"),
        s => count(s.into(), "second", "seconds"),
    }
}

fn of(c: &Collect) -> Markup {
    let writers: Vec<String> =
        c.users.iter().cloned().chain(c.roles.iter().map(|r| format!("everybody of role {r}"))).collect();
    let where_changed = match c.encoder {
        Encoder::Proxy => "They are changed in this proxy as they arrive, and are not kept as they came.",
        Encoder::Client(_) => {
            "They are changed and sealed where they are given; a shuffler drops who wrote them and when."
        }
    };
    html! {
        section aria-label=(c.name) {
            h3 { (c.name) }
            p { "Written by " (writers.join(", ")) ". " (where_changed) }
            p {
                "Whoever was 10 % sure what somebody answers, and then sees all that is stored of it, can become at most "
                (most(&c.epsilon())) " sure."
                @if let Some(limit) = c.person.as_ref().and_then(|p| p.limit.as_ref()) {
                    " One person may answer " (count(limit.rows.into(), "time", "times")) " in " (span(limit.window))
                    "; each time adds to what can be known."
                }
            }
            (table(&format!("What {} asks", c.name), html! {
                thead { tr { th scope="col" { "Answer" } th scope="col" { "Kind" } th scope="col" class="n" { "10 % sure becomes at most" } } }
                tbody {
                    @for column in &c.columns {
                        tr { th scope="row" { (column.name) } td { (column.kind.word()) } td class="n" { (most(&column.epsilon)) } }
                    }
                }
            }))
        }
    }
}
