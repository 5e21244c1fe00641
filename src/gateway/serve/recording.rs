//! Entries of the record about a session's statements, and their words.

use crate::crashes::{Shape, UnderWay};
use crate::gateway::{ActiveGateway, Gateway, Session};
use answer::ClientError;
use record::{Asked, Recorder, Stage, Stages};
use sqlparser::keywords::ALL_KEYWORDS;
use std::sync::Arc;
use std::time::Duration;

/// An error in words that the record may have.
type Why = Box<dyn Fn(&ClientError) -> String + Send>;

impl ActiveGateway {
    /// The statements of this database, whatever policy they run under.
    pub fn record(&self) -> &Arc<Recorder> {
        &self.record
    }
}

impl Session {
    /// Notes the time of a stage that prepares the next statement.
    pub(crate) fn prepared(&mut self, stage: Stage, took: Duration) {
        self.before.add(stage, took);
    }

    /// A statement that begins now, by its kind and text, and how its error is told.
    pub(crate) fn recorded(&mut self, class: &'static str, text: Arc<str>) -> (Asked, Why) {
        let before: Stages = std::mem::take(&mut self.before);
        // Texts of settings and of what no parser read may hold anything: a password, say. Those of INSERT hold what
        // nobody is to know but who said it.
        let kept = self.gateway.policy.ledger_text
            && !matches!(class, "session" | "control" | "unparsed" | "insert");
        let asked = Asked {
            user: self.identity.user.clone(),
            database: self.databases.named(&self.active).map(str::to_owned),
            session: self.pid,
            class,
            text: kept.then(|| text.to_string()),
            before,
        };
        let gateway = self.gateway.clone();
        let why = move |e: &ClientError| record::reason(&e.message, &text, |word| gateway.is_known(word));
        (asked, Box::new(why))
    }

    /// The statements of this database.
    pub(crate) fn record(&self) -> Arc<Recorder> {
        self.active.record().clone()
    }

    /// The form by which crashes know a text, if they may know it.
    pub(in crate::gateway) fn shape(&self, text: &str) -> Option<Shape> {
        let gateway = &self.gateway;
        gateway.crashes.as_ref()?;
        // What somebody says of themselves is written down nowhere, not even as a hash of its form.
        let insert = |bytes: &[u8]| bytes.eq_ignore_ascii_case(b"insert");
        let said = !gateway.policy.collects.is_empty() && text.as_bytes().windows(6).any(insert);
        (!said).then(|| Shape::of(text))
    }

    /// Notes that a step of a statement is under way, before anything is done; written down unless it was `brief` the last time.
    ///
    /// # Errors
    /// For one that was under way at two crashes.
    pub(crate) fn under_way(
        &self,
        shape: Option<Shape>,
        brief: bool,
    ) -> Result<Option<Arc<UnderWay>>, ClientError> {
        let known = self.gateway.crashes.as_ref().zip(shape);
        known.map(|(crashes, shape)| crashes.begin(shape, !brief).map(Arc::new)).transpose()
    }
}

impl Gateway {
    /// Whether anybody could have said the word: a name of the policy's or of SQL.
    fn is_known(&self, word: &str) -> bool {
        let policy = &self.policy;
        let in_policy = |word: &str| {
            let table = |t: &policy::Table| {
                t.name == word || t.schema == word || t.columns.iter().any(|c| c.name == word)
            };
            policy.tables.iter().any(table) || policy.budgets.iter().any(|b| b.name == word)
        };
        let upper = word.to_ascii_uppercase();
        in_policy(word)
            || ALL_KEYWORDS.binary_search(&upper.as_str()).is_ok()
            || sql::functions::lookup(&word.to_ascii_lowercase()).is_some()
    }
}
