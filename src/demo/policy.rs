//! The demo's policy, and what the demo tells the person at the terminal.

use std::net::SocketAddr;

/// Who connects to the demo, without a password, from this machine only.
pub const DEMO_USER: &str = "demo";

/// The database's name as clients give it.
pub const DEMO_DATABASE: &str = "demo";

/// The ledger's file, beside the policy.
pub(super) const LEDGER: &str = "noisegate.db";

/// What the finish login may read.
pub(super) const PUBLIC_TABLES: &[&str] = &["stations"];

/// Tables and budgets. Several dozen questions at the default price fit what one analyst has.
const RULES: &str = r#"
[privacy]
unit = "riders.rider_id"

[statement]                      # what one statement costs and may touch
epsilon = 0.5
delta = 1e-8
max_groups = 4
max_rows = 8

[[budget]]                       # the guarantee: all questions of everybody
name = "everyone"
accounting = "zcdp"
epsilon = 10.0
delta = 1e-6

[[budget]]                       # a quota: what one user may spend of it
name = "analyst"
per = "user"
accounting = "zcdp"
epsilon = 8.0
delta = 1e-6

[table.riders]
unit_column = "rider_id"
columns.birth_year = { range = [1920, 2010] }
columns.plan = { values = ["day", "month", "year"] }
columns.city = {}                # its values are private: small groups are suppressed
columns.email = { hidden = true }

[table.trips]
unit_column = "rider_id"
max_rows = 12
columns.started_at = { range = [2023-01-01, 2025-12-31] }
columns.station = { references = "stations.station" }
columns.minutes = { range = [0, 240] }
columns.fare = { range = [0, 60] }

[table.payments]
unit_column = "rider_id"
max_rows = 10
columns.amount = { range = [0, 200] }
columns.method = { values = ["card", "wallet", "cash"] }
columns.paid_at = { range = [2023-01-01, 2026-01-31] }

[table.stations]
public = true
"#;

/// Queries that show what a gateway does; the last costs nothing.
pub const QUERIES: [&str; 5] = [
    "SELECT station, count(*), avg(fare) FROM trips GROUP BY station ORDER BY 2 DESC LIMIT 5;",
    "SELECT plan, count(*), avg(birth_year) FROM riders GROUP BY plan;",
    "SELECT city, count(*) FROM riders GROUP BY city ORDER BY 2 DESC;",
    "SELECT s.city, sum(t.fare) FROM trips t JOIN stations s ON s.station = t.station GROUP BY s.city;",
    "EXPLAIN SELECT date_trunc('month', started_at), avg(minutes) FROM trips GROUP BY 1;",
];

/// The policy for the generated data behind these two logins.
///
/// The user's verifier is that of a random password nobody keeps: it lets nobody in. Trust on loopback is the
/// gateway's business in demo mode, not the policy's.
pub(super) fn text(fetch_url: &str, finish_url: &str, listen: SocketAddr, verifier: &str) -> String {
    format!(
        "[server]\nlisten = [\"{listen}\"]\n\n\
         [backend]\nurl = \"{fetch_url}\"\nfinish_url = \"{finish_url}\"\n\n\
         [ledger]\nurl = \"sqlite:{LEDGER}\"\n\n\
         [[user]]\nname = \"{DEMO_USER}\"\nscram = \"{verifier}\"\n{RULES}"
    )
}

/// What the demo prints when it serves. `budget` says what the budget is, in lines of the caller's.
pub fn banner(address: SocketAddr, budget: &str) -> String {
    let queries: String = QUERIES.iter().map(|q| format!("  {q}\n")).collect();
    let (host, port) = (address.ip(), address.port());
    format!(
        "\nConnect from another terminal:\n\n  \
         psql \"host={host} port={port} user={DEMO_USER} dbname={DEMO_DATABASE}\"\n\n\
         and ask, for example:\n\n{queries}\n{}\n\nCtrl-C ends the demo and removes its data.\n",
        budget.trim_end()
    )
}
