//! Streams: how many numbers may be found above, who has opened which, and how they stand.

use super::frame::table;
use crate::live::Live;
use crate::reading::Reading;
use crate::told;
use crate::words::{moment, number, percent};
use ledger::BudgetSummary;
use maud::{Markup, html};
use policy::{Policy, Scope, Stream};

/// The page; `live` is None where no proxy runs.
pub fn streams(reading: &Reading, policy: &Policy, live: Option<&Live>) -> Markup {
    html! {
        h1 { "Streams" }
        p class="lead" {
            "A stream watches for what is rare: it tells of any number of questions whether a figure exceeds a limit, and is paid for once, when it is opened. "
            "After so many answers of yes it is used up."
        }
        @if policy.streams.is_empty() { p { "This policy has none." } } @else {
            (table("Streams of the policy", html! {
                thead { tr { th scope="col" { "Stream" } th scope="col" { "What it does" } th scope="col" { "Who may open it" } th scope="col" { "Opening takes" } } }
                tbody {
                    @for stream in &policy.streams {
                        tr { th scope="row" { (stream.name) } td { (told::stream(stream)) } td { (told::admitted(stream)) } td { (price(stream, reading)) } }
                    }
                }
            }))
        }
        @if !reading.openings.is_empty() {
            (table("Opened so far, by the ledger", html! {
                thead { tr { th scope="col" { "Stream" } th scope="col" { "User" } th scope="col" class="n" { "Times" } th scope="col" { "Last opened" } } }
                tbody {
                    @for ((stream, user), opened) in &reading.openings {
                        tr { th scope="row" { (stream) } td { (user) } td class="n" { (number(opened.times.into())) } td class="t" { (moment(opened.last)) } }
                    }
                }
            }))
        } @else if !policy.streams.is_empty() { p { "Nobody has opened one yet." } }
        @if let Some(live) = live { (standing(live)) }
    }
}

/// What an opening takes of each budget that everybody or each user has.
fn price(stream: &Stream, reading: &Reading) -> String {
    let charge = stream.charge().ok();
    let part = |b: &BudgetSummary| {
        let price = b.counter.price(charge.as_ref()?).ok()?;
        Some(format!("{} of {}", percent(1.0 - b.counter.fraction_left(&price)), b.budget.name))
    };
    let paying = reading.budgets.iter().filter(|b| !b.closed && b.budget.scope != Scope::Role);
    let parts: Vec<String> = paying.filter_map(part).collect();
    if parts.is_empty() { "more than there is".into() } else { parts.join(", ") }
}

fn standing(live: &Live) -> Markup {
    html! {
        @if !live.streams.is_empty() {
            (table("How they stand at this proxy", html! {
                thead { tr { th scope="col" { "Stream" } th scope="col" { "User" } th scope="col" { "State" } th scope="col" class="n" { "Asked" } th scope="col" class="n" { "Answers of yes left" } } }
                tbody {
                    @for s in &live.streams {
                        tr {
                            th scope="row" { (s.stream) } td { (s.user) } td { (s.state) }
                            td class="n" { (s.asked.map_or_else(|| "not known".into(), |n| number(n.into()))) }
                            td class="n" { (number(s.left.into())) }
                        }
                    }
                }
            }))
        }
    }
}
