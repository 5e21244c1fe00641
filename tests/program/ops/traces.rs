//! Statements as a collector gets them: a span for each, one below it for each part of its way, and no text unless the policy
//! says so.

use super::text;
use crate::city::{PASSWORD, bikes, eventually};
use crate::support::{Workdir, connect};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// What a collector has taken.
type Taken = Arc<Mutex<Vec<Value>>>;

/// A collector on a port of its own: it checks what it is sent, and answers this.
async fn collector(answer: &'static str) -> (String, Taken) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let taken = Taken::default();
    let kept = taken.clone();
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            take(socket, answer, &kept).await;
        }
    });
    (address, taken)
}

async fn take(socket: TcpStream, answer: &str, kept: &Taken) {
    let mut socket = BufReader::new(socket);
    let (mut head, mut line) = (Vec::new(), String::new());
    while socket.read_line(&mut line).await.unwrap() > 2 {
        head.push(std::mem::take(&mut line).trim_end().to_owned());
    }
    assert_eq!(head[0], "POST /v1/traces HTTP/1.1");
    assert!(head.contains(&"content-type: application/json".to_owned()), "{head:?}");
    let length = head.iter().find_map(|l| l.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.unwrap();
    kept.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
    let answer = format!("HTTP/1.1 {answer}\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}");
    socket.write_all(answer.as_bytes()).await.unwrap();
}

/// All spans of all messages.
fn spans(taken: &Taken) -> Vec<Value> {
    let messages = taken.lock().unwrap().clone();
    let mut found = Vec::new();
    for message in &messages {
        let resource = &message["resourceSpans"][0];
        assert_eq!(attribute(&resource["resource"], "service.name"), Some("noisegate".into()));
        found.extend(resource["scopeSpans"][0]["spans"].as_array().unwrap().iter().cloned());
    }
    found
}

fn attribute(of: &Value, key: &str) -> Option<String> {
    let found = of["attributes"].as_array()?.iter().find(|a| a["key"] == key)?;
    let value = found["value"].as_object()?.values().next()?;
    value.as_str().map(str::to_owned)
}

fn nanos(span: &Value, end: &str) -> u128 {
    span[format!("{end}TimeUnixNano")].as_str().unwrap().parse().unwrap()
}

/// Waits until the statements of these outcomes have arrived.
async fn arrived(taken: &Taken, outcomes: &[&str]) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let found = spans(taken);
        let seen: Vec<String> = found.iter().filter_map(|s| attribute(s, "noisegate.outcome")).collect();
        if outcomes.iter().all(|o| seen.iter().any(|s| s == o)) {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{seen:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

const ASKED: &str = "SELECT count(*) FROM trips WHERE minutes > 42";

#[tokio::test]
async fn each_statement_is_a_span_with_its_stages_below() {
    let (address, taken) = collector("200 OK").await;
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["grace"], &format!("\n[traces]\nendpoint = \"http://{address}\"\n")));
    let gate = dir.serve().await;
    let grace = connect(&gate.url("grace", PASSWORD, "city")).await;
    grace.simple_query(ASKED).await.unwrap();
    grace.simple_query("SELECT fare FROM trips WHERE note = 'Jane'").await.unwrap_err();
    grace.query("SELECT count(*) FROM stations WHERE capacity > $1::int4", &[&1]).await.unwrap();
    let found = arrived(&taken, &["fresh", "refused", "public"]).await;

    let of = |outcome: &str| {
        let own =
            found.iter().find(|s| attribute(s, "noisegate.outcome").as_deref() == Some(outcome)).unwrap();
        let below: Vec<&Value> = found.iter().filter(|s| s["parentSpanId"] == own["spanId"]).collect();
        (own, below)
    };
    let (own, below) = of("fresh");
    assert_eq!((own["name"].as_str(), own["kind"].as_u64()), (Some("query"), Some(2)));
    assert_eq!(attribute(own, "noisegate.epsilon").as_deref(), Some("0.1"));
    assert_eq!(attribute(own, "db.response.returned_rows").as_deref(), Some("1"));
    let names: BTreeSet<&str> = below.iter().map(|s| s["name"].as_str().unwrap()).collect();
    for stage in ["parse", "plan", "ledger", "fetch", "noise", "finish", "send"] {
        assert!(names.contains(stage), "{stage} in {names:?}");
    }
    // Parts lie within the whole, one after the other, and leave nothing out.
    for (own, below) in [of("fresh"), of("refused"), of("public")] {
        let (start, end) = (nanos(own, "start"), nanos(own, "end"));
        let mut at = start;
        for part in &below {
            assert_eq!(part["traceId"], own["traceId"]);
            assert_eq!(
                (part["traceId"].as_str().unwrap().len(), part["spanId"].as_str().unwrap().len()),
                (32, 16)
            );
            let (from, to) = (nanos(part, "start"), nanos(part, "end"));
            assert!(from.abs_diff(at) < 2_000 && to >= from && to <= end + 2_000, "{own} {part}");
            at = to;
        }
        assert!(!below.is_empty() && at.abs_diff(end) < 2_000, "{own}");
    }
    let (own, _) = of("refused");
    assert_eq!(attribute(own, "db.response.status_code").as_deref(), Some("0A000"));
    assert_eq!(own["status"]["code"], 2);
    // Nothing of the text, and nobody's name.
    let all = serde_json::to_string(&found).unwrap();
    for never in ["SELECT", "minutes", "Jane", "grace", PASSWORD] {
        assert!(!all.contains(never), "{never} in {all}");
    }
}

#[tokio::test]
async fn texts_are_sent_where_they_are_kept_and_wanted() {
    let (address, taken) = collector("200 OK").await;
    let db = bikes().await;
    let more = format!("\n[traces]\nendpoint = \"http://{address}/v1/traces\"\ntext = true\n");
    let policy = text(&db, &["ada"], &more).replace("[ledger]\n", "[ledger]\ntext = true\n");
    let dir = Workdir::new(&policy);
    let gate = dir.serve().await;
    let ada = connect(&gate.url("ada", PASSWORD, "city")).await;
    ada.simple_query(ASKED).await.unwrap();
    // What waits is sent before the program ends.
    gate.send("TERM").await;
    let found = arrived(&taken, &["fresh"]).await;
    assert!(found.iter().any(|s| attribute(s, "db.query.text").as_deref() == Some(ASKED)), "{found:?}");
}

#[tokio::test]
async fn a_collector_that_is_away_costs_traces_and_nothing_else() {
    let (address, taken) = collector("503 Unavailable").await;
    let db = bikes().await;
    let dir = Workdir::new(&text(&db, &["ada"], &format!("\n[traces]\nendpoint = \"http://{address}\"\n")));
    assert!(dir.noisegate(&["budget", "create"]).await.status.success());
    let path = dir.path().join("log");
    let log = std::fs::File::create(&path).unwrap();
    let serve = dir.serve_with(|c| {
        c.stderr(log);
    });
    let gate = serve.await;
    let ada = connect(&gate.url("ada", PASSWORD, "city")).await;
    ada.simple_query(ASKED).await.unwrap();
    arrived(&taken, &["fresh"]).await;
    ada.simple_query(ASKED).await.unwrap();
    let told = async || std::fs::read_to_string(&path).unwrap().contains("traces of statements were lost");
    eventually("a warning", told).await;
}
