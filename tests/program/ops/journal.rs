//! The log: what is in it, and what must never be.

use super::text;
use crate::city::{PASSWORD, bikes, eventually, fetch_waits, hold_trips, rows, sqlstate};
use crate::support::{Gate, TestDb, Workdir, connect, psql};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Serves with the log in a file.
async fn serve(dir: &Workdir, level: Option<&str>) -> (Gate, PathBuf) {
    let path = dir.path().join("log");
    let log = File::create(&path).unwrap();
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let gate = dir
        .serve_with(|c| {
            c.stderr(log).env_remove("NOISEGATE_LOG");
            if let Some(level) = level {
                c.env("NOISEGATE_LOG", level);
            }
        })
        .await;
    (gate, path)
}

/// A fetch that dies while it reads.
pub(super) async fn break_a_fetch(db: &TestDb, url: &str, sql: &str) {
    let holder = hold_trips(db).await;
    let client = connect(url).await;
    let sql = sql.to_owned();
    let asked = tokio::spawn(async move { sqlstate(&client, &sql).await });
    eventually("the fetch", async || fetch_waits(db).await).await;
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE usename = '{}_fetch' AND wait_event_type = 'Lock'",
        db.name
    );
    rows(&db.superuser().await, &end).await.unwrap();
    assert_eq!(asked.await.unwrap(), "XX000");
    holder.batch_execute("ROLLBACK").await.unwrap();
}

#[tokio::test]
async fn no_level_shows_a_value_or_a_word_of_a_statement() {
    let db = bikes().await;
    db.execute("INSERT INTO riders VALUES (501, 1990, 'day', 'Sikrit City', 'sikrit@example.org')").await;
    let dir = Workdir::new(&text(&db, &["ada"], ""));
    let (gate, path) = serve(&dir, Some("trace")).await;
    let url = gate.url("ada", PASSWORD, "bikes");
    let script = "
        SELECT count(*) FROM riders WHERE city = 'Sikrit City';
        SELECT city AS sikrit, count(*) FROM riders GROUP BY city;
        SELECT 'sikrit', count(*), 7357001 FROM trips WHERE minutes < 7357002;
        SELECT sikrit FROM riders;
        SELECT sikrit FROM;
        SELECT count(*) FROM sikrit WHERE x = 'sikrit';
        SELECT count(*) FROM riders WHERE city = sikrit('sikrit');
        SELECT count(*) FROM riders WHERE birth_year = 'sikrit';
        SELECT count(*) / (count(*) - count(*)), 'sikrit'::date FROM riders;
        SELECT 'sikrit'::int FROM stations;
        SELECT * FROM stations WHERE station = 'sikrit' OR capacity = 7357003;
        EXPLAIN SELECT count(*) FROM riders WHERE city = 'sikrit';
        INSERT INTO riders VALUES (7357004, 1, 'sikrit');
        SET application_name = 'sikrit';
        BEGIN; SAVEPOINT sikrit; ROLLBACK TO sikritt; COMMIT;
        DELETE FROM riders WHERE city = 'sikrit';";
    let out = psql(&url, script).await;
    assert!(out.stdout.contains("sikrit") && out.stderr.contains("sikrit"), "{out:?}");
    psql(&gate.url("ada", "sikrit", "sikrit"), "SELECT 1").await;
    let client = connect(&url).await;
    let value = "sikrit".to_owned();
    let private = "SELECT count(*) FROM riders WHERE city = $1 AND birth_year < $2";
    client.query(private, &[&value, &7_357_005i32]).await.unwrap();
    client.query("SELECT $1::text, count(*) FROM stations", &[&value]).await.unwrap();
    client.query("SELECT ($1::text)::int FROM stations", &[&value]).await.unwrap_err();
    client.query("SELECT sikrit($1) FROM riders", &[&value]).await.unwrap_err();
    client.batch_execute("SET search_path = sikrit; SET noisegate.epsilon = 'sikrit'").await.unwrap_err();
    drop(client);
    break_a_fetch(&db, &url, "SELECT count(*) FROM trips WHERE note = 'sikrit'").await;
    assert!(gate.signal("TERM").await.success());

    let log = std::fs::read_to_string(&path).unwrap();
    let lower = log.to_lowercase();
    for secret in
        ["sikrit", "735700", "select", "city", "correct horse", "scram-sha-256", "\"day\"", "@example.org"]
    {
        let found: Vec<&str> = lower.lines().filter(|l| l.contains(secret)).collect();
        assert!(found.is_empty(), "{secret:?} is in the log: {found:#?}");
    }
    // What must be there.
    for part in [
        "connected user=\"ada\" address=127.0.0.1 tls=false",
        "disconnected user=\"ada\"",
        "class=\"query\"",
        "epsilon=\"0.1\" entry=",
        "done ms=",
        "failed ms=",
        "sqlstate=\"42703\"",
        "class=\"unparsed\"",
        "sqlstate=\"28P01\"",
        "SQLSTATE 57P01 from ProcessInterrupts",
        "shutting down",
    ] {
        assert!(log.contains(part), "{part:?} is not in the log:\n{log}");
    }
    // An incident stands in the span of its statement.
    let incident = log.lines().find(|l| l.contains("the private data could not be read")).unwrap();
    assert!(incident.contains("statement{id=") && incident.contains("incident="), "{incident}");
}

