//! Reloads: which parts of a new policy take effect while the proxy runs, and which wait for a
//! restart.

use super::model::Policy;
use super::version;
use std::fmt::Debug;
use std::mem::replace;

/// A new policy as far as it can take effect at once.
#[derive(Debug)]
pub struct Reloaded {
    /// The new policy, with the old one's values of what needs a restart.
    pub policy: Policy,
    /// Keys that have changed and are in force now.
    pub changed: Vec<&'static str>,
    /// Keys that have changed and need a restart.
    pub restart: Vec<&'static str>,
}

impl Policy {
    /// The policy after `old`. None when the unit has changed: tables and columns are read by it,
    /// so that nothing of the new policy can be used without it.
    pub fn after(mut self, old: &Policy) -> Option<Reloaded> {
        if self.whose() != old.whose() {
            return None;
        }
        let mut restart = Vec::new();
        let mut keep = |name, differs: bool| {
            if differs {
                restart.push(name);
            }
        };
        // The places where clients arrive, and the two sides of the database, are opened once.
        let listen = replace(&mut self.server.listen, old.server.listen.clone());
        keep("server.listen", listen != self.server.listen);
        let database = replace(&mut self.server.database, old.server.database.clone());
        keep("server.database", database != self.server.database);
        let mode = replace(&mut self.server.unix_socket_permissions, old.server.unix_socket_permissions);
        keep("server.unix_socket_permissions", mode != self.server.unix_socket_permissions);
        let format = replace(&mut self.log.format, old.log.format);
        keep("log.format", format != self.log.format);
        // Pages that come or go, and their address, too; who may log in to them takes effect at once.
        let (new, served) = (&mut self.console, &old.console);
        let moved = new.as_ref().map(|c| c.listen) != served.as_ref().map(|c| c.listen);
        match (new.as_mut(), served) {
            (Some(new), Some(served)) => new.listen = served.listen,
            _ => new.clone_from(served),
        }
        keep("console.listen", moved);
        let metrics = replace(&mut self.metrics, old.metrics.clone());
        keep("[metrics]", metrics != self.metrics);
        let traces = replace(&mut self.traces, old.traces.clone());
        keep("[traces]", traces != self.traces);
        let backend = replace(&mut self.backend, old.backend.clone());
        keep("[backend]", backend != self.backend);
        let ledger = replace(&mut self.ledger, old.ledger.clone());
        keep("[ledger]", ledger != self.ledger);
        // A notion that nobody named is chosen once.
        for budget in self.budgets.iter_mut().filter(|b| !b.choices.is_empty()) {
            let before = old.budgets.iter().find(|b| b.name == budget.name && !b.choices.is_empty());
            if let Some(before) = before {
                (budget.accounting, budget.choices) = (before.accounting, before.choices.clone());
            }
        }
        let budgets = replace(&mut self.budgets, old.budgets.clone());
        keep("[[budget]]", budgets != self.budgets);
        self.version = version::of(&self);
        let changed = self.changes(old);
        Some(Reloaded { policy: self, changed, restart })
    }

    /// Whether this is the other policy, in every part.
    pub fn is_like(&self, other: &Policy) -> bool {
        !differs(self, other)
    }

    fn whose(&self) -> Option<(&str, &str, &str)> {
        let unit = self.unit.as_ref()?;
        self.tables.get(unit.table).map(|t| (t.schema.as_str(), t.name.as_str(), unit.column.as_str()))
    }

    /// Keys that differ from another policy's among those that take effect at once.
    pub fn changes(&self, old: &Policy) -> Vec<&'static str> {
        let parts = [
            ("server.tls", self.server.tls != old.server.tls),
            ("server.auth_query", self.server.auth_query != old.server.auth_query),
            ("server.shutdown_timeout", self.server.shutdown_timeout != old.server.shutdown_timeout),
            ("[[access]]", self.access != old.access),
            ("[console]", self.console != old.console),
            ("ledger.text", self.ledger_text != old.ledger_text),
            ("log.level", self.log.level != old.log.level),
            ("[statement]", differs(&self.statement, &old.statement)),
            ("[[stream]]", self.streams != old.streams),
            ("[[view]]", self.views != old.views),
            ("[collect]", self.collects != old.collects),
            ("[[user]]", differs(&self.users, &old.users)),
            ("[[role]]", self.roles != old.roles),
            ("[table]", differs(&self.tables, &old.tables)),
            ("[cache]", self.cache != old.cache),
            ("[answers]", self.answers != old.answers),
            ("[limits]", differs(&self.limits, &old.limits)),
        ];
        parts.into_iter().filter_map(|(name, changed)| changed.then_some(name)).collect()
    }
}

/// For types that compare by their parts only: equal parts print alike.
fn differs<T: Debug>(a: &T, b: &T) -> bool {
    format!("{a:?}") != format!("{b:?}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;
    use std::path::Path;

    const TEXT: &str = include_str!("../../config/bikes.toml");

    fn read(text: &str) -> Policy {
        let schema = serde_json::from_str(include_str!("../../tests/policy/schema.json")).unwrap();
        let raw = super::super::parse(text, "bikes.toml", Path::new("")).unwrap_or_else(|e| panic!("{e}"));
        raw.check(&schema).unwrap_or_else(|e| panic!("{e}"))
    }

    fn edited(edits: &[(&str, &str)]) -> Policy {
        let mut text = TEXT.to_owned();
        for (from, to) in edits {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        read(&text)
    }

    #[test]
    fn the_same_policy_changes_nothing() {
        let reloaded = read(TEXT).after(&read(TEXT)).unwrap();
        assert_eq!((reloaded.changed, reloaded.restart), (vec![], vec![]));
        assert_eq!(reloaded.policy.version, read(TEXT).version);
        assert!(reloaded.policy.is_like(&read(TEXT)));
    }

    #[test]
    fn what_the_books_and_sockets_rest_on_stays_as_it_was() {
        let old = read(TEXT);
        let new = edited(&[
            ("[[budget]]", "[log]\nlevel = \"debug\"\nformat = \"json\"\n[[budget]]"),
            ("epsilon = 8.0", "epsilon = 80.0"),
            ("sqlite:noisegate.db", "sqlite:other.db"),
            ("listen = [\"127.0.0.1:6432\"]", "listen = [\"127.0.0.1:6433\"]"),
            ("postgres://noisegate@", "postgres://somebody@"),
            ("range = [1920, 2010]", "range = [1930, 2010]"),
        ]);
        let version = new.version;
        let reloaded = new.after(&old).unwrap();
        assert_eq!(reloaded.restart, ["server.listen", "log.format", "[backend]", "[ledger]", "[[budget]]"]);
        assert_eq!(reloaded.changed, ["log.level", "[table]"]);
        let policy = reloaded.policy;
        assert_eq!((&policy.budgets, &policy.ledger), (&old.budgets, &old.ledger));
        assert_eq!((&policy.backend, &policy.server.listen), (&old.backend, &old.server.listen));
        assert!(policy.version != version && policy.version != old.version, "it is a policy of its own");
    }

    #[test]
    fn another_unit_is_another_policy() {
        let mut new = read(TEXT);
        new.unit.as_mut().unwrap().column = "city".into();
        assert!(new.after(&read(TEXT)).is_none());
        // The same table in another place of the list is the same unit.
        let mut new = read(TEXT);
        new.tables.reverse();
        new.unit.as_mut().unwrap().table = new.tables.len() - 1;
        assert_eq!(new.after(&read(TEXT)).unwrap().changed, ["[table]"]);
    }
}
