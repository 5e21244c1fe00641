//! The log: events to standard error, as text or JSON, in the form that journald likes where it listens.

use super::incidents::Noted;
use super::strangers::Bound;
use policy::{Log, LogFormat, LogLevel};
use std::fmt;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::{self, FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, Layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, reload};

/// Overrides the policy's level: a level, or a filter such as `noisegate=debug,rustls=info`.
const ENV: &str = "NOISEGATE_LOG";

/// Changes the level while the program runs.
#[derive(Clone)]
pub struct Handle {
    filter: reload::Handle<EnvFilter, Registry>,
    fixed: bool,
}

impl Handle {
    /// Sets the level, unless the environment does.
    pub fn set(&self, level: LogLevel) {
        if !self.fixed {
            // The subscriber lives as long as the program.
            let _ = self.filter.reload(filter(level.name()));
        }
    }
}

/// Starts the log of a server. Panics are logged by their place only: their text may hold a part of a statement.
pub fn start(log: Log) -> Handle {
    let wanted = std::env::var(ENV).ok().and_then(|text| wanted(&text));
    let fixed = wanted.is_some();
    let (layer, handle) = reload::Layer::new(wanted.unwrap_or_else(|| filter(log.level.name())));
    let journald = crate::gateway::audit::journald();
    let base = Layer::default().with_writer(std::io::stderr).with_ansi(false);
    let events = match (log.format, journald) {
        (LogFormat::Text, false) => base.event_format(OneLine(format::format())).boxed(),
        (LogFormat::Text, true) => {
            base.event_format(Prefixed(OneLine(format::format().without_time()))).boxed()
        }
        (LogFormat::Json, journald) => {
            let json = format::format().json().flatten_event(true).with_span_list(false);
            let base = base.fmt_fields(format::JsonFields::new());
            if journald { base.event_format(Prefixed(json)).boxed() } else { base.event_format(json).boxed() }
        }
    };
    // A second start keeps the first log; only a program that embeds this one could do that.
    let bound = Bound::default();
    let events = events.with_filter(bound.clone());
    let _ = tracing_subscriber::registry().with(layer).with(events).with(Noted).try_init();
    bound.tell();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        let backtrace = std::backtrace::Backtrace::capture();
        match backtrace.status() {
            std::backtrace::BacktraceStatus::Captured => {
                tracing::error!(%place, ?backtrace, "a panic, which is a defect of noisegate");
            }
            _ => tracing::error!(%place, "a panic, which is a defect of noisegate"),
        }
    }));
    Handle { filter: handle, fixed }
}

/// The log of the other commands: text, from warnings on.
pub fn start_quietly() {
    let filter = std::env::var(ENV).ok().and_then(|text| wanted(&text)).unwrap_or_else(|| filter("warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    log.event_format(OneLine(format::format())).finish().with(Noted).init();
}

/// Our own events of this level; of the libraries below only what needs somebody, because they do not know what may
/// not be written.
fn filter(level: &str) -> EnvFilter {
    let others = if matches!(level, "off" | "error") { level } else { "warn" };
    EnvFilter::new(format!("{others},noisegate={level}"))
}

fn wanted(text: &str) -> Option<EnvFilter> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    match text.parse::<LevelFilter>() {
        Ok(level) => Some(filter(&level.to_string())),
        Err(_) => match EnvFilter::try_new(text) {
            Ok(filter) => Some(filter),
            Err(e) => {
                eprintln!("noisegate: {ENV} is not a level or a filter, and is ignored: {e}");
                None
            }
        },
    }
}

/// Puts the priority of syslog before each line, which the journal takes off again.
struct Prefixed<F>(F);

impl<S, N, F> FormatEvent<S, N> for Prefixed<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let priority = match *event.metadata().level() {
            Level::ERROR => 3,
            Level::WARN => 4,
            Level::INFO => 6,
            _ => 7,
        };
        write!(writer, "<{priority}>")?;
        self.0.format_event(context, writer, event)
    }
}

/// One event is one line. What clients and databases say may hold anything: what would begin another line, move a terminal's
/// cursor or turn the direction of writing is escaped. (JSON does that by itself.)
struct OneLine<F>(F);

impl<S, N, F> FormatEvent<S, N> for OneLine<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        for c in line.trim_end_matches('\n').chars() {
            match c {
                '\u{2028}'
                | '\u{2029}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' => {
                    write!(writer, "{}", c.escape_unicode())?;
                }
                c if c.is_control() => write!(writer, "{}", c.escape_default())?,
                c => writer.write_char(c)?,
            }
        }
        writeln!(writer)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Said(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Said {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let written = Said::default();
        let to = written.clone();
        let log = tracing_subscriber::fmt().with_writer(move || to.clone()).with_ansi(false);
        let log = log.event_format(OneLine(format::format().without_time())).finish();
        tracing::subscriber::with_default(log, || {
            let said = "no\n2026-01-01T00:00:00Z ERROR noisegate: all is lost\r\u{1b}[2J\u{202e}é";
            tracing::error!(user = said, error = %said, "{said}");
            tracing::warn!("next");
        });
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains(['\r', '\u{1b}', '\u{202e}']) && text.contains('é'), "{text}");
        assert!(text.contains("no\\n2026-01-01") && text.contains("\\u{1b}[2J\\u{202e}"), "{text}");
    }

    #[test]
    fn a_level_is_for_our_own_events() {
        for (text, filter) in [
            ("debug", "noisegate=debug,warn"),
            ("WARN", "noisegate=warn,warn"),
            ("off", "noisegate=off,off"),
            ("noisegate=trace,rustls=info", "noisegate=trace,rustls=info"),
        ] {
            let directives = |f: &str| {
                let mut parts: Vec<String> = f.split(',').map(str::to_owned).collect();
                parts.sort();
                parts
            };
            let got = wanted(text).map(|f| f.to_string());
            assert_eq!(got.map(|f| directives(&f)), Some(directives(filter)), "{text}");
        }
        assert!(wanted(" ").is_none());
    }
}
