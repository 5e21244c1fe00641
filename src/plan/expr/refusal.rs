//! Why an expression is refused.

use crate::refusals::value::Value;
use answer::{ClientError, SqlState};
use sql::ast::Pos;

pub(super) type Result<T> = std::result::Result<T, ClientError>;

/// Why a rule of the table gives no facts. The caller knows where it stands in the statement.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    what: &'static str,
    hint: Option<&'static str>,
}

impl Refusal {
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, hint: None }
    }

    pub(super) fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    pub(super) fn at(self, pos: Pos) -> ClientError {
        let mut e = refuse(self.what, pos);
        e.hint = self.hint.map(str::to_owned);
        e
    }
}

/// Refuses an expression for a reason.
pub(super) fn refused<T>(reason: Value, pos: Pos) -> Result<T> {
    Err(reason.at(pos).into())
}

pub(super) fn refuse(what: &str, pos: Pos) -> ClientError {
    ClientError::unsupported(format!("{what} is not supported")).at(pos)
}

pub(super) fn mismatch(what: &str, pos: Pos) -> ClientError {
    ClientError::new(SqlState::DATATYPE_MISMATCH, what.to_owned())
        .hint("Add a cast, or compare values of one type.")
        .at(pos)
}
