//! The latest incidents: what clients were told no more of than an id. Their causes stand in the log under that id, and there
//! alone: they may hold what a database said of a row.

use console::Incident;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// So many are known; older ones are in the log.
const MOST: usize = 200;

static LATEST: Mutex<VecDeque<Incident>> = Mutex::new(VecDeque::new());

/// Those of this process, the latest first.
pub fn latest() -> Vec<Incident> {
    LATEST.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// Takes note of incidents as they are logged.
pub struct Noted;

/// Whose statement a span is of.
struct User(String);

/// Fields of an event, or of a span, that matter here.
#[derive(Default)]
struct Fields {
    incident: Option<String>,
    code: String,
    message: String,
    user: Option<String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = || format!("{value:?}");
        match field.name() {
            "incident" => self.incident = Some(text()),
            "code" => self.code = text(),
            "message" => self.message = text(),
            "user" => self.user = Some(text()),
            _ => {}
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Noted {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let (Some(user), Some(span)) = (fields.user, context.span(id)) {
            span.extensions_mut().insert(User(user));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Some(id) = fields.incident else { return };
        let scope = context.event_scope(event).into_iter().flatten();
        let user = scope.filter_map(|s| s.extensions().get::<User>().map(|u| u.0.clone())).next();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        let incident = Incident { id, at, user, code: fields.code, message: fields.message };
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        latest.push_front(incident);
        latest.truncate(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use answer::{ClientError, SqlState};
    use tracing_subscriber::layer::SubscriberExt;

    #[test]
    fn an_incident_is_known_by_its_id_and_user_and_without_its_cause() {
        let log = tracing_subscriber::registry().with(Noted);
        let error = tracing::subscriber::with_default(log, || {
            let _inside = tracing::error_span!("statement", user = "ada").entered();
            tracing::error!("something else");
            ClientError::incident(SqlState::INTERNAL, "the statement could not be read", &"row 4711")
        });
        let text = format!("{error:?}");
        let known = latest().into_iter().find(|i| text.contains(&i.id)).map(|i| format!("{i:?}"));
        let known = known.unwrap_or_default();
        assert!(known.contains("\"ada\"") && known.contains("XX000"), "{known}");
        assert!(known.contains("the statement could not be read") && !known.contains("4711"), "{known}");
    }
}
