//! A statement on its way: parsed, planned, bound.

use crate::beside::Brief;
use crate::crashes::Shape;
use crate::gateway::Gateway;
use crate::gateway::known::remembered::Key;
use crate::gateway::private::bounds::Auto;
use crate::gateway::way::Bound;
use answer::{ClientError, Description, Field, SqlState, Values};
use emit::print::Constants;
use plan::Plan;
use plan::reach::columns::Intervals;
use sql::Kind;
use sql::parse::Parsed;
use std::borrow::Cow;
use std::sync::Arc;

/// A parsed statement.
#[derive(Clone)]
pub struct Statement {
    pub(in crate::gateway) kind: Arc<Kind>,
    pub(in crate::gateway) control: Option<sql::Control>,
    /// As it was written.
    pub(in crate::gateway) text: Arc<str>,
    /// Number of its tokens.
    pub(in crate::gateway) tokens: usize,
    /// Statements that it explains beside its own query.
    pub(in crate::gateway) others: Arc<[Statement]>,
    pub(in crate::gateway) watched: Watched,
}

/// Watch over the work on a statement: its time, and whether the process ends in it.
#[derive(Clone, Default)]
pub struct Watched {
    /// Whether each step was brief the last time.
    pub brief: Brief,
    /// The form by which crashes know the statement, if they may know it.
    pub shape: Option<Shape>,
}

impl Statement {
    /// A parsed statement. `collects`: rows may be written to what is collected; `writes`: by this login.
    pub(in crate::gateway) fn of(parsed: Parsed, collects: bool, writes: bool) -> Result<Self, ClientError> {
        let (mut text, tokens) = (parsed.text.clone(), parsed.tokens);
        let sql::Classified { kind, control } = sql::classify(parsed)?;
        if let Kind::Insert(insert) = &kind {
            if !collects {
                return Err(insert.read_only());
            }
            // What somebody says of themselves is kept nowhere.
            text = insert.verb.into();
        } else if writes && asks(&kind) && text.contains(['\'', '$']) {
            // PostgreSQL writes a statement that fails into a log of its own.
            let message =
                "permission denied: a login that writes to what is collected asks nothing that holds a value";
            return Err(ClientError::new(SqlState::INSUFFICIENT_PRIVILEGE, message).hint(
                "Write rows by INSERT … VALUES or COPY … FROM STDIN; a Parse message prepares an INSERT.",
            ));
        }
        let (kind, others, watched) = (Arc::new(kind), Arc::default(), Watched::default());
        Ok(Self { kind, control, text, tokens, others, watched })
    }

    /// Bytes that it takes, at most.
    pub fn bytes(&self) -> usize {
        let others = self.others.iter().map(Self::bytes).sum::<usize>();
        sql::weight::tree(self.tokens).saturating_add(self.text.len()).saturating_add(others)
    }

    /// Bytes that its plan takes, at most.
    pub fn plan_bytes(&self) -> usize {
        let own = match &*self.kind {
            Kind::Query(..) | Kind::Explain(..) | Kind::Arguments(..) => sql::weight::plan(self.tokens),
            Kind::Control | Kind::Session(_) | Kind::Insert(_) => 0,
        };
        own.saturating_add(self.others.iter().map(Self::plan_bytes).sum::<usize>())
    }

    /// The watch over the work on it.
    pub fn watched(&self) -> Watched {
        self.watched.clone()
    }

    /// The word that the log has for it.
    pub fn class(&self) -> &'static str {
        class(&self.kind)
    }

    /// Whether it asks for something, and is no setting, transaction or row.
    pub(in crate::gateway) fn is_query(&self) -> bool {
        asks(&self.kind)
    }

    /// As it was written.
    pub fn text(&self) -> Arc<str> {
        self.text.clone()
    }

    /// Its effect on the session's transaction, statements and cursors, and on its rows.
    pub fn control(&self) -> Option<&sql::Control> {
        self.control.as_ref()
    }
}

/// A bound statement: its parameters have values, and it is planned with them.
pub struct Portal {
    pub(in crate::gateway) gateway: Arc<Gateway>,
    pub(in crate::gateway) kind: Arc<Kind>,
    pub(in crate::gateway) text: Arc<str>,
    /// Number of its tokens.
    pub(in crate::gateway) tokens: usize,
    pub(in crate::gateway) description: Description,
    pub(in crate::gateway) values: Values,
    /// The statement, ready to run. Of plans the session keeps the last one: others are planned
    /// again, since a plan is hundreds of times as large as its text.
    pub(in crate::gateway) bound: Bound,
    pub(in crate::gateway) watched: Watched,
}

impl Portal {
    /// The statement, its columns and its values, to be bound anew.
    pub(in crate::gateway) fn unbound(&self) -> (Statement, Description, Values) {
        let (kind, text, tokens) = (self.kind.clone(), self.text.clone(), self.tokens);
        let (others, watched) = (Arc::default(), self.watched.clone());
        let statement = Statement { kind, control: None, text, tokens, others, watched };
        (statement, self.description.clone(), self.values.clone())
    }

