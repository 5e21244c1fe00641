//! The door: who is inside, who tries, and by which cookie they are known.

use crate::reading::Readings;
use crate::sessions::{Sessions, Visitor};
use crate::source::Source;
use crate::throttle::Throttle;
use axum::http::{HeaderMap, HeaderValue, header};
use std::sync::Arc;
use tokio::sync::Semaphore;
use web::Arrival;

/// Passwords that are compared at once: each keeps a core busy for milliseconds.
const COMPARED: usize = 2;

/// State that all requests share.
pub(crate) struct App {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) door: Door,
    pub(crate) readings: Readings,
}

/// The door: who is inside, who tries, and how many are judged at once.
pub struct Door {
    pub(crate) sessions: Sessions,
    pub(crate) throttle: Throttle,
    pub(crate) compared: Arc<Semaphore>,
}

impl Default for Door {
    fn default() -> Self {
        let compared = Arc::new(Semaphore::new(COMPARED));
        Self { sessions: Sessions::default(), throttle: Throttle::default(), compared }
    }
}

/// Names of cookies. Under TLS they are held to this host by their prefix.
#[derive(Clone, Copy)]
pub(crate) enum Cookie {
    Session,
    Form,
}

impl Cookie {
    fn name(self, arrival: Arrival) -> String {
        let prefix = if arrival.secure { "__Host-" } else { "" };
        let what = match self {
            Self::Session => "noisegate",
            Self::Form => "noisegate-form",
        };
        format!("{prefix}{what}-{}", arrival.port)
    }

    /// What the request says it is.
    pub(crate) fn of(self, headers: &HeaderMap, arrival: Arrival) -> Option<String> {
        let name = self.name(arrival);
        let texts = headers.get_all(header::COOKIE).into_iter().filter_map(|v| v.to_str().ok());
        let mut pairs = texts.flat_map(|t| t.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(n, _)| *n == name).map(|(_, value)| value.to_owned())
    }

    /// Sets it for so many seconds; 0 takes it away.
    pub(crate) fn set(self, value: &str, seconds: u64, arrival: Arrival) -> Option<HeaderValue> {
        let secure = if arrival.secure { "; Secure" } else { "" };
        let name = self.name(arrival);
        let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
        HeaderValue::from_str(&text).ok()
    }
}

impl App {
    /// The visitor, and the token. None when nobody is logged in by it, or may not be any more.
    pub(crate) fn visitor(&self, headers: &HeaderMap, arrival: Arrival) -> Option<(Visitor, String)> {
        let settings = self.source.settings()?;
        let token = Cookie::Session.of(headers, arrival)?;
        let visitor = self.door.sessions.find(&token, settings.session, &settings.users)?;
        Some((visitor, token))
    }
}
