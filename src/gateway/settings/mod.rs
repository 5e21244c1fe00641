//! The settings of a session: kept by the proxy, because backend connections carry none.
//!
//! PostgreSQL judges a value; here it is remembered, follows the virtual transaction (SET inside one is undone by
//! ROLLBACK, SET LOCAL by its end), and is applied to every backend transaction where it matters. `known` says what
//! each name means here, `custom` has the values of `noisegate.*`, `statements` what SET, SHOW and RESET do,
//! `time_zone` which zones there are.

pub mod custom;
pub mod known;
pub(super) mod statements;
pub(super) mod time_zone;

use answer::{ClientError, SqlState};
use sql::Control;
use std::collections::BTreeMap;

/// Bytes of all names and values of one session.
const MAX_BYTES: usize = 64 * 1024;

type Values = BTreeMap<String, String>;

/// Values by name (in lower case), and what ROLLBACK would bring back.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    /// What start-up asked for: RESET goes back to it.
    startup: Values,
    /// SET.
    session: Values,
    /// SET LOCAL, until the transaction ends.
    local: Values,
    /// The transaction's start and its savepoints.
    marks: Vec<Mark>,
}

#[derive(Clone, Debug)]
struct Mark {
    /// None is the start.
    savepoint: Option<String>,
    session: Values,
    local: Values,
}

impl SessionSettings {
    /// The value of a setting, where the client has given one.
    pub fn get(&self, name: &str) -> Option<&str> {
        let levels = [&self.local, &self.session, &self.startup];
        levels.into_iter().find_map(|v| v.get(name)).map(String::as_str)
    }

    /// Keeps a judged value; None goes back to the start-up's.
    pub fn set(&mut self, name: &str, value: Option<String>, local: bool) -> Result<(), ClientError> {
        let size = |v: &Values| v.iter().map(|(n, v)| n.len() + v.len()).sum::<usize>();
        let more = name.len() + value.as_ref().map_or(0, String::len);
        if size(&self.session) + size(&self.local) + more > MAX_BYTES {
            return Err(ClientError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "too many settings in one session",
            )
            .hint("RESET those that are no longer needed."));
        }
        match (value, local) {
            (Some(value), true) => {
                self.local.insert(name.to_owned(), value);
            }
            (Some(value), false) => {
                self.local.remove(name);
                self.session.insert(name.to_owned(), value);
            }
            (None, true) => match self.startup.get(name) {
                Some(value) => {
                    self.local.insert(name.to_owned(), value.clone());
                }
                None => {
                    self.local.remove(name);
                }
            },
            (None, false) => {
                self.local.remove(name);
                self.session.remove(name);
            }
        }
        Ok(())
    }

    /// Keeps a judged value of the start-up packet.
    pub fn start_with(&mut self, name: &str, value: String) {
        self.startup.insert(name.to_owned(), value);
    }

    /// RESET ALL, and what DISCARD ALL does to settings.
    pub fn reset_all(&mut self) {
        // PostgreSQL spares these: they belong to the transaction.
        self.local.retain(|n, _| n.starts_with("transaction_"));
        self.session.clear();
    }

    /// Follows the virtual transaction.
    pub fn transaction(&mut self, step: &Control) {
        match step {
            Control::Begin(modes) | Control::Start(modes) => {
                if self.marks.is_empty() {
                    self.mark(None);
                }
                self.local.extend(modes.settings().map(|(name, value)| (name.to_owned(), value)));
            }
            Control::Savepoint(name) => self.mark(Some(name.clone())),
            Control::Release(name) => {
                if let Some(at) = self.find(name) {
                    self.marks.truncate(at);
                }
            }
            Control::RollbackTo(name) => {
                if let Some(at) = self.find(name) {
                    self.marks.truncate(at + 1);
                    if let Some(mark) = self.marks.last().cloned() {
                        (self.session, self.local) = (mark.session, mark.local);
                    }
                }
            }
            Control::Commit { chain } => self.end(*chain),
            Control::Rollback { chain } => {
                if let Some(start) = self.marks.first() {
                    self.session = start.session.clone();
                }
                self.end(*chain);
            }
            Control::DiscardAll => self.reset_all(),
            Control::Deallocate(_)
            | Control::CloseCursors(_)
            | Control::Declare(_)
            | Control::Fetch(_)
            | Control::Copy(_)
            | Control::Prepare { .. }
            | Control::Execute(_) => {}
        }
    }

    fn mark(&mut self, savepoint: Option<String>) {
        self.marks.push(Mark { savepoint, session: self.session.clone(), local: self.local.clone() });
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.marks.iter().rposition(|m| m.savepoint.as_deref() == Some(name))
    }

    fn end(&mut self, chain: bool) {
        // AND CHAIN: the next transaction has this one's modes.
        self.local.retain(|name, _| chain && name.starts_with("transaction_"));
        self.marks.clear();
        if chain {
            self.mark(None);
        }
    }

    /// What every backend transaction of this session begins with.
    pub fn backend(&self) -> backend::Settings {
        let mut settings = backend::Settings::default();
        for setting in backend::Setting::ALL {
            if let Some(value) = self.get(&setting.name().to_lowercase()) {
                settings.set(setting, value);
            }
        }
        settings
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use answer::Modes;

    fn set(s: &mut SessionSettings, value: &str, local: bool) {
        s.set("timezone", Some(value.into()), local).unwrap();
    }

    #[test]
    fn set_follows_the_transaction() {
        let mut s = SessionSettings::default();
        s.start_with("timezone", "UTC".into());
        set(&mut s, "A", false);
        s.transaction(&Control::Begin(Modes::default()));
        set(&mut s, "B", false);
        s.transaction(&Control::Savepoint("p".into()));
        set(&mut s, "C", true);
        assert_eq!(s.get("timezone"), Some("C"));
        s.transaction(&Control::RollbackTo("p".into()));
        assert_eq!(s.get("timezone"), Some("B"));
        set(&mut s, "D", true);
        s.transaction(&Control::Commit { chain: false });
        assert_eq!(s.get("timezone"), Some("B"));
        s.transaction(&Control::Begin(Modes::default()));
        set(&mut s, "E", false);
        s.transaction(&Control::Rollback { chain: false });
        assert_eq!(s.get("timezone"), Some("B"));
        s.set("timezone", None, false).unwrap();
        assert_eq!(s.get("timezone"), Some("UTC"));
        assert_eq!(s.backend().get(backend::Setting::TimeZone), "UTC");
    }

    #[test]
    fn a_set_ends_what_set_local_said() {
        let mut s = SessionSettings::default();
        s.transaction(&Control::Begin(Modes::default()));
        set(&mut s, "A", true);
        set(&mut s, "B", false);
        assert_eq!(s.get("timezone"), Some("B"));
        s.reset_all();
        assert_eq!(s.get("timezone"), None);
    }

    #[test]
    fn settings_cannot_grow_without_end() {
        let mut s = SessionSettings::default();
        let full = (0..10_000).find_map(|i| s.set(&format!("a.b{i}"), Some("x".repeat(50)), false).err());
        assert_eq!(full.unwrap().code, SqlState::PROGRAM_LIMIT_EXCEEDED);
    }
}
