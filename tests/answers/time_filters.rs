//! Filters on time as tools write them: as many groups as PostgreSQL has, and the same ones.

use crate::city::{self, PASSWORD, policy, rows};
use crate::support::{Workdir, connect};
use crate::usual::rules;
use tokio_postgres::Client;

const RULES: &str = rules!([epsilon = 4, max_groups = 40, max_rows = 40, delta = 1e-6] ["approx", epsilon = 1000, delta = 0.1]);

/// A beat every ten minutes of three months, so that PostgreSQL has every group that there may be.
const BEATS: &str = "
    CREATE TABLE beats (beat_id int PRIMARY KEY, rider_id int NOT NULL REFERENCES riders, at timestamp NOT NULL,
        seen timestamptz NOT NULL, day date NOT NULL, minutes int NOT NULL);
    INSERT INTO beats SELECT i, 1 + i % 400, t, t AT TIME ZONE 'UTC', t::date, i % 60
        FROM generate_series(timestamp '2023-12-01', '2024-02-29 23:50', interval '10 minutes') WITH ORDINALITY AS s(t, i);";

const POLICY: &str = "
[table.beats]
unit_column = \"rider_id\"
columns.at = { range = [2023-01-01, 2025-12-31] }
columns.seen = { range = [2023-01-01, 2025-12-31] }
columns.day = { range = [2023-01-01, 2025-12-31] }
columns.minutes = { range = [0, 60] }
";

/// A key, and what stands behind WHERE.
const FILTERS: &[(&str, &str)] = &[
    // Grafana.
    ("date_trunc('day', at)", "at BETWEEN '2024-01-01T00:00:00Z' AND '2024-01-31T23:59:59.999Z'"),
    ("floor(extract(epoch from at)/600)*600", "at BETWEEN '2024-01-01T00:00:00Z' AND '2024-01-01T03:00:00Z'"),
    (
        "to_timestamp(floor(extract(epoch from at)/600)*600)",
        "at >= '2024-01-01T00:00:00Z' AND at <= '2024-01-01T03:00:00Z'",
    ),
    (
        "date_bin('10 minutes', at, '2001-01-01')",
        "at BETWEEN '2024-01-01T00:00:00Z' AND '2024-01-01T02:00:00Z'",
    ),
    (
        "floor(extract(epoch from seen)/3600)*3600",
        "seen BETWEEN '2024-01-01T00:00:00Z' AND '2024-01-01T12:00:00Z'",
    ),
    (
        "floor(extract(epoch from at)/3600)*3600",
        "extract(epoch from at) >= 1704067200 AND extract(epoch from at) <= 1704110400",
    ),
    ("date_trunc('hour', at)", "at >= to_timestamp(1704067200) AND at < to_timestamp(1704110400)"),
    // Cube.
    (
        "date_trunc('day', (at::timestamptz AT TIME ZONE 'UTC'))",
        "(at >= '2024-01-01T00:00:00.000Z'::timestamptz AND at <= '2024-01-31T23:59:59.999Z'::timestamptz)",
    ),
    (
        "date_trunc('week', (seen::timestamptz AT TIME ZONE 'UTC'))",
        "(seen >= '2024-01-01T00:00:00.000Z'::timestamptz AND seen <= '2024-01-28T23:59:59.999Z'::timestamptz)",
    ),
    (
        "date_trunc('hour', at)",
        "(at::timestamptz AT TIME ZONE 'UTC') >= '2024-01-05T00:00:00Z'::timestamptz::timestamp
            AND at < ('2024-01-06T00:00:00Z'::timestamptz AT TIME ZONE 'UTC')",
    ),
    // Offsets, zones by name, other spellings.
    (
        "date_trunc('day', at)",
        "at >= '2024-01-10T00:00:00+02:00'::timestamptz AND at < timestamptz '2024-01-20 00:00:00-05'",
    ),
    ("date_trunc('day', seen)", "seen >= '2024-01-10T00:00:00+02:00' AND seen < '2024-01-20 00:00:00-05'"),
    (
        "at::date",
        "at >= '2024-01-10 00:00 Europe/Berlin'::timestamptz AND at < '2024-01-20 00:00:00 America/New_York'::timestamptz",
    ),
    ("date_trunc('day', at)", "at >= 'Jan 10 2024' AND at < '20240120'"),
    ("date_trunc('day', at)", "at BETWEEN 'January 10, 2024 04:05 PM' AND '2024-01-20 08:00 UTC'"),
    (
        "date_trunc('day', at)",
        "at >= cast('2024-01-10 00:00:00.000+00:00' as timestamp) AND at < '2024-01-20'::date",
    ),
    ("date_trunc('day', seen)", "seen >= '2024-01-10'::date AND seen < '2024-01-20'::timestamp"),
    ("day", "day IN ('10 Jan 2024', '2024-01-12', 'January 14, 2024')"),
    ("day", "day BETWEEN '2024-1-10' AND '2024-01-20T00:00:00Z'"),
    (
        "date_trunc('month', at)",
        "date_trunc('month', at) >= '1 Dec 2023' AND date_trunc('month', at) < 'Feb 1 2024'",
    ),
    ("at::date", "(at::timestamptz AT TIME ZONE 'UTC')::date BETWEEN '2024-01-10' AND '2024-01-12'"),
    ("extract(hour from seen)", "seen >= '2024-01-10 06:00:00Z' AND seen < '2024-01-10 09:00:00Z'"),
];

/// The groups of a statement, in order.
async fn groups(client: &Client, (key, filter): &(&str, &str)) -> Result<Vec<Option<String>>, String> {
    let sql = format!("SELECT {key} AS k, count(*) AS n FROM beats WHERE {filter} GROUP BY 1 ORDER BY 1");
    let told = |e: tokio_postgres::Error| {
        e.as_db_error().map_or_else(|| e.to_string(), |e| format!("{} {:?}", e.message(), e.hint()))
    };
    Ok(rows(client, &sql).await.map_err(told)?.into_iter().map(|mut row| row.swap_remove(0)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_of_time_are_those_of_postgresql() {
    let db = city::bikes().await;
    db.execute(BEATS).await;
    let dir = Workdir::new(&(policy(&db.backend_toml(), &["ada"], RULES) + POLICY));
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let plain = db.superuser().await;
    let mut wrong = Vec::new();
    for client in [&ada, &plain] {
        client.batch_execute("SET timezone = 'UTC'").await.unwrap();
    }
    for filter in FILTERS {
        let (here, there) = (groups(&ada, filter).await, groups(&plain, filter).await);
        let count = |g: &Result<Vec<_>, String>| g.as_ref().map_or(0, Vec::len);
        assert!(count(&there) > 0, "{filter:?}: {there:?}");
        if here != there {
            wrong.push(format!("{filter:?}\n  {} groups for {}: {here:?}", count(&here), count(&there)));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), FILTERS.len(), wrong.join("\n"));
    // A text that is no time fails as in PostgreSQL, before anything is paid.
    let e = rows(&ada, "SELECT count(*) FROM beats WHERE at > 'Feb 31 2024'").await.unwrap_err();
    assert_eq!(e.code().map(|c| c.code()), Some("22008"), "{e:?}");
}
