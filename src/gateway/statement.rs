//! A statement on its way: parsed, planned, bound.

use super::Gateway;
use answer::{ClientError, Description, Field, SqlState, Values};
use emit::print::Constants;
use plan::Plan;
use sql::Kind;
use std::sync::Arc;

/// One parsed statement.
pub struct Statement {
    pub(super) kind: Arc<Kind>,
    /// As it was written.
    pub(super) text: Arc<str>,
}

impl Statement {
    /// The word that the log has for it.
    pub fn class(&self) -> &'static str {
        class(&self.kind)
    }

    /// What it does to the session's transaction, statements and cursors.
    pub fn control(&self) -> Option<&sql::Control> {
        match &*self.kind {
            Kind::Control(c) => Some(c),
            _ => None,
        }
    }
}

/// A bound statement: its parameters have values, and it is planned with them.
pub struct Portal {
    pub(super) gateway: Arc<Gateway>,
    pub(super) kind: Arc<Kind>,
    pub(super) text: Arc<str>,
    pub(super) description: Description,
    pub(super) values: Values,
    pub(super) planned: Option<Planned>,
}

impl Portal {
    /// The word that the log has for it.
    pub fn class(&self) -> &'static str {
        class(&self.kind)
    }
}

/// A plan, and what it was made with.
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) constants: Constants,
    pub(super) settings: plan::Settings,
    /// What `now()` was rounded to, where it was.
    pub(super) snapped: Option<String>,
}

fn class(kind: &Kind) -> &'static str {
    match kind {
        Kind::Control(_) => "control",
        Kind::Explain(..) => "explain",
        Kind::Query(..) => "query",
        Kind::Session(_) => "session",
    }
}

/// Columns in the formats that Bind asked for.
pub(super) fn formatted(fields: Vec<Field>, values: &Values) -> Vec<Field> {
    let format = |i: usize| values.results.get(i).copied().unwrap_or(0);
    fields.into_iter().enumerate().map(|(i, f)| Field { format: format(i), ..f }).collect()
}

/// The frontend does transaction control itself.
pub(super) fn control_here() -> ClientError {
    ClientError::incident(
        SqlState::INTERNAL,
        "transaction control cannot run here",
        &"a control statement reached the gateway",
    )
}
