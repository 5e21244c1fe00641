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

/// An incident, and its database, where there are several.
type Noticed = (Option<String>, Incident);

static LATEST: Mutex<VecDeque<Noticed>> = Mutex::new(VecDeque::new());

/// Incidents of this process, the latest first: of a database, and of none.
pub fn latest(database: &str) -> Vec<Incident> {
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    let seen = |(of, _): &&Noticed| of.as_ref().is_none_or(|of| of == database);
    latest.iter().filter(seen).map(|(_, incident)| incident.clone()).collect()
}

/// Takes note of incidents as they are logged.
pub struct Noted;

/// Whose statement a span is of, and in which database.
#[derive(Clone)]
struct Whose {
    user: String,
    database: Option<String>,
}

/// Fields of an event, or of a span, that matter here.
#[derive(Default)]
struct Fields {
    incident: Option<String>,
    code: String,
    message: String,
    user: Option<String>,
    database: Option<String>,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = || format!("{value:?}");
        match field.name() {
            "incident" => self.incident = Some(text()),
            "code" => self.code = text(),
            "message" => self.message = text(),
            "user" => self.user = Some(text()),
            "database" => self.database = Some(text()),
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
            span.extensions_mut().insert(Whose { user, database: fields.database });
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Some(id) = fields.incident else { return };
        let scope = context.event_scope(event).into_iter().flatten();
        let whose = scope.filter_map(|s| s.extensions().get::<Whose>().cloned()).next();
        let (user, database) = whose.map(|w| (w.user, w.database)).unzip();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        let incident = Incident { id, at, user, code: fields.code, message: fields.message };
        let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
        latest.push_front((database.flatten(), incident));
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
            let _inside = tracing::error_span!("statement", user = "ada", database = "bikes").entered();
            tracing::error!("something else");
            ClientError::incident(SqlState::INTERNAL, "the statement could not be read", &"row 4711")
        });
        let text = format!("{error:?}");
        let known = |of| latest(of).into_iter().find(|i| text.contains(&i.id)).map(|i| format!("{i:?}"));
        assert_eq!(known("city"), None, "who sees another database");
        let known = known("bikes");
        let known = known.unwrap_or_default();
        assert!(known.contains("\"ada\"") && known.contains("XX000"), "{known}");
        assert!(known.contains("the statement could not be read") && !known.contains("4711"), "{known}");
    }
}