#[tokio::test]
async fn json_has_an_object_per_line_and_the_level_reloads() {
    let db = bikes().await;
    let old = text(&db, &["ada"], "[log]\nformat = \"json\"\nlevel = \"warn\"\n");
    let dir = Workdir::new(&old);
    let (gate, path) = serve(&dir, None).await;
    let url = gate.url("ada", PASSWORD, "bikes");
    let sql = "SELECT plan, count(*) FROM riders GROUP BY plan";
    rows(&connect(&url).await, sql).await.unwrap();
    let events = || -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&path).unwrap();
        text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
    };
    assert_eq!(events(), [serde_json::Value::Null; 0], "nothing needs anybody");

    std::fs::write(dir.policy(), old.replace("level = \"warn\"", "level = \"info\"")).unwrap();
    assert_eq!(dir.noisegate(&["ctl", "reload"]).await.stdout, "reloaded: log.level\n");
    let client = connect(&url).await;
    rows(&client, sql).await.unwrap();
    assert_eq!(sqlstate(&client, "SELECT nothing FROM riders").await, "42703");
    let statements = || -> Vec<serde_json::Value> {
        events().into_iter().filter(|e| e["span"]["name"] == "statement").collect()
    };
    eventually("both events", async || statements().len() == 2).await;
    let [done, failed] = statements().try_into().unwrap();
    assert_eq!(done["message"], "done");
    assert_eq!(
        (&done["level"], &done["rows"], &done["span"]["user"]),
        (&"INFO".into(), &3.into(), &"ada".into())
    );
    assert_eq!((&done["span"]["epsilon"], done["span"]["entry"].is_u64()), (&"0.1".into(), true));
    assert!(done["ms"].is_u64() && done["timestamp"].is_string(), "{done}");
    assert_eq!((&failed["message"], &failed["sqlstate"]), (&"failed".into(), &"42703".into()));
    assert!(failed["span"]["epsilon"].is_null(), "nothing was charged: {failed}");
    let id = |e: &serde_json::Value| e["span"]["id"].as_str().unwrap().to_owned();
    assert!(id(&done) != id(&failed) && id(&done).len() == 16);
    assert!(gate.signal("TERM").await.success());
}

#[tokio::test]
async fn a_user_s_name_cannot_forge_a_line() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], ""));
    let (gate, path) = serve(&dir, None).await;
    let port = super::port(&gate);
    let forged = "eve\n2024-01-01T00:00:00Z  INFO noisegate: forged\u{1b}[31m";
    let out =
        psql(&format!("host=127.0.0.1 port={port} user='{forged}' password=x dbname=d"), "SELECT 1").await;
    assert!(!out.status.success());
    assert!(gate.signal("TERM").await.success());
    let log = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = log.lines().filter(|l| l.contains("forged")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("user=\"eve\\n2024") && !log.contains('\u{1b}'), "{log}");
}

#[tokio::test]
async fn the_journal_gets_priorities_and_no_clock() {
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], "[log]\nlevel = \"debug\"\n"));
    let path = dir.path().join("log");
    let log = File::create(&path).unwrap();
    let found = log.metadata().unwrap();
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let gate = dir
        .serve_with(|c| {
            c.stderr(log).env_remove("NOISEGATE_LOG");
            c.env("JOURNAL_STREAM", format!("{}:{}", found.dev(), found.ino()));
        })
        .await;
    psql(&gate.url("ada", "wrong", "bikes"), "SELECT 1").await;
    psql(&gate.url("ada", PASSWORD, "bikes"), "SELECT count(*) FROM stations").await;
    std::fs::write(dir.policy(), "[").unwrap();
    gate.send("HUP").await;
    let log = || std::fs::read_to_string(&path).unwrap();
    eventually("the mistake", async || log().contains("not TOML")).await;
    assert!(gate.signal("TERM").await.success());
    let log = log();
    assert!(log.lines().all(|l| l.starts_with("<3>ERROR") || l.starts_with("<6> INFO")), "{log}");
    let mistake = log.lines().find(|l| l.starts_with("<3>")).unwrap();
    assert!(
        mistake.contains("the old policy stays in force") && mistake.contains("policy.toml:1:"),
        "{mistake}"
    );
}
