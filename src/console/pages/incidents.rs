//! Incidents: what clients were told no more of than an id.

use super::frame::table;
use crate::live::Live;
use crate::words::moment;
use maud::{Markup, html};

/// The page.
pub fn incidents(live: &Live) -> Markup {
    html! {
        h1 { "Incidents" }
        p class="lead" {
            "What went wrong while people's rows were read, or inside the proxy. Whoever asked was told an id and no more, since the cause may "
            "hold what a row says; it stands in the proxy's log under the same id. Those of another database of the same proxy are on its own "
            "console; those without a user are the proxy's own, and on each."
        }
        @if live.incidents.is_empty() {
            p { "None since the proxy was started. Earlier ones are in the log." }
        } @else {
            p { "The latest 200 since the proxy was started, the latest first. Earlier ones are in the log." }
            (table("Incidents", html! {
                thead { tr { th scope="col" { "Id" } th scope="col" { "Time" } th scope="col" { "User" } th scope="col" { "What the user was told" } th scope="col" { "SQLSTATE" } } }
                tbody {
                    @for i in &live.incidents {
                        tr { th scope="row" { code { (i.id) } } td class="t" { (moment(i.at)) } td { (i.user.as_deref().unwrap_or("–")) } td { (i.message) } td { code { (i.code) } } }
                    }
                }
            }))
        }
    }
}
