//! Answers that are kept: how long, how often one was given again, and how much that spared.

use super::frame::table;
use crate::live::Live;
use crate::reading::Reading;
use crate::told;
use crate::words::{count, moment, number};
use maud::{Markup, html};
use policy::Policy;

/// The page; `live` is None where no proxy runs.
pub fn kept(reading: &Reading, policy: &Policy, live: Option<&Live>) -> Markup {
    let (paid, again) = reading.users.values().fold((0, 0), |(p, a), u| (p + u.paid, a + u.again));
    html! {
        h1 { "Kept answers" }
        p class="lead" {
            "Whoever asks a question that was answered before gets the same answer again. It costs nothing, since it tells nothing new; "
            "and nobody gets closer to the truth by asking often."
        }
        p { (told::kept(&policy.cache)) }
        dl class="figures" {
            div { dt { "Answers paid for" } dd { (number(paid)) } }
            div { dt { "Given again, free" } dd { (number(again)) } }
        }
        p { "The ledger notes once a day that somebody was given an answer again, however often they asked." }
        @if let Some(live) = live {
            p { "At hand in this proxy: " (count(live.at_hand.0 as u128, "record", "records")) ", " (size(live.at_hand.1)) ". The others are looked up in the ledger." }
        }
        @if !reading.users.is_empty() {
            (table("Answers by user", html! {
                thead { tr { th scope="col" { "User" } th scope="col" class="n" { "Paid for" } th scope="col" class="n" { "Given again, free" } th scope="col" { "Last" } } }
                tbody {
                    @for (user, asked) in &reading.users {
                        tr { th scope="row" { (user) } td class="n" { (number(asked.paid)) } td class="n" { (number(asked.again)) } td class="t" { (moment(asked.last)) } }
                    }
                }
            }))
        }
    }
}

/// Bytes as people say them.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", number((bytes / 1_000) as u128)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
