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
        // Texts of settings and of what no parser read may hold anything: a password, say.
        let kept = self.gateway.policy.ledger_text
            && !matches!(class, "session" | "control" | "unparsed")
            && !self.confides(&text);
        let asked = Asked {
            user: self.identity.user.clone(),
            database: self.databases.named(&self.active).map(str::to_owned),
            session: self.pid,
            class,
            text: kept.then(|| text.to_string()),
            before,
        };
        let (gateway, writes) = (self.gateway.clone(), self.ask().writes());
        let known = move |word: &str| if writes { gateway.collects(word) } else { gateway.is_known(word) };
        let why = move |e: &ClientError| record::reason(&e.message, &text, &known);
        (asked, Box::new(why))
    }

    /// Whether a text may hold what somebody says of themselves, so that nothing of it is kept: whatever a login sends that
    /// writes to what is collected, be it refused or no INSERT at all; and of other logins, what would write.
    pub(in crate::gateway) fn confides(&self, text: &str) -> bool {
        let insert = |bytes: &[u8]| bytes.eq_ignore_ascii_case(b"insert");
        let collects = !self.gateway.policy.collects.is_empty();
        self.ask().writes() || collects && text.as_bytes().windows(6).any(insert)
    }

    /// An error as the client gets it. Errors end in logs of those who send for others: to a login that writes nothing of its
    /// statement is repeated. Those of `insert` are made without a word of its rows.
    pub(crate) fn told(&self, class: &str, text: &str, error: ClientError) -> ClientError {
        if class == "insert" || !self.ask().writes() {
            return error;
        }
        let without = |words: &str| record::reason(words, text, |word| self.gateway.collects(word));
        let message = without(&error.message);
        let detail = error.detail.filter(|detail| detail.starts_with("Incident "));
        ClientError { message, detail, hint: error.hint.as_deref().map(without), ..error }
    }

    /// The statements of this database.
    pub(crate) fn record(&self) -> Arc<Recorder> {
        self.active.record().clone()
    }

    /// The form by which crashes know a text, if they may know it.
    pub(in crate::gateway) fn shape(&self, text: &str) -> Option<Shape> {
        self.gateway.crashes.as_ref()?;
        // Not even a hash of its form.
        (!self.confides(text)).then(|| Shape::of(text))
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
    /// Whether a word is a name of what is collected.
    fn collects(&self, word: &str) -> bool {
        self.policy.collects.iter().any(|c| c.name == word || c.columns.iter().any(|c| c.name == word))
    }

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
