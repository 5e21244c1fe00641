//! The settings of a session: kept by the proxy, because backend connections carry none.
//!
//! PostgreSQL judges a value; here it is remembered, follows the virtual transaction (SET inside one is undone by
//! ROLLBACK, SET LOCAL by its end), and is applied to every backend transaction where it matters. `known` says what
//! each name means here, `table` has an entry for each of `noisegate.*`, `custom` judges and reads their values,
//! `time_zone` says which zones there are.

pub mod custom;
pub mod known;
pub mod table;
pub(in crate::gateway) mod time_zone;

use answer::{ClientError, SqlState};
use sql::Control;
use std::collections::BTreeMap;

/// Bytes of all names and values of one session, with those that ROLLBACK would bring back.
const MAX_BYTES: usize = 64 * 1024;
/// Bytes of a name or value beside its letters.
const EACH: usize = 64;

type Values = BTreeMap<String, String>;

/// Values by name (in lower case), and what ROLLBACK would bring back.
#[derive(Clone, Debug, Default)]
pub struct SessionSettings {
    /// Values of start-up: RESET goes back to them.
    startup: Values,
    /// SET.
    session: Values,
    /// SET LOCAL, until the transaction ends.
    local: Values,
    /// The transaction's start and its savepoints.
    marks: Vec<Mark>,
    /// Counts changes of values.
    revision: u64,
}

/// The scope of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Session,
    Local,
}

#[derive(Clone, Debug)]
struct Mark {
    /// The savepoint's name; None is the start of the transaction.
    savepoint: Option<String>,
    /// Values before they changed, since this mark and up to the next one, each once.
    undo: Vec<Undo>,
}

#[derive(Clone, Debug)]
struct Undo {
    level: Level,
    name: String,
    before: Option<String>,
}

impl Undo {
    fn is_of(&self, level: Level, name: &str) -> bool {
        self.level == level && self.name == name
    }

    fn size(&self) -> usize {
        EACH + self.name.len() + self.before.as_ref().map_or(0, String::len)
    }
}

impl SessionSettings {
    /// The value of a setting, where the client has given one.
    pub fn get(&self, name: &str) -> Option<&str> {
        let levels = [&self.local, &self.session, &self.startup];
        levels.into_iter().find_map(|v| v.get(name)).map(String::as_str)
    }

