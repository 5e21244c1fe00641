//! Reads that fail are counted before they can (soundness rule 39): at once, cancelled, across restarts and proxies.

use crate::city::{self, PASSWORD, eventually, fetch_waits, hold_trips, policy, room_for, rows, sqlstate};
use crate::support::{Gate, TestDb, Workdir, connect, database};
use std::time::{Duration, Instant};
use tokio_postgres::{Client, NoTls};

const GOOD: &str = "SELECT count(*) FROM trips";
/// Fails while [`Failing`] is there, and was never answered.
const FAILS: &str = "SELECT count(*) FROM trips WHERE minutes < 1000";

fn rules(limit: u32) -> String {
    format!(
        "[statement]\nepsilon = 0.1\n[[budget]]\nname = \"everyone\"\naccounting = \"approx\"\nepsilon = 100\n\
         delta = 1e-3\n[limits]\nmax_backend_errors = {limit}\nmax_result_groups = 20\n[[stream]]\nname = \"alerts\"\n\
         variant = \"numeric_sparse\"\nepsilon = 0.5\npositives = 5\n"
    )
}

fn dir(db: &TestDb, limit: u32) -> Workdir {
    let backend = format!("{}statement_timeout = \"5s\"\n", db.backend_toml());
    Workdir::new(&policy(&backend, &["ada", "bob"], &rules(limit)))
}

/// Ends the connections of reads that wait.
fn end_reads(db: &TestDb) -> String {
    format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}_fetch' AND wait_event_type = 'Lock'",
        db.name
    )
}

/// While it lives each read of trips fails: it waits, and its connection is ended.
struct Failing(tokio::task::JoinHandle<()>);

