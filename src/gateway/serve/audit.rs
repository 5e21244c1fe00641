//! The audit of passthrough roles: who came, and what was asked with which values. No level of the log silences it, and what cannot be
//! written is not answered: a line is on standard error before the statement is on its way.

use answer::{ClientError, Identity, SqlState};
use backend::Param;
use policy::LogFormat;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

/// Target of the audit's lines in the log.
const TARGET: &str = "noisegate::audit";

/// An event of the audit.
pub(in crate::gateway) enum Event<'a> {
    /// A session of such a role begins.
    Begins,
    /// A statement is to be run, with these values of its parameters.
    Asks {
        /// As the database gets it.
        statement: &'a str,
        /// `$1` and so on.
        parameters: &'a [Param],
    },
}

/// Writes a line.
///
/// # Errors
/// 58030, where nothing may be answered because it was not written.
pub(in crate::gateway) fn write(
    format: LogFormat,
    who: &Identity,
    database: &str,
    event: &Event<'_>,
) -> Result<(), ClientError> {
    let line = line(format, journald(), who, database, event);
    // In one piece: others write there, too.
    std::io::stderr().lock().write_all(line.as_bytes()).map_err(|error| {
        tracing::error!(%error, "the audit of passthrough roles cannot be written: they are not answered");
        ClientError::new(
            SqlState::IO_ERROR,
            "the audit cannot be written, and without it nothing is answered with exact rows",
        )
        .hint("The operator has to make room where the proxy's standard error goes. Nothing was read.")
    })
}

fn line(format: LogFormat, journald: bool, who: &Identity, database: &str, event: &Event<'_>) -> String {
    let (user, role) = (who.user.as_str(), who.role.as_deref().unwrap_or_default());
    let mut at = String::new();
    // Writing to a string does not fail.
    let _ = SystemTime.format_time(&mut Writer::new(&mut at));
    // A warning's priority, which the journal takes off again.
    let mut line = if journald { "<4>".to_owned() } else { String::new() };
    let (message, statement, values) = match event {
        Event::Begins => ("a passthrough session begins: exact rows, no privacy", None, Vec::new()),
        Event::Asks { statement, parameters } => {
            let values: Vec<Option<String>> = parameters.iter().map(shown).collect();
            ("passthrough: a statement is answered with exact rows", Some(*statement), values)
        }
    };
    match format {
        LogFormat::Json => {
            let mut all = json!({
                "timestamp": at, "level": "WARN", "target": TARGET, "message": message,
                "user": user, "role": role, "database": database,
            });
            if let (Some(statement), Some(all)) = (statement, all.as_object_mut()) {
                all.insert("statement".into(), statement.into());
                all.insert("parameters".into(), values.into());
            }
            line.push_str(&all.to_string());
        }
        LogFormat::Text => {
            if !journald {
                let _ = write!(line, "{at} ");
            }
            // Quoted, so that whatever is in them is one line.
            let _ =
                write!(line, " WARN {TARGET}: {message} user={user:?} role={role:?} database={database:?}");
            if let Some(statement) = statement {
                let _ = write!(line, " statement={statement:?}");
            }
            for (n, value) in values.iter().enumerate() {
                let _ = match value {
                    Some(value) => write!(line, " ${}={value:?}", n + 1),
                    None => write!(line, " ${}=NULL", n + 1),
                };
            }
        }
    }
    line.push('\n');
    line
}

/// A value as text: that of the types that drivers send in binary form, and the bytes of others.
fn shown(param: &Param) -> Option<String> {
    let value = param.value.as_deref()?;
    let text = std::str::from_utf8(value).ok().map(str::to_owned);
    let known = match (param.format, param.oid) {
        (0, _) | (_, 19 | 25 | 114 | 705 | 1042 | 1043) => text,
        (_, 16) => <[u8; 1]>::try_from(value).ok().map(|[b]| (b != 0).to_string()),
        (_, 21) => value.try_into().ok().map(|b| i16::from_be_bytes(b).to_string()),
        (_, 23) => value.try_into().ok().map(|b| i32::from_be_bytes(b).to_string()),
        (_, 20) => value.try_into().ok().map(|b| i64::from_be_bytes(b).to_string()),
        (_, 700) => value.try_into().ok().map(|b| f32::from_be_bytes(b).to_string()),
        (_, 701) => value.try_into().ok().map(|b| f64::from_be_bytes(b).to_string()),
        _ => None,
    };
    Some(known.unwrap_or_else(|| {
        let bytes: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("\\x{bytes} (binary, of type {})", param.oid)
    }))
}

/// Whether standard error is the stream that systemd connected to the journal, which has its own clock.
pub fn journald() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else { return false };
    std::fs::metadata("/proc/self/fd/2").is_ok_and(|m| stream == format!("{}:{}", m.dev(), m.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_statement_and_values_whatever_is_in_them() {
        let who = Identity { user: "bob".into(), role: Some("owners".into()) };
        let parameters = [
            Param::int8(500),
            Param::text("a\n2026 ERROR all is lost"),
            Param::new(25, None),
            Param::new(2950, Some(bytes::Bytes::from_static(&[1, 0xab]))),
        ];
        let asks = Event::Asks { statement: "SELECT $1,\n$2", parameters: &parameters };
        let text = line(LogFormat::Text, true, &who, "bikes", &asks);
        assert_eq!(
            text,
            "<4> WARN noisegate::audit: passthrough: a statement is answered with exact rows user=\"bob\" role=\"owners\" \
             database=\"bikes\" statement=\"SELECT $1,\\n$2\" $1=\"500\" $2=\"a\\n2026 ERROR all is lost\" $3=NULL \
             $4=\"\\\\x01ab (binary, of type 2950)\"\n"
        );
        let json = line(LogFormat::Json, false, &who, "bikes", &asks);
        let read: serde_json::Value = serde_json::from_str(&json).unwrap_or_default();
        assert_eq!(read.pointer("/statement").and_then(|s| s.as_str()), Some("SELECT $1,\n$2"));
        assert_eq!(read.pointer("/parameters/0").and_then(|s| s.as_str()), Some("500"));
        assert!(read.pointer("/parameters/2").is_some_and(|s| s.is_null()), "{json}");
        assert!(read.pointer("/timestamp").is_some_and(|s| s.is_string()), "{json}");
        assert_eq!(json.lines().count(), 1);
    }
}
