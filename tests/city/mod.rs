//! A small bike-share database behind a proxy: what tests from the outside ask.
#![allow(dead_code, reason = "each test program uses its own part of this")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::support::{Gate, TestDb, Workdir, connect, database, psql};
use std::time::{Duration, Instant};
use tokio_postgres::{Client, SimpleQueryMessage};

/// Everybody's password.
pub const PASSWORD: &str = "correct horse";

/// 500 riders, each with four trips; rider 500 has values that no other has.
pub const DATA: &str = "
    CREATE TABLE stations (station text PRIMARY KEY, city text NOT NULL, capacity int NOT NULL);
    INSERT INTO stations SELECT 'Station ' || i, 'City ' || i % 3, 10 + i FROM generate_series(0, 9) i;
    CREATE TABLE riders (rider_id int PRIMARY KEY, birth_year int, plan text NOT NULL, city text, email text);
    INSERT INTO riders
        SELECT i, 1940 + i % 60, (ARRAY['day', 'month', 'year'])[1 + i % 3], 'City ' || i % 3, i || '@example.org'
        FROM generate_series(1, 499) i;
    INSERT INTO riders VALUES (500, 2147483647, 'day', 'Nowhere', 'eve@example.org');
    CREATE TABLE trips (trip_id int PRIMARY KEY, rider_id int NOT NULL REFERENCES riders, started_at timestamp NOT NULL,
        station text NOT NULL REFERENCES stations, minutes int NOT NULL, fare numeric(6,2) NOT NULL, note text,
        speed float8);
    CREATE INDEX trips_rider ON trips (rider_id);
    INSERT INTO trips
        SELECT i, 1 + i % 499, timestamp '2024-01-01' + i * interval '4 hours', 'Station ' || i % 10,
            31 + i * 7 % 60, (i % 50) + 0.25, (i % 100)::text, i % 30
        FROM generate_series(1, 1996) i;
    INSERT INTO trips VALUES
        (1997, 500, '294276-12-31 23:59:59', 'Station 0', 30, 0, 'twelve', 'NaN'),
        (1998, 500, '4713-01-01 BC', 'Station 0', 0, -9999.99, '', 'Infinity'),
        (1999, 500, '-infinity', 'Station 1', -2147483648, 9999.99, '%', '-Infinity'),
        (2000, 500, 'infinity', 'Station 1', 2147483647, 9999.99, NULL, 1e308);";

/// Takes rider 500 out: the neighbour.
pub const WITHOUT_500: &str =
    "DELETE FROM trips WHERE rider_id = 500; DELETE FROM riders WHERE rider_id = 500;";

/// The database, and what the finish login may read.
pub async fn bikes() -> TestDb {
    published(database(DATA).await).await
}

/// Lets the finish login read what the policy calls public.
pub async fn published(db: TestDb) -> TestDb {
    db.publish(&["stations"]).await;
    db
}

/// A policy. `rules` holds [statement], [[budget]] and [limits] sections. Unless they say otherwise in a [cache],
/// every answer is paid for.
pub fn policy(backend_toml: &str, users: &[&str], rules: &str) -> String {
    let verifier = postgres_protocol::password::scram_sha_256(PASSWORD.as_bytes());
    let users: String =
        users.iter().map(|n| format!("[[user]]\nname = \"{n}\"\nscram = \"{verifier}\"\n")).collect();
    let cache = if rules.contains("[cache]") { "" } else { "[cache]\nenabled = false" };
    format!(
        "[server]\nlisten = [\"127.0.0.1:0\"]\n{backend_toml}[ledger]\nurl = \"sqlite:noisegate.db\"\n{users}
{rules}
[privacy]
unit = \"riders.rider_id\"
[table.riders]
unit_column = \"rider_id\"
columns.birth_year = {{ range = [1920, 2010] }}
columns.plan = {{ values = [\"day\", \"month\", \"year\"] }}
columns.city = {{}}
columns.email = {{ hidden = true }}
[table.trips]
unit_column = \"rider_id\"
columns.started_at = {{ range = [2023-01-01, 2025-12-31] }}
columns.station = {{ references = \"stations.station\" }}
columns.minutes = {{ range = [0, 240] }}
columns.fare = {{ range = [0, 60] }}
columns.note = {{}}
columns.speed = {{ range = [0, 40], grid = 0.5 }}
[table.stations]
public = true
{cache}
"
    )
}

/// The database behind a proxy.
pub struct World {
    _dir: Workdir,
    /// The proxy.
    pub gate: Gate,
}

impl World {
    /// Under these rules (see [`policy`]).
    pub async fn new(users: &[&str], rules: &str) -> Self {
        let db = bikes().await;
        let dir = Workdir::new(&policy(&db.backend_toml(), users, rules));
        let gate = dir.serve().await;
        Self { _dir: dir, gate }
    }

    /// A connection.
    pub async fn client(&self, user: &str) -> Client {
        connect(&self.gate.url(user, PASSWORD, "bikes")).await
    }

    /// What psql prints and what it is told, for a script that has no errors.
    pub async fn psql(&self, user: &str, script: &str) -> (String, String) {
        let out = psql(&self.gate.url(user, PASSWORD, "bikes"), script).await;
        assert!(!out.stderr.contains("ERROR"), "{script}: {}", out.stderr);
        (out.stdout, out.stderr)
    }
}

/// A budget over the whole dataset with room for so many statements of ε = 0.1.
pub fn room_for(statements: u32) -> String {
    format!(
        "[statement]\nepsilon = 0.1\n[[budget]]\nname = \"everyone\"\naccounting = \"pure\"\nepsilon = {}.{}\n",
        statements / 10,
        statements % 10
    )
}

/// The cells of all rows of a simple query.
pub async fn rows(client: &Client, sql: &str) -> Result<Vec<Vec<Option<String>>>, tokio_postgres::Error> {
    let messages = client.simple_query(sql).await?;
    let rows = messages.iter().filter_map(|m| match m {
        SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect()),
        _ => None,
    });
    Ok(rows.collect())
}

/// The SQLSTATE that a statement fails with.
pub async fn sqlstate(client: &Client, sql: &str) -> String {
    match client.simple_query(sql).await {
        Ok(answer) => panic!("answered: {sql}: {answer:?}"),
        Err(e) => e.code().unwrap_or_else(|| panic!("{sql}: {e:?}")).code().to_owned(),
    }
}

/// Waits for something that happens soon.
pub async fn eventually(what: &str, mut happened: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !happened().await {
        assert!(Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
}

/// Holds the index of `trips`: statements over it are analysed as ever, and wait where they are planned to run.
/// (A lock of the table itself would stop them before they are paid for, where their names are looked up.)
pub async fn hold_trips(db: &TestDb) -> Client {
    let holder = db.superuser().await;
    holder.batch_execute("BEGIN; REINDEX INDEX trips_rider").await.unwrap();
    holder
}

/// Whether a fetch waits for [`hold_trips`].
pub async fn fetch_waits(db: &TestDb) -> bool {
    let waiting = format!(
        "SELECT 1 FROM pg_stat_activity WHERE usename = '{}_fetch' AND wait_event_type = 'Lock'",
        db.name
    );
    !rows(&db.superuser().await, &waiting).await.unwrap().is_empty()
}
