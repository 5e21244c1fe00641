//! Statements that a connection of the finish login keeps prepared: what is asked twice is parsed, and often planned, once.

use super::param::Param;
use super::settings::Settings;

/// How many a connection keeps. Their plans are memory of the server.
const KEPT: usize = 32;
/// Longer texts are asked by people who look around, once.
pub(super) const LONGEST: usize = 16 * 1024;
/// How many texts that were asked once are remembered.
const SEEN: usize = 64;

/// What makes a statement the same: constants are read by the settings of the session that prepares it.
#[derive(Debug)]
struct Key {
    settings: Settings,
    sql: String,
    types: Vec<u32>,
}

/// The statements of one connection, the one used last at the end.
#[derive(Debug, Default)]
pub(super) struct PreparedTexts {
    kept: Vec<(Key, u64)>,
    seen: Vec<Key>,
    names: u64,
    /// Names that the server still knows, and nobody else.
    forgotten: Vec<u64>,
}

/// A way to send a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// Without a name.
    Once,
    /// The statement is prepared under this name now.
    New(String),
    /// The statement was prepared under this name.
    Known(String),
}

impl Statement {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Once => "",
            Self::New(name) | Self::Known(name) => name,
        }
    }
}

impl PreparedTexts {
    /// The way to send a statement: the second time under a name.
    pub(super) fn statement(&mut self, settings: &Settings, sql: &str, params: &[Param]) -> Statement {
        if sql.len() > LONGEST {
            return Statement::Once;
        }
        let is = |k: &Key| {
            k.sql == sql
                && k.settings == *settings
                && k.types.iter().copied().eq(params.iter().map(|p| p.oid))
        };
        if let Some(place) = self.kept.iter().position(|(k, _)| is(k)) {
            let (key, name) = self.kept.remove(place);
            self.kept.push((key, name));
            return Statement::Known(named(name));
        }
        if !is_lasting(sql) {
            return Statement::Once;
        }
        let Some(place) = self.seen.iter().position(is) else {
            if self.seen.len() == SEEN {
                self.seen.remove(0);
            }
            let types = params.iter().map(|p| p.oid).collect();
            self.seen.push(Key { settings: settings.clone(), sql: sql.to_owned(), types });
            return Statement::Once;
        };
        let key = self.seen.remove(place);
        if self.kept.len() == KEPT {
            self.forgotten.push(self.kept.remove(0).1);
        }
        self.names += 1;
        self.kept.push((key, self.names));
        Statement::New(named(self.names))
    }

    /// Forgets the statement that was used last: it may not be there, or not be right any more.
    pub(super) fn forget(&mut self, statement: &Statement) {
        if *statement != Statement::Once
            && let Some((_, name)) = self.kept.pop()
        {
            self.forgotten.push(name);
        }
    }

    /// The names that the server should forget.
    pub(super) fn forgotten(&mut self) -> impl Iterator<Item = String> {
        std::mem::take(&mut self.forgotten).into_iter().map(named)
    }
}

/// Words that a constant of a type of time may be made of, and which then mean the moment when the statement is parsed.
const MOMENTS: [&str; 4] = ["now", "today", "tomorrow", "yesterday"];

/// Whether a statement means the same at another time: no constant of it is read as a moment. Names of objects become their
/// OIDs when the statement is parsed, too.
pub fn is_lasting(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    let has = |word: &str| {
        sql.match_indices(word).any(|(at, _)| {
            let (before, after) =
                (sql.get(..at).unwrap_or_default(), sql.get(at + word.len()..).unwrap_or_default());
            !is_part(before.chars().next_back()) && !is_part(after.chars().next())
        })
    };
    !MOMENTS.iter().any(|word| has(word)) && !sql.contains("::pg_catalog.reg")
}

fn named(name: u64) -> String {
    format!("s{name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Setting;

    #[test]
    fn what_is_asked_twice_is_prepared_and_used_again() {
        let (mut texts, settings) = (PreparedTexts::default(), Settings::default());
        let mut ask =
            |settings: &Settings, sql: &str, oid| texts.statement(settings, sql, &[Param::new(oid, None)]);
        assert_eq!(ask(&settings, "SELECT $1", 25), Statement::Once);
        assert_eq!(ask(&settings, "SELECT $1", 25), Statement::New("s1".into()));
        assert_eq!(ask(&settings, "SELECT $1", 25), Statement::Known("s1".into()));
        assert_eq!(ask(&settings, "SELECT $1", 20), Statement::Once, "of another type");
        let mut berlin = settings.clone();
        berlin.set(Setting::TimeZone, "Europe/Berlin");
        assert_eq!(ask(&berlin, "SELECT $1", 25), Statement::Once, "constants are read otherwise");
        let long = format!("SELECT $1, '{}'", "x".repeat(LONGEST));
        assert_eq!(ask(&settings, &long, 25), Statement::Once);
        assert_eq!(ask(&settings, &long, 25), Statement::Once);
    }

    #[test]
    fn what_means_the_moment_is_parsed_each_time() {
        let (mut texts, settings) = (PreparedTexts::default(), Settings::default());
        for sql in
            ["SELECT 'now'::time", "SELECT 'Today 12:00'::timestamp", "SELECT 't'::pg_catalog.regclass"]
        {
            for _ in 0..3 {
                assert_eq!(texts.statement(&settings, sql, &[]), Statement::Once, "{sql}");
            }
        }
        assert!(is_lasting("SELECT known, snow, now_on FROM todays"));
    }

    #[test]
    fn the_one_used_longest_ago_is_forgotten_first() {
        let (mut texts, settings) = (PreparedTexts::default(), Settings::default());
        for n in 0..=KEPT {
            texts.statement(&settings, &n.to_string(), &[]);
            assert!(matches!(texts.statement(&settings, &n.to_string(), &[]), Statement::New(_)));
            assert_eq!(texts.statement(&settings, "0", &[]), Statement::Known("s1".into()));
        }
        assert_eq!(texts.forgotten().collect::<Vec<_>>(), ["s2"]);
        assert_eq!(texts.forgotten().count(), 0, "told once");
        let zero = texts.statement(&settings, "0", &[]);
        texts.forget(&zero);
        assert_eq!(texts.forgotten().collect::<Vec<_>>(), ["s1"]);
        assert_eq!(texts.statement(&settings, "0", &[]), Statement::Once);
    }
}