    /// A number that changes with each change of a value.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Keeps a judged value; None goes back to the start-up's.
    pub fn set(&mut self, name: &str, value: Option<String>, local: bool) -> Result<(), ClientError> {
        let (given, changed) = (value.as_ref().map_or(0, String::len), self.get(name).map_or(0, str::len));
        if self.size() + 2 * (EACH + name.len()) + given + changed > MAX_BYTES {
            return Err(ClientError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "too many settings in one session",
            )
            .hint("RESET those that are no longer needed, and end the transaction, which can bring back what they were."));
        }
        match (value, local) {
            (Some(value), true) => self.put(Level::Local, name, Some(value)),
            (None, true) => self.put(Level::Local, name, self.startup.get(name).cloned()),
            (value, false) => {
                self.put(Level::Local, name, None);
                self.put(Level::Session, name, value);
            }
        }
        Ok(())
    }

    /// Bytes of what clients can make grow.
    fn size(&self) -> usize {
        let kept = |v: &Values| v.iter().map(|(n, v)| EACH + n.len() + v.len()).sum::<usize>();
        let undo = self.marks.iter().flat_map(|m| &m.undo).map(Undo::size).sum::<usize>();
        kept(&self.session) + kept(&self.local) + undo
    }

    fn values(&mut self, level: Level) -> &mut Values {
        self.revision += 1;
        match level {
            Level::Session => &mut self.session,
            Level::Local => &mut self.local,
        }
    }

    /// Changes a value, or takes it away, so that ROLLBACK brings it back.
    fn put(&mut self, level: Level, name: &str, value: Option<String>) {
        let values = self.values(level);
        let before = match value {
            Some(value) => values.insert(name.to_owned(), value),
            None if values.contains_key(name) => values.remove(name),
            None => return,
        };
        let Some(mark) = self.marks.last_mut() else { return };
        if !mark.undo.iter().any(|u| u.is_of(level, name)) {
            mark.undo.push(Undo { level, name: name.to_owned(), before });
        }
    }

    /// Brings back what was when the mark at this place was made; it stays.
    fn bring_back(&mut self, at: usize) {
        let undo: Vec<Undo> = self.marks.iter_mut().skip(at).flat_map(|m| m.undo.drain(..)).collect();
        for Undo { level, name, before } in undo.into_iter().rev() {
            let values = self.values(level);
            match before {
                Some(before) => values.insert(name, before),
                None => values.remove(&name),
            };
        }
        self.marks.truncate(at + 1);
    }

    /// Keeps a judged value of the start-up packet.
    pub fn start_with(&mut self, name: &str, value: String) {
        self.revision += 1;
        self.startup.insert(name.to_owned(), value);
    }

    /// RESET ALL, and what DISCARD ALL does to settings.
    pub fn reset_all(&mut self) {
        // PostgreSQL spares these: they belong to the transaction.
        let local: Vec<String> =
            self.local.keys().filter(|n| !n.starts_with("transaction_")).cloned().collect();
        let session: Vec<String> = self.session.keys().cloned().collect();
        local.iter().for_each(|name| self.put(Level::Local, name, None));
        session.iter().for_each(|name| self.put(Level::Session, name, None));
    }

    /// Follows the virtual transaction.
    pub fn transaction(&mut self, step: &Control) {
        match step {
            Control::Begin(modes) | Control::Start(modes) => {
                if self.marks.is_empty() {
                    self.mark(None);
                }
                modes.settings().for_each(|(name, value)| self.put(Level::Local, name, Some(value)));
            }
            Control::Savepoint(name) => self.mark(Some(name.clone())),
            Control::Release(name) => {
                if let Some(at) = self.find(name) {
                    let released = self.marks.split_off(at).into_iter().flat_map(|m| m.undo);
                    if let Some(outer) = self.marks.last_mut() {
                        for undo in released {
                            if !outer.undo.iter().any(|u| u.is_of(undo.level, &undo.name)) {
                                outer.undo.push(undo);
                            }
                        }
                    }
                }
            }
            Control::RollbackTo(name) => {
                if let Some(at) = self.find(name) {
                    self.bring_back(at);
                }
            }
            Control::Commit { chain } => self.end(*chain),
            Control::Rollback { chain } => {
                // What is of the transaction stays for the next one.
                let modes = self.local.clone();
                self.bring_back(0);
                self.revision += u64::from(!self.local.is_empty());
                self.local = modes;
                self.end(*chain);
            }
            Control::DiscardAll => self.reset_all(),
            Control::Deallocate(_)
            | Control::CloseCursors(_)
            | Control::Declare(_)
            | Control::Fetch(_)
            | Control::Copy(_)
            | Control::CopyFrom(_)
            | Control::Prepare { .. }
            | Control::Execute(_) => {}
        }
    }

    fn mark(&mut self, savepoint: Option<String>) {
        self.marks.push(Mark { savepoint, undo: Vec::new() });
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.marks.iter().rposition(|m| m.savepoint.as_deref() == Some(name))
    }

    fn end(&mut self, chain: bool) {
        self.revision += u64::from(!self.local.is_empty());
        // AND CHAIN: the next transaction has this one's modes.
        self.local.retain(|name, _| chain && name.starts_with("transaction_"));
        self.marks.clear();
        if chain {
            self.mark(None);
        }
    }

    /// Settings that every backend transaction of this session begins with.
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
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
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

    /// ROLLBACK TO, RELEASE and ROLLBACK do what copies of all values at each mark would do.
    #[test]
    fn what_is_undone_is_what_was() {
        let names = ["a.x", "a.y", "a.z"];
        let mut random = 1u32;
        let mut next = |n: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % n
        };
        for _ in 0..300 {
            let mut s = SessionSettings::default();
            let shown = |s: &SessionSettings| names.map(|n| s.get(n).map(str::to_owned));
            set(&mut s, "before", false);
            s.transaction(&Control::Begin(Modes::default()));
            let (start, mut copies) = (shown(&s), Vec::new());
            for step in 0..30 {
                let savepoint = format!("p{}", next(4));
                let at = copies.iter().rposition(|(name, _)| *name == savepoint);
                match (next(5), at) {
                    (0, _) => {
                        copies.push((savepoint.clone(), shown(&s)));
                        s.transaction(&Control::Savepoint(savepoint));
                    }
                    (1, Some(at)) => {
                        copies.truncate(at);
                        s.transaction(&Control::Release(savepoint));
                    }
                    (2, Some(at)) => {
                        copies.truncate(at + 1);
                        s.transaction(&Control::RollbackTo(savepoint));
                        assert_eq!(shown(&s), copies[at].1);
                    }
                    (3, _) if step % 7 == 0 => s.reset_all(),
                    _ => {
                        let value = (next(4) > 0).then(|| step.to_string());
                        s.set(names[next(3) as usize], value, next(2) == 0).unwrap();
                    }
                }
            }
            s.transaction(&Control::Rollback { chain: false });
            assert_eq!(shown(&s), start);
            assert_eq!(s.get("timezone"), Some("before"));
            assert_eq!(s.marks.len(), 0);
        }
    }

    /// A savepoint takes no copy of what is set, and what it would bring back counts.
    #[test]
    fn savepoints_cost_what_changes_between_them() {
        let mut s = SessionSettings::default();
        s.set("a.b", Some("x".repeat(60_000)), false).unwrap();
        s.transaction(&Control::Begin(Modes::default()));
        let size = s.size();
        for i in 0..1_000 {
            s.transaction(&Control::Savepoint(format!("p{i}")));
        }
        assert_eq!(s.size(), size);
        let again = s.set("a.b", Some("y".repeat(60_000)), false).unwrap_err();
        assert_eq!(again.code, SqlState::PROGRAM_LIMIT_EXCEEDED, "both would be kept");
        s.transaction(&Control::Rollback { chain: false });
        assert_eq!(s.size(), size);
    }

    #[test]
    fn settings_cannot_grow_without_end() {
        let mut s = SessionSettings::default();
        let full = (0..10_000).find_map(|i| s.set(&format!("a.b{i}"), Some("x".repeat(50)), false).err());
        assert_eq!(full.unwrap().code, SqlState::PROGRAM_LIMIT_EXCEEDED);
    }
}
