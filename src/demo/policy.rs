//! The demo's policy, and what the demo tells the person at the terminal.

use crate::survey;
use std::net::SocketAddr;

/// User of the demo, without a password, from this machine only.
pub const DEMO_USER: &str = "demo";

/// The database's name as clients give it.
pub const DEMO_DATABASE: &str = "demo";

/// The ledger's file, beside the policy.
pub(super) const LEDGER: &str = "noisegate.db";

/// Tables that the finish login may read: a public table, and one that was made private before it
/// was stored.
pub(super) const PUBLIC_TABLES: &[&str] = &["stations", survey::REPORTS];

/// The annotated policy, which is the demo's but for addresses and users. Several dozen questions at its price fit what one
/// analyst has.
const POLICY: &str = include_str!("../../config/bikes.toml");

/// How the lines begin that say where things are. No other line of the policy begins like them.
const LISTEN: &str = "listen = ";
const URL: &str = "url = \"postgres:";
const FINISH_URL: &str = "finish_url = ";

/// Queries that show what a gateway does; the last costs nothing.
pub const QUERIES: [&str; 5] = [
    "SELECT station, count(*) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 5;",
    "SELECT plan, count(*), avg(birth_year) FROM riders GROUP BY plan;",
    "SELECT city, count(*) FROM riders GROUP BY city ORDER BY 2 DESC;",
    "SELECT s.city, sum(t.fare) FROM trips t JOIN stations s ON s.station = t.station GROUP BY s.city;",
    "EXPLAIN SELECT date_trunc('month', started_at), avg(minutes) FROM trips GROUP BY 1;",
];

/// The policy for the generated data behind these three logins, and for what visitors are asked.
///
/// The user's verifier is that of a random password nobody keeps: it lets nobody in. Trust on loopback is the
/// gateway's business in demo mode, not the policy's.
pub(super) fn text(
    [fetch_url, finish_url, collect_url]: [&str; 3],
    listen: SocketAddr,
    verifier: &str,
) -> String {
    let filled_in = |line: &str| match line {
        l if l.starts_with(LISTEN) => format!("{LISTEN}[\"{listen}\"]\n"),
        l if l.starts_with(URL) => format!("url = \"{fetch_url}\"\n"),
        l if l.starts_with(FINISH_URL) => {
            format!("{FINISH_URL}\"{finish_url}\"\ncollect_url = \"{collect_url}\"\n")
        }
        line => format!("{line}\n"),
    };
    let policy: String = POLICY.lines().map(filled_in).collect();
    format!("{policy}{}\n[[user]]\nname = \"{DEMO_USER}\"\nscram = \"{verifier}\"\n", survey::POLICY)
}

/// Text that the demo prints when it serves. `budget` describes the budget, in lines of the
/// caller's, `psql` how it is called.
pub fn banner(address: SocketAddr, psql: &str, budget: &str) -> String {
    let queries: String = QUERIES.iter().map(|q| format!("  {q}\n")).collect();
    let (host, port) = (address.ip(), address.port());
    format!(
        "\nConnect from another terminal:\n\n  \
         {psql} \"host={host} port={port} user={DEMO_USER} dbname={DEMO_DATABASE}\"\n\n\
         and ask, for example:\n\n{queries}\n{}\n\nCtrl-C ends the demo and removes its data.\n",
        budget.trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_filled_in_once() {
        for start in [LISTEN, URL, FINISH_URL] {
            assert_eq!(POLICY.lines().filter(|l| l.starts_with(start)).count(), 1, "{start}");
        }
        assert!(POLICY.contains(&format!("url = \"sqlite:{LEDGER}\"")));
        let text = text(
            ["postgres://a", "postgres://b", "postgres://c"],
            SocketAddr::from(([127, 0, 0, 1], 7)),
            "v",
        );
        for place in [
            "listen = [\"127.0.0.1:7\"]",
            "\nurl = \"postgres://a\"",
            "finish_url = \"postgres://b\"\ncollect_url = \"postgres://c\"",
        ] {
            assert!(text.contains(place), "{place}");
        }
        assert!(!text.contains("@127.0.0.1/bikes\"\n"), "a place of the file is left");
    }
}
