//! What monitoring reads of a proxy that works, and whether it is told when the proxy cannot.

use super::{certificate, text, with_server};
use crate::city::{PASSWORD, bikes, eventually};
use crate::support::{Gate, Workdir, connect, psql};
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where monitoring arrives.
fn address(gate: &Gate) -> String {
    let line = gate.greeting.lines().find_map(|l| l.strip_prefix("metrics at http://")).expect("metrics");
    line.trim_end_matches("/metrics").to_owned()
}

/// Status and body of a page.
async fn get(address: &str, path: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Samples by their name with labels.
async fn samples(address: &str) -> BTreeMap<String, f64> {
    let (status, body) = get(address, "/metrics").await;
    assert_eq!(status, 200);
    assert!(body.ends_with("# EOF\n"), "{body}");
    let lines = body.lines().filter(|l| !l.starts_with('#'));
    lines
        .map(|l| l.rsplit_once(' ').unwrap())
        .map(|(name, n)| (name.to_owned(), n.parse().unwrap()))
        .collect()
}

#[tokio::test]
async fn statements_are_counted_by_how_they_end_and_timed_by_stage() {
    let db = bikes().await;
    let more = "\n[metrics]\nlisten = \"127.0.0.1:0\"\n[cache]\nenabled = true\n";
    let dir =
        Workdir::new(&text(&db, &["ada"], more).replace("[server]\n", "[server]\ndatabase = \"city\"\n"));
    let gate = dir.serve().await;
    let at = address(&gate);
    assert_eq!(get(&at, "/live").await, (200, "live\n".into()));
    assert_eq!(get(&at, "/ready").await, (200, "ready\n".into()));
    assert_eq!(get(&at, "/").await.0, 404);

    let ada = connect(&gate.url("ada", PASSWORD, "city")).await;
    for sql in ["SELECT count(*) FROM trips", "SELECT count(*) FROM trips", "SELECT count(*) FROM stations"] {
        ada.simple_query(sql).await.unwrap();
    }
    for sql in ["SELECT fare FROM trips", "SELECT nothing FROM trips", "SELECT 1 +"] {
        ada.simple_query(sql).await.unwrap_err();
    }
    ada.simple_query("EXPLAIN SELECT count(*) FROM riders").await.unwrap();
    ada.simple_query("SET noisegate.epsilon = 0.5").await.unwrap();
    // A prepared statement is planned when it is bound, and what that took is its own.
    ada.query("SELECT count(*) FROM riders WHERE birth_year > $1::int4", &[&1950]).await.unwrap();

    let seen = samples(&at).await;
    let of = |name: &str| *seen.get(name).unwrap_or_else(|| panic!("{name} in {seen:?}"));
    for (outcome, times) in
        [("fresh", 2.0), ("repeated", 1.0), ("refused", 3.0), ("explained", 1.0), ("failed", 0.0)]
    {
        let name = format!("noisegate_statements_total{{database=\"city\",outcome=\"{outcome}\"}}");
        assert_eq!(of(&name), times, "{outcome}");
    }
    assert!(of("noisegate_statements_total{database=\"city\",outcome=\"public\"}") >= 1.0);
    for (code, times) in [("0A000", 1.0), ("42703", 1.0), ("42601", 1.0)] {
        assert_eq!(of(&format!("noisegate_errors_total{{database=\"city\",sqlstate=\"{code}\"}}")), times);
    }
    for (stage, least) in
        [("parse", 6.0), ("plan", 6.0), ("ledger", 3.0), ("fetch", 2.0), ("noise", 2.0), ("finish", 4.0)]
    {
        let count = of(&format!("noisegate_stage_seconds_count{{database=\"city\",stage=\"{stage}\"}}"));
        assert!(count >= least, "{stage}: {count}");
    }
    assert_eq!(of("noisegate_kept_answers_total{database=\"city\",result=\"hit\"}"), 1.0);
    assert_eq!(of("noisegate_kept_answers_total{database=\"city\",result=\"miss\"}"), 2.0);
    let spent = of("noisegate_budget_spent_ratio{database=\"city\",budget=\"everyone\"}");
    assert!(spent > 0.0 && spent < 0.1, "{spent}");
    assert_eq!(of("noisegate_sessions"), 1.0);
    assert_eq!(of("noisegate_statements_running{database=\"city\"}"), 0.0);
    assert!(of("noisegate_ledger_commit_seconds_count{database=\"city\"}") >= 2.0);
    assert!(of("noisegate_ledger_tip_age_seconds{database=\"city\"}") < 60.0);
    assert_eq!(of("noisegate_ledger_answers{database=\"city\"}"), 1.0);
    assert_eq!(of("noisegate_connections_waiting{database=\"city\",pool=\"fetch\"}"), 0.0);
    assert!(!seen.keys().any(|name| name.contains("ada")), "no user is named");
}

#[tokio::test]
async fn what_is_known_of_statements_outlives_a_reload_that_changes_nothing_and_no_other() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], "\n[metrics]\nlisten = \"127.0.0.1:0\"\n"));
    let gate = dir.serve().await;
    let at = address(&gate);
    let ada = connect(&gate.url("ada", PASSWORD, "bikes")).await;
    let asked = "SELECT count(*) FROM trips WHERE fare > 10";
    let known = async || samples(&at).await["noisegate_statements_known{database=\"policy\"}"];
    let reload = async || dir.noisegate(&["ctl", "reload"]).await.stdout;
    ada.simple_query(asked).await.unwrap();
    let before = known().await;
    assert!(before > 0.0);
    assert_eq!(reload().await, "reloaded: nothing has changed\n");
    assert_eq!(known().await, before);
    ada.simple_query(asked).await.unwrap();

    db.execute("ALTER TABLE trips ADD COLUMN weather text").await;
    assert!(reload().await.contains("the schema of the tables"));
    assert_eq!(known().await, 0.0);
    ada.simple_query(asked).await.unwrap();
    let wider = std::fs::read_to_string(dir.policy()).unwrap().replace("[0, 240]", "[0, 300]");
    std::fs::write(dir.policy(), wider).unwrap();
    assert_eq!(reload().await, "reloaded: [table]\n");
    assert_eq!(known().await, 0.0);
    ada.simple_query(asked).await.unwrap();
}

