//! Refusals of statements that write.

use super::lines::Lines;
use answer::{ClientError, SqlState};
use sqlparser::ast;

pub(super) fn read_only(what: &str, at: Option<usize>) -> ClientError {
    ClientError::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        format!("cannot execute {what}: noisegate is read-only"),
    )
    .hint("Ask aggregate questions with SELECT; write to the database itself, not through noisegate.")
    .at(at)
}

/// Refuses parts of a query's syntax that select nothing or write.
pub(super) fn no_writes(body: &ast::SetExpr, lines: &Lines) -> Result<(), ClientError> {
    let verb = match body {
        ast::SetExpr::Insert(_) => "INSERT",
        ast::SetExpr::Update(_) => "UPDATE",
        ast::SetExpr::Delete(_) => "DELETE",
        ast::SetExpr::Merge(_) => "MERGE",
        _ => return Ok(()),
    };
    Err(read_only(verb, lines.start(body)))
}