impl Failing {
    async fn of(db: &TestDb) -> Self {
        let (holder, killer, end) = (hold_trips(db).await, db.superuser().await, end_reads(db));
        Self(tokio::spawn(async move {
            loop {
                killer.batch_execute(&end).await.unwrap();
                assert!(!holder.is_closed());
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }))
    }

    async fn end(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}

async fn client(gate: &Gate, user: &str) -> Client {
    connect(&gate.url(user, PASSWORD, "bikes")).await
}

/// Asks on so many connections at once, and gives the SQLSTATEs, sorted; "" for an answer.
async fn at_once(gates: &[&Gate], user: &str, sql: &'static str, connections: usize) -> Vec<String> {
    let mut asked = Vec::new();
    for n in 0..connections {
        let client = client(gates[n % gates.len()], user).await;
        asked.push(tokio::spawn(async move { sqlstate_or_none(&client, sql).await }));
    }
    let mut codes = Vec::new();
    for asked in asked {
        codes.push(asked.await.unwrap());
    }
    codes.sort();
    codes
}

/// Cancels a statement whose read has begun.
async fn cancel(db: &TestDb, client: Client, sql: &'static str) -> Client {
    let holder = hold_trips(db).await;
    let token = client.cancel_token();
    let asked = tokio::spawn(async move { (sqlstate(&client, sql).await, client) });
    eventually("the read", async || fetch_waits(db).await).await;
    token.cancel_query(NoTls).await.unwrap();
    let (code, client) = asked.await.unwrap();
    assert_eq!(code, "57014");
    holder.batch_execute("ROLLBACK").await.unwrap();
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_39_many_at_once_fail_no_more_often_than_may_fail() {
    let db = city::bikes().await;
    let dir = dir(&db, 5);
    let gate = dir.serve().await;
    let failing = Failing::of(&db).await;
    let codes = at_once(&[&gate], "ada", FAILS, 45).await;
    failing.end().await;
    let failed = codes.iter().filter(|c| *c == "XX000").count();
    let refused = codes.iter().filter(|c| *c == "42501").count();
    assert_eq!((failed, refused), (5, 40), "{codes:?}");
    // What was refused cost nothing.
    let shown = dir.noisegate(&["budget", "show"]).await.stdout;
    assert!(shown.contains("everybody: ε = 0.5"), "{shown}");
    assert_eq!(sqlstate(&client(&gate, "ada").await, GOOD).await, "42501");
    assert_eq!(rows(&client(&gate, "bob").await, GOOD).await.unwrap().len(), 1, "others go on");
    // And after a restart.
    gate.kill().await;
    let gate = dir.serve_again().await;
    assert_eq!(sqlstate(&client(&gate, "ada").await, GOOD).await, "42501");
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_39_good_statements_wait_for_each_other_and_leave_no_count() {
    let db = city::bikes().await;
    let dir = dir(&db, 1);
    let gate = dir.serve().await;
    assert_eq!(at_once(&[&gate], "ada", GOOD, 12).await, [""; 12]);
    let ada = client(&gate, "ada").await;
    for _ in 0..10 {
        assert_eq!(rows(&ada, GOOD).await.unwrap().len(), 1);
    }
    let failing = Failing::of(&db).await;
    assert_eq!(sqlstate(&ada, FAILS).await, "XX000");
    failing.end().await;
    assert_eq!(sqlstate(&ada, GOOD).await, "42501");
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_39_a_read_goes_on_when_its_client_cancels_and_counts_as_it_ends() {
    let db = city::bikes().await;
    let dir = dir(&db, 2);
    let gate = dir.serve().await;
    // What ends well is no failure, whoever waits for it.
    let mut ada = client(&gate, "ada").await;
    for sql in
        [GOOD, "SELECT sum(minutes) FROM trips", "SELECT count(*) FROM trips JOIN riders USING (rider_id)"]
    {
        ada = cancel(&db, ada, sql).await;
    }
    // Its client goes away, and the read fails: a failure. So is a question to a stream that is cancelled, which is read
    // without a debit, and not for anybody else.
    let (holder, gone) = (hold_trips(&db).await, client(&gate, "ada").await);
    let asked = tokio::spawn(async move { rows(&gone, FAILS).await.map(drop) });
    eventually("the read", async || fetch_waits(&db).await).await;
    asked.abort();
    db.superuser().await.batch_execute(&end_reads(&db)).await.unwrap();
    holder.batch_execute("ROLLBACK").await.unwrap();
    ada.simple_query("SET noisegate.stream = 'alerts'").await.unwrap();
    let ada = cancel(&db, ada, "SELECT 1 FROM trips HAVING count(*) > 1000000000").await;
    ada.simple_query("RESET noisegate.stream").await.unwrap();
    eventually("the suspension", async || sqlstate_or_none(&ada, GOOD).await == "42501").await;
    ada.simple_query("SET noisegate.stream = 'alerts'").await.unwrap();
    assert_eq!(sqlstate(&ada, "SELECT 1 FROM trips HAVING count(*) > 1000000000").await, "42501");
}

/// "" for an answer.
async fn sqlstate_or_none(client: &Client, sql: &str) -> String {
    match rows(client, sql).await {
        Ok(_) => String::new(),
        Err(e) => e.code().unwrap_or_else(|| panic!("{e:?}")).code().to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rule_39_proxies_that_share_books_share_the_count() {
    let (db, books) = (city::bikes().await, database("").await);
    let text = policy(&db.backend_toml(), &["ada", "bob"], &rules(4));
    let url = "url = \"sqlite:noisegate.db\"";
    assert!(text.contains(url));
    let text = text.replace(url, &format!("url = \"{}\"\ntimeout = \"5s\"", books.superuser_url));
    let dirs = [Workdir::new(&text), Workdir::new(&text)];
    let gates = [dirs[0].serve().await, dirs[1].serve_again().await];
    assert_eq!(at_once(&[&gates[0], &gates[1]], "bob", GOOD, 12).await, [""; 12]);
    let failing = Failing::of(&db).await;
    let codes = at_once(&[&gates[0], &gates[1]], "ada", FAILS, 30).await;
    failing.end().await;
    assert_eq!(codes.iter().filter(|c| *c == "XX000").count(), 4, "{codes:?}");
    assert_eq!(codes.iter().filter(|c| *c == "42501").count(), 26, "{codes:?}");
    for gate in &gates {
        assert_eq!(sqlstate(&client(gate, "ada").await, GOOD).await, "42501");
        assert_eq!(rows(&client(gate, "bob").await, GOOD).await.unwrap().len(), 1);
    }
    let owner = books.superuser().await;
    // What ended well may be written a moment later.
    eventually("the end of bob's reads", async || {
        let left = rows(&owner, "SELECT count(*) FROM noisegate_ledger.reads WHERE user_name = 'bob'").await;
        left.unwrap() == [[Some("0".to_owned())]]
    })
    .await;
}

/// No limit counts groups that nobody is told of: 500 of them are read where 20 may come back, and those that units share are told.
/// Whether it failed was once a count of private groups, without noise.
#[tokio::test(flavor = "multi_thread")]
async fn rule_51_no_limit_counts_private_groups() {
    let db = city::bikes().await;
    db.superuser()
        .await
        .batch_execute(
            "UPDATE trips SET note = CASE WHEN trip_id % 2 = 0 THEN 'shared' ELSE 'of ' || rider_id END",
        )
        .await
        .unwrap();
    let dir = dir(&db, 1);
    let gate = dir.serve().await;
    let ada = client(&gate, "ada").await;
    ada.simple_query("SET noisegate.epsilon = 5").await.unwrap();
    for sql in [
        "SELECT note FROM trips GROUP BY note",
        "SELECT note, count(*) FROM trips GROUP BY note",
        "SELECT note, count(*), avg(minutes), count(DISTINCT minutes) FROM trips GROUP BY note",
        "SELECT note, median(minutes) FROM trips GROUP BY note",
    ] {
        let told = rows(&ada, sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let notes: Vec<_> = told.iter().map(|row| row[0].clone().unwrap()).collect();
        assert_eq!(notes, ["shared"], "{sql}");
    }
}

/// What is told may be too much: that is no failure of the reads, and says so.
#[tokio::test(flavor = "multi_thread")]
async fn rule_51_too_many_groups_that_are_told_are_no_failure() {
    let db = city::bikes().await;
    db.superuser().await.batch_execute("UPDATE trips SET note = 'shared ' || trip_id % 25").await.unwrap();
    let dir = dir(&db, 1);
    let gate = dir.serve().await;
    let ada = client(&gate, "ada").await;
    ada.simple_query("SET noisegate.epsilon = 20").await.unwrap();
    for _ in 0..3 {
        assert_eq!(sqlstate(&ada, "SELECT note, count(*) FROM trips GROUP BY note").await, "54000");
    }
    assert_eq!(rows(&ada, GOOD).await.unwrap().len(), 1, "nobody is suspended");
}

/// With a quantum a read of private rows takes no less than that, whether it ends well or not; what reads none is not held
/// up, and neither is an answer that was kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_quantum_holds_reads_of_private_rows_alone() {
    let quantum = Duration::from_secs(3);
    let rules = format!("{}[answers]\nquantum = \"3s\"\n[cache]\nenabled = true\n", room_for(100));
    let db = city::bikes().await;
    let backend = format!("{}statement_timeout = \"1s\"\n", db.backend_toml());
    let dir = Workdir::new(&policy(&backend, &["ada"], &rules));
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let took = async |sql: &str| {
        let begun = Instant::now();
        let answer = rows(&ada, sql).await;
        (begun.elapsed(), answer)
    };
    let (first, answer) = took("SELECT count(*) FROM trips").await;
    assert!(first >= quantum && answer.is_ok(), "{first:?} {answer:?}");
    let others = [
        "SELECT count(*) FROM trips",
        "SELECT count(*) FROM stations",
        "EXPLAIN SELECT count(*) FROM riders",
    ];
    for sql in others {
        let (free, answer) = took(sql).await;
        assert!(free < quantum && answer.is_ok(), "{sql}: {free:?} {answer:?}");
    }
    // Over its time limit after one second, which is not when the client hears of it.
    let holder = city::hold_trips(&db).await;
    let (failed, answer) = took("SELECT count(*) FROM trips WHERE minutes > 40").await;
    assert!(failed >= quantum && answer.is_err(), "{failed:?} {answer:?}");
    drop(holder);
}