#[tokio::test]
async fn readiness_follows_the_tables_and_the_shutdown() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], "\n[metrics]\nlisten = \"127.0.0.1:0\"\n"));
    let gate = dir.serve().await;
    let at = address(&gate);
    assert_eq!(get(&at, "/ready").await.0, 200);
    db.execute("ALTER TABLE trips ADD COLUMN weather text").await;
    eventually("the altered table is noticed", async || get(&at, "/ready").await.0 == 503).await;
    let (_, why) = get(&at, "/ready").await;
    assert!(why.contains("tables were altered since the policy was checked; reload it"), "{why}");
    let out = dir.noisegate(&["ctl", "reload"]).await;
    assert!(out.status.success(), "{out:?}");
    eventually("the reload is noticed", async || get(&at, "/ready").await.0 == 200).await;

    // A statement that runs holds the shutdown open; meanwhile balancers are told.
    let owner = db.superuser().await;
    owner.batch_execute("BEGIN; LOCK TABLE stations IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let url = gate.url("ada", &PASSWORD.replace(' ', "%20"), "bikes");
    let waits = tokio::spawn(async move { psql(&url, "SELECT count(*) FROM stations").await });
    let running = "noisegate_statements_running{database=\"policy\"}";
    eventually("the statement runs", async || samples(&at).await.get(running) == Some(&1.0)).await;
    gate.send("TERM").await;
    eventually("the shutdown is noticed", async || {
        get(&at, "/ready").await == (503, "policy: the proxy is shutting down\n".into())
    })
    .await;
    assert_eq!(get(&at, "/live").await.0, 200);
    owner.batch_execute("ROLLBACK").await.unwrap();
    assert!(waits.await.unwrap().stdout.contains("10"));
}

#[tokio::test]
async fn other_machines_are_spoken_to_by_the_certificate() {
    let db = bikes().await;
    let keys = "listen = [\"127.0.0.1:0\"]\ntls = { cert = \"server.crt\", key = \"server.key\" }";
    let dir = Workdir::new(&with_server(&text(&db, &["ada"], "\n[metrics]\nlisten = \"0.0.0.0:0\"\n"), keys));
    certificate(&dir);
    let gate = dir.serve().await;
    assert!(gate.greeting.contains("metrics at https://0.0.0.0:"), "{}", gate.greeting);
    // Whoever comes by the loopback address needs none.
    let port = gate.greeting.lines().find_map(|l| l.strip_prefix("metrics at https://0.0.0.0:")).unwrap();
    let at = format!("127.0.0.1:{}", port.trim_end_matches("/metrics"));
    assert_eq!(get(&at, "/live").await.0, 200);

    let plain = text(&db, &["ada"], "\n[metrics]\nlisten = \"0.0.0.0:9187\"\n");
    let out = Workdir::new(&plain).noisegate(&["check"]).await;
    assert!(out.stdout.contains("metrics are reachable from other machines without TLS"), "{out:?}");
}
