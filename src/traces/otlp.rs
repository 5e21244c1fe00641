//! Statements as an ExportTraceServiceRequest of OTLP 1.0, in its JSON form: ids in hexadecimal, 64-bit numbers as strings,
//! enumerations as numbers.

use record::{Ended, Traced, Turn};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// SPAN_KIND_INTERNAL and SPAN_KIND_SERVER.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;
/// STATUS_CODE_ERROR.
const ERROR: u8 = 2;

/// The message for a batch.
///
/// # Errors
/// The system has no random numbers for ids.
pub(crate) fn message(batch: &[Traced], text: bool) -> Result<String, getrandom::Error> {
    let mut spans = Vec::new();
    for statement in batch {
        add(statement, text, &mut spans)?;
    }
    let version = env!("CARGO_PKG_VERSION");
    let resource = [of("service.name", "noisegate"), of("service.version", version)];
    let scope = json!({ "scope": { "name": "noisegate", "version": version }, "spans": spans });
    Ok(json!({ "resourceSpans": [{ "resource": { "attributes": resource }, "scopeSpans": [scope] }] })
        .to_string())
}

/// The spans of a statement: its own, and one for each turn of its way.
fn add(statement: &Traced, text: bool, spans: &mut Vec<Value>) -> Result<(), getrandom::Error> {
    let Traced { database, asked, at, took, before, turns, .. } = statement;
    let (trace, own) = (id::<16>()?, id::<8>()?);
    let begun = u128::from(at.unsigned_abs()) * 1_000;
    // What was done before: it was parsed, it was bound, one after the other.
    let first = begun.saturating_sub(before.each().map(|(_, took)| took.as_nanos()).sum());
    let mut done = first;
    let earlier: Vec<(&str, u128, u128)> = before
        .each()
        .map(|(stage, took)| {
            let from = done;
            done += took.as_nanos();
            (stage.word(), from, done)
        })
        .collect();
    let later = turns.iter().map(|Turn { stage, from, took }| {
        let from = begun + from.as_nanos();
        (stage.word(), from, from + took.as_nanos())
    });
    let mut attributes = vec![
        of("db.system.name", "postgresql"),
        of("db.namespace", database),
        number("noisegate.session", asked.session.into()),
        number("db.response.returned_rows", statement.rows.try_into().unwrap_or(i64::MAX)),
    ];
    attributes.extend(statement.outcome.map(|outcome| of("noisegate.outcome", outcome.word())));
    attributes.extend(statement.prices.iter().map(|p| of("noisegate.epsilon", &p.epsilon)).take(1));
    attributes.extend(asked.text.as_deref().filter(|_| text).map(|t| of("db.query.text", t)));
    let mut status = json!({});
    if let Ended::Error(code, why) = &statement.ended {
        attributes.push(of("db.response.status_code", code));
        status = json!({ "code": ERROR, "message": why });
    }
    spans.push(json!({
        "traceId": trace, "spanId": own, "name": asked.class, "kind": SERVER,
        "startTimeUnixNano": first.to_string(), "endTimeUnixNano": end(begun, *took),
        "attributes": attributes, "status": status,
    }));
    for (name, from, to) in earlier.into_iter().chain(later) {
        spans.push(json!({
            "traceId": trace, "spanId": id::<8>()?, "parentSpanId": own, "name": name, "kind": INTERNAL,
            "startTimeUnixNano": from.to_string(), "endTimeUnixNano": to.to_string(),
        }));
    }
    Ok(())
}

fn end(begun: u128, took: Duration) -> String {
    (begun + took.as_nanos()).to_string()
}

fn of(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: i64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

/// Random bytes in hexadecimal.
fn id<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    let mut out = String::with_capacity(2 * BYTES);
    for b in bytes {
        // A String takes whatever is written.
        let _ = write!(out, "{b:02x}");
    }
    Ok(out)
}
