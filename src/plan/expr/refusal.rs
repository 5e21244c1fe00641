//! Why an expression is refused.

use crate::refusals::Refusal;
use crate::refusals::value::Value;
use sql::ast::Pos;

/// A result of lowering. That of a rule has the reason alone as its error: the caller knows the place in the statement.
pub(super) type Result<T, E = Refusal> = std::result::Result<T, E>;

/// The refusal of an expression for a reason.
pub(super) fn refusal(reason: impl Into<Value>, pos: Pos) -> Refusal {
    reason.into().at(pos)
}

/// Refuses an expression for a reason.
pub(super) fn refused<T>(reason: impl Into<Value>, pos: Pos) -> Result<T> {
    Err(refusal(reason, pos))
}