    /// The columns that were told, in the formats that were asked for; None if none were.
    pub(in crate::gateway) fn promised(&self) -> Option<Columns> {
        Some(Columns::bound(self.description.fields.clone()?, &self.values))
    }

    /// Bytes that it takes, beside its values: its columns, and its text over the catalogs or the one that was remembered.
    pub fn bytes(&self) -> usize {
        let columns = size_of::<Field>() * self.description.fields.as_ref().map_or(0, Vec::len);
        let text = match &self.bound {
            Bound::Remembered(key, public) => key.size() + public.size(),
            Bound::Catalog(rewritten) => rewritten.bytes(),
            Bound::Itself | Bound::Owner | Bound::Planned(_) | Bound::Kept(_) => 0,
        };
        size_of::<Self>() + columns + text
    }

    /// The word that the log has for it.
    pub fn class(&self) -> &'static str {
        class(&self.kind)
    }

    /// The watch over the work on its statement.
    pub fn watched(&self) -> Watched {
        self.watched.clone()
    }

    /// The statement as it was written.
    pub fn text(&self) -> Arc<str> {
        self.text.clone()
    }
}

/// A plan, and what it was made with.
pub struct Planned {
    pub plan: Plan,
    pub constants: Constants,
    pub settings: plan::Settings,
    /// The moment that `now()` was rounded to, when it was.
    pub snapped: Option<String>,
    /// The plan would be the same at another time, for every session with these settings.
    pub lasting: bool,
    /// The key under which it is remembered, when it can be.
    pub key: Option<Key>,
    /// The intervals that its columns have beside them.
    pub intervals: Intervals,
    /// The statement whose bound is to be chosen, when it is.
    pub auto: Option<Arc<Auto>>,
}

impl Planned {
    /// The statement as it was resolved, with the columns that were added to it.
    pub fn columns<'r>(&self, resolved: &'r sql::ast::Statement) -> Cow<'r, sql::ast::Statement> {
        if self.intervals.is_empty() {
            return Cow::Borrowed(resolved);
        }
        let mut statement = resolved.clone();
        self.intervals.put(&mut statement.query);
        Cow::Owned(statement)
    }

    /// Refuses to give other columns than were described, as PostgreSQL does.
    pub fn described(&self, fields: Option<&[Field]>) -> Result<(), ClientError> {
        let width = self.plan.statement.query.body.names().len();
        if self.plan.charge.is_none() || fields.is_none_or(|fields| fields.len() == width) {
            return Ok(());
        }
        Err(ClientError::unsupported("cached plan must not change result type")
            .hint("noisegate.intervals was set since the statement was prepared: prepare it again."))
    }
}

/// A plan whose statement PostgreSQL has typed.
pub struct Typed {
    pub planned: Planned,
    /// The columns of the answer.
    pub columns: Columns,
    /// The statement as it was written.
    pub text: Arc<str>,
}

/// A query of the simple protocol that is planned.
pub struct Prepared {
    pub planned: Planned,
    /// Columns of the answer.
    pub fields: Vec<Field>,
    /// The columns are those of another time: when they may be others now, the query is prepared
    /// anew.
    pub doubtful: bool,
}

fn asks(kind: &Kind) -> bool {
    !matches!(kind, Kind::Control | Kind::Session(_) | Kind::Insert(_))
}

fn class(kind: &Kind) -> &'static str {
    match kind {
        Kind::Control => "control",
        Kind::Explain(..) => "explain",
        Kind::Query(..) => "query",
        Kind::Arguments(..) => "arguments",
        Kind::Session(_) => "session",
        Kind::Insert(_) => "insert",
    }
}

/// The columns of an answer.
pub struct Columns {
    /// In the formats that were asked for.
    pub fields: Vec<Field>,
    /// Whether each of them is there twice, all together: a cursor keeps its rows in both formats.
    pub twice: bool,
}

impl Columns {
    /// As Bind asked for.
    pub fn bound(fields: Vec<Field>, values: &Values) -> Self {
        let twice = !fields.is_empty() && values.results.len() == 2 * fields.len();
        let length = if twice { 2 * fields.len() } else { fields.len() };
        let format = |i: usize| values.results.get(i).copied().unwrap_or(0);
        let fields = fields.into_iter().cycle().take(length).enumerate();
        Self { fields: fields.map(|(i, f)| Field { format: format(i), ..f }).collect(), twice }
    }

    /// Once, in text.
    pub fn text(fields: Vec<Field>) -> Self {
        Self { fields, twice: false }
    }

    /// The types of the statement's own columns.
    pub fn types(&self) -> Vec<u32> {
        self.once().iter().map(|f| f.type_oid).collect()
    }

    /// Columns of the statement itself, each once.
    pub fn once(&self) -> &[Field] {
        let n = if self.twice { self.fields.len() / 2 } else { self.fields.len() };
        self.fields.get(..n).unwrap_or(&self.fields)
    }
}

/// The frontend does transaction control itself.
pub fn control_here() -> ClientError {
    ClientError::incident(
        SqlState::INTERNAL,
        "transaction control cannot run here",
        &"a control statement reached the gateway",
    )
}
