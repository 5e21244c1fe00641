//! The ledger itself: whether it is whole, where it ends, and what its owners did.

use super::frame::table;
use crate::reading::Reading;
use crate::words::{moment, number};
use ledger::Deed;
use maud::{Markup, html};
use policy::Policy;

/// The page.
pub fn books(reading: &Reading, policy: &Policy) -> Markup {
    let tip: String = reading.head.hash.iter().map(|b| format!("{b:02x}")).collect();
    html! {
        h1 { "Ledger" }
        p class="lead" {
            "Every question is written down before it is answered. Each entry carries a fingerprint of the one before it, "
            "so that none can be changed or left out unnoticed."
        }
        @match &reading.mismatch {
            None => p { "All entries were read and proven at " (moment(reading.at)) ": every fingerprint, every price and every sum. "
                "The ledger has every entry that its mark, which is kept outside of it, knows." },
            Some(why) => p class="wrong" role="alert" { (why) },
        }
        dl class="figures" {
            div { dt { "Entries" } dd { (number(reading.head.id.unsigned_abs().into())) } }
            div { dt { "Latest entry" } dd { (moment(reading.head.at)) } }
            div { dt { "Proven" } dd { (moment(reading.at)) } }
        }
        dl {
            dt { "Fingerprint of the latest entry" } dd { code { (tip) } }
            dt { "Name of this ledger" } dd { code { (reading.id) } }
            dt { "Where it is" } dd { code { (policy.ledger) } }
        }
        p { "Keep the fingerprint elsewhere: " code { "noisegate budget verify --contains FINGERPRINT" } " says later whether this ledger grew from this one." }
        (table("What owners did, the latest first", html! {
            thead { tr { th scope="col" class="n" { "Entry" } th scope="col" { "Time" } th scope="col" { "Who" } th scope="col" { "What" } } }
            tbody {
                @for recorded in &reading.deeds {
                    @if let Deed::Other(what) = &recorded.deed {
                        tr { td class="n" { (number(recorded.id.unsigned_abs().into())) } td class="t" { (moment(recorded.at)) } td { (recorded.who) } td { (what) } }
                    }
                }
            }
        }))
    }
}
