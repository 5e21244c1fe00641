//! Connections: who is connected to the proxy, and whether the database behind it answers.

use super::frame::table;
use crate::live::Live;
use crate::words::{count, moment, number};
use maud::{Markup, html};

/// The page.
pub fn connections(live: &Live) -> Markup {
    html! {
        h1 { "Connections" }
        p class="lead" { "Who is connected at this moment, and how the database behind the proxy does." }
        h2 { "The database" }
        @match &live.database {
            Some(Ok(time)) => p { "It answers, in " (format!("{:.1}", time.as_secs_f64() * 1_000.0)) " ms. It is PostgreSQL " (version(live.server_version)) "." },
            Some(Err(why)) => p class="wrong" role="alert" { "It does not answer: " (why) ". Questions about people are refused, and nothing is charged for them." },
            None => {}
        }
        (table("Connections to the database", html! {
            thead { tr { th scope="col" { "For" } th scope="col" class="n" { "At work" } th scope="col" class="n" { "At most" } th scope="col" class="n" { "Statements that wait" } } }
            tbody {
                @for pool in &live.pools {
                    tr { th scope="row" { (pool.what) } td class="n" { (pool.busy) } td class="n" { (pool.most) } td class="n" { (pool.waiting) } }
                }
            }
        }))
        h2 { "Who is connected" }
        @if live.clients.is_empty() { p { "Nobody." } } @else {
            (table(&count(live.clients.len() as u128, "client", "clients"), html! {
                thead { tr { th scope="col" { "User" } th scope="col" { "Role" } th scope="col" { "Program" } th scope="col" { "From" } th scope="col" { "Encrypted" } th scope="col" { "Since" } } }
                tbody {
                    @for c in &live.clients {
                        tr {
                            th scope="row" { (c.user) } td { (c.role.as_deref().unwrap_or("–")) }
                            td { @if c.application.is_empty() { "–" } @else { (c.application) } }
                            td { (c.address) } td { (if c.encrypted { "yes" } else { "no" }) } td class="t" { (moment(c.since)) }
                        }
                    }
                }
            }))
        }
    }
}

/// 150018 is 15.18.
fn version(number_of: u32) -> String {
    format!("{}.{}", number((number_of / 10_000).into()), number_of % 10_000)
}
