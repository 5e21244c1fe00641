//! What kind of statement it is, before its names are resolved: everything that writes is refused here.

use super::parse::{Lines, Parsed};
use crate::error::{ClientError, SqlState};
use sqlparser::ast::{self, Statement as S};

/// What a statement asks for.
pub enum Kind {
    /// A query.
    Query(Box<ast::Query>, Lines),
    /// EXPLAIN of a query.
    Explain(Box<ast::Query>, Lines),
    /// Transaction control, which the session does itself.
    Control(Control),
}

/// Transaction control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// BEGIN.
    Begin,
    /// START TRANSACTION: the same, with a tag of its own.
    Start,
    /// COMMIT, END.
    Commit,
    /// ROLLBACK, ABORT.
    Rollback,
    /// SAVEPOINT.
    Savepoint(String),
    /// RELEASE SAVEPOINT.
    Release(String),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(String),
}

/// Sorts a statement, or refuses it.
pub fn classify(parsed: Parsed) -> Result<Kind, ClientError> {
    // Trees of statements other than queries do not always know where they start.
    let Parsed { ast, lines, start: at } = parsed;
    Ok(match ast {
        S::Query(query) => Kind::Query(query, lines),
        S::Explain { analyze, statement, options, format, query_plan, estimate, .. } => {
            if analyze || query_plan || estimate || format.is_some() || options.is_some_and(|o| !o.is_empty())
            {
                return Err(ClientError::unsupported("EXPLAIN options are not supported")
                    .hint("Write EXPLAIN SELECT …: it prints noisegate's own plan, and charges nothing.")
                    .at(at));
            }
            match *statement {
                S::Query(query) => Kind::Explain(query, lines),
                other => return Err(refusal(&other, at)),
            }
        }
        S::StartTransaction { modes, statements, begin, .. } => {
            if !statements.is_empty() {
                return Err(ClientError::unsupported("BEGIN … END blocks are not supported").at(at));
            }
            if modes.contains(&ast::TransactionMode::AccessMode(ast::TransactionAccessMode::ReadWrite)) {
                return Err(read_only("BEGIN READ WRITE", at));
            }
            Kind::Control(if begin { Control::Begin } else { Control::Start })
        }
        S::Commit { chain: false, .. } => Kind::Control(Control::Commit),
        S::Rollback { chain: false, savepoint: None } => Kind::Control(Control::Rollback),
        S::Rollback { chain: false, savepoint: Some(name) } => {
            Kind::Control(Control::RollbackTo(fold(&name)))
        }
        S::Savepoint { name } => Kind::Control(Control::Savepoint(fold(&name))),
        S::ReleaseSavepoint { name } => Kind::Control(Control::Release(fold(&name))),
        other => return Err(refusal(&other, at)),
    })
}

/// An identifier as PostgreSQL folds it: unquoted ones to lower case.
pub fn fold(ident: &ast::Ident) -> String {
    let name = if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() };
    super::names::truncate(name)
}

fn read_only(what: &str, at: Option<usize>) -> ClientError {
    ClientError::new(
        SqlState::INSUFFICIENT_PRIVILEGE,
        format!("cannot execute {what}: noisegate is read-only"),
    )
    .hint("Ask aggregate questions with SELECT; write to the database itself, not through noisegate.")
    .at(at)
}

fn refusal(statement: &S, at: Option<usize>) -> ClientError {
    // The first words of its own rendering name a statement better than the tree's variant would.
    let text = statement.to_string();
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    let verb = words.first().copied().unwrap_or("this statement").to_uppercase();
    let two = words.join(" ").to_uppercase();
    match verb.as_str() {
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "TRUNCATE" | "CALL" | "DO" | "LOCK" | "VACUUM"
        | "ANALYZE" | "GRANT" | "REVOKE" | "REINDEX" | "CLUSTER" | "REFRESH" | "COMMENT" => {
            read_only(&verb, at)
        }
        "CREATE" | "DROP" | "ALTER" => read_only(&two, at),
        "COPY" if !matches!(statement, S::Copy { to: true, .. }) => read_only("COPY FROM", at),
        _ => ClientError::unsupported(format!("{verb} is not supported"))
            .hint("noisegate answers SELECT, EXPLAIN SELECT, BEGIN, COMMIT and ROLLBACK.")
            .at(at),
    }
}

/// Refuses parts of a query's syntax that select nothing or write.
pub fn no_writes(body: &ast::SetExpr, lines: &Lines) -> Result<(), ClientError> {
    let verb = match body {
        ast::SetExpr::Insert(_) => "INSERT",
        ast::SetExpr::Update(_) => "UPDATE",
        ast::SetExpr::Delete(_) => "DELETE",
        ast::SetExpr::Merge(_) => "MERGE",
        _ => return Ok(()),
    };
    Err(read_only(verb, lines.start(body)))
}
