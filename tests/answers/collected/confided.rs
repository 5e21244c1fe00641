//! What a login that writes sends is kept nowhere, and repeated to nobody, whatever kind of statement it is.

use super::World;
use crate::city::sqlstate;
use crate::support::connect;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const COLLECT: &str = "\
[collect.survey]
users = [\"form\"]
columns.drinks = { kind = \"categorical\", values = [\"never\", \"weekly\"], epsilon = 1 }
[metrics]
listen = \"127.0.0.1:0\"
[log]
level = \"trace\"
[traces]
text = true
";
/// What somebody answers.
const ANSWER: &str = "xyzzyplugh";

/// Takes whatever a proxy sends to a collector of traces.
async fn collector() -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, taken) = (listener.local_addr().unwrap().to_string(), Arc::<Mutex<String>>::default());
    let kept = taken.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(n @ 1..) = socket.read(&mut bytes).await {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..n]));
                let all = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
                if kept.lock().unwrap().ends_with("}") {
                    socket.write_all(all).await.unwrap();
                    break;
                }
            }
        }
    });
    (address, taken)
}

/// Number of messages whose syntax the proxy remembers.
async fn remembered(address: &str) -> String {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer.lines().find(|l| l.starts_with("noisegate_statements_known")).unwrap().to_owned()
}

/// The attack: an answer in a statement that is refused, or that is no INSERT. It stood in traces, on the owner's page, among the
/// texts that are remembered, and in errors. Mutation: redaction by the kind of a statement.
#[tokio::test(flavor = "multi_thread")]
async fn rule_40_what_a_login_that_writes_sends_is_kept_nowhere_and_not_repeated() {
    let (collector, traces) = collector().await;
    let collect = COLLECT.replace("text = true", &format!("text = true\nendpoint = \"http://{collector}\""));
    // Texts of statements are kept: of analysts.
    let World { db, dir, gate } = World::with(&collect, "drinks int4 NOT NULL", |policy| {
        policy.replace("url = \"sqlite:noisegate.db\"", "url = \"sqlite:noisegate.db\"\ntext = true")
    })
    .await;
    gate.kill().await;
    let log = dir.path().join("trace.log");
    let file = std::fs::File::create(&log).unwrap();
    let gate = dir
        .serve_with(|command| {
            command.env("NOISEGATE_LOG", "trace").stderr(Stdio::from(file));
        })
        .await;
    let metrics = gate.greeting.lines().find_map(|l| l.strip_prefix("metrics at http://")).unwrap();
    let metrics = metrics.trim_end_matches("/metrics").to_owned();
    let world = World { db, dir, gate };
    let ada = world.client("ada").await;
    ada.simple_query("SELECT count(*) AS analysts_word FROM stations").await.unwrap();
    let (form, known) = (world.client("form").await, remembered(&metrics).await);
    for sql in [
        format!("PREPARE a AS INSERT INTO survey VALUES ('{ANSWER}')"),
        format!("WITH x AS (INSERT INTO survey VALUES ('{ANSWER}') RETURNING 1) SELECT * FROM x"),
        format!("DECLARE c CURSOR FOR INSERT INTO survey VALUES ('{ANSWER}') RETURNING 1"),
        format!("COPY (INSERT INTO survey VALUES ('{ANSWER}') RETURNING 1) TO STDOUT"),
        format!("SELECT count(*) FROM survey WHERE drinks = '{ANSWER}'"),
        format!("SELECT count(*) FROM {ANSWER}"),
        format!("SELECT {ANSWER} FROM survey"),
        format!("SELECT '{ANSWER}'::int4"),
        format!("SELECT '{ANSWER}'"),
        format!("EXECUTE a('{ANSWER}')"),
        format!("EXPLAIN SELECT 1 WHERE '{ANSWER}' = 'x'"),
        format!("EXPLAIN INSERT INTO survey VALUES ('{ANSWER}')"),
        format!("UPDATE survey SET drinks = '{ANSWER}'"),
        format!("INSERT INTO survey ({ANSWER}) VALUES (1)"),
        format!("INSERT INTO {ANSWER} VALUES (1)"),
        format!("INSERT INTO survey VALUES ('{ANSWER}'"),
        format!("INSERT INTO survey VALUES ({ANSWER})"),
        format!("SET {ANSWER} = 1"),
        ANSWER.to_owned(),
    ] {
        let error = form.simple_query(&sql).await.expect_err(&sql);
        let error = error.as_db_error().unwrap_or_else(|| panic!("{sql}: {error}"));
        assert!(!format!("{error:?}").contains(ANSWER), "{sql}: {error:?}");
        if let Err(error) = form.prepare(&sql).await {
            assert!(!format!("{error:?}").contains(ANSWER), "{sql}: {error:?}");
        }
    }
    // Of what is not refused nothing is kept, either; a parameter is a value, too.
    form.batch_execute("BEGIN; SELECT 4711; COMMIT").await.unwrap();
    assert_eq!(sqlstate(&form, "SELECT 4711 + 'x'").await, "42501");
    assert_eq!(form.prepare("SELECT $1::text").await.unwrap_err().code().unwrap().code(), "42501");
    assert_eq!(remembered(&metrics).await, known, "nothing that it sent is remembered");
    // Somebody else's INSERT: by whoever was given the wrong login.
    let error = ada.simple_query(&format!("PREPARE a AS INSERT INTO survey VALUES ('{ANSWER}')")).await;
    assert!(!format!("{:?}", error.unwrap_err()).contains(ANSWER));
    ada.simple_query("SELECT count(*) AS another_word FROM stations").await.unwrap();
    let World { db, dir, gate } = world;
    gate.signal("TERM").await;
    let sent = traces.lock().unwrap().clone();
    assert!(sent.contains("analysts_word") && sent.contains("another_word"), "traces have texts: {sent}");
    assert!(!sent.contains(ANSWER) && !sent.contains("4711"), "{sent}");
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let file = file.unwrap().path();
        if file.is_file() {
            let bytes = std::fs::read(&file).unwrap();
            let found = bytes.windows(ANSWER.len()).any(|w| w == ANSWER.as_bytes());
            assert!(!found, "{}", file.display());
        }
    }
    let gate = dir.serve_again().await;
    let form = connect(&gate.url("form", crate::city::PASSWORD, "bikes")).await;
    form.simple_query("INSERT INTO survey VALUES ('weekly')").await.unwrap();
    let stored = db.superuser().await.query_one("SELECT count(*) FROM survey_reports", &[]).await.unwrap();
    assert_eq!(stored.get::<_, i64>(0), 1);
}
