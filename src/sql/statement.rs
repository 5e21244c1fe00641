//! What kind of statement it is, before its names are resolved: everything that writes is refused here.

use super::names::fold;
use super::parse::{Lines, Parsed};
use super::read_only::read_only;
use super::session::{self, SessionStatement};
use answer::ClientError;
use sqlparser::ast::{self, Statement as S};

/// What a statement asks for.
pub enum Kind {
    /// A query.
    Query(Box<ast::Query>, Lines),
    /// EXPLAIN of a query.
    Explain(Box<ast::Query>, Lines),
    /// Transaction control, which the session does itself.
    Control(Control),
    /// SET, SHOW and their kin.
    Session(SessionStatement),
}

/// Transaction control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// BEGIN.
    Begin,
    /// START TRANSACTION: the same, with a tag of its own.
    Start,
    /// COMMIT, END.
    Commit {
        /// AND CHAIN.
        chain: bool,
    },
    /// ROLLBACK, ABORT.
    Rollback {
        /// AND CHAIN.
        chain: bool,
    },
    /// SAVEPOINT.
    Savepoint(String),
    /// RELEASE SAVEPOINT.
    Release(String),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(String),
    /// DEALLOCATE name; None is ALL.
    Deallocate(Option<String>),
    /// CLOSE name; None is ALL.
    CloseCursors(Option<String>),
    /// DISCARD ALL.
    DiscardAll,
}

/// Sorts a statement, or refuses it.
pub fn classify(parsed: Parsed) -> Result<Kind, ClientError> {
    // Trees of statements other than queries do not always know where they start.
    let Parsed { ast, lines, start: at, .. } = parsed;
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
        S::Commit { chain, .. } => Kind::Control(Control::Commit { chain }),
        S::Rollback { chain, savepoint: None } => Kind::Control(Control::Rollback { chain }),
        S::Rollback { chain: false, savepoint: Some(name) } => {
            Kind::Control(Control::RollbackTo(fold(&name)))
        }
        S::Savepoint { name } => Kind::Control(Control::Savepoint(fold(&name))),
        S::ReleaseSavepoint { name } => Kind::Control(Control::Release(fold(&name))),
        S::Deallocate { name, .. } => Kind::Control(Control::Deallocate(match fold(&name) {
            all if all == "all" && name.quote_style.is_none() => None,
            name => Some(name),
        })),
        S::Close { cursor: ast::CloseCursor::All } => Kind::Control(Control::CloseCursors(None)),
        S::Close { cursor: ast::CloseCursor::Specific { name } } => {
            Kind::Control(Control::CloseCursors(Some(fold(&name))))
        }
        S::Discard { object_type } => match object_type {
            ast::DiscardObject::ALL => Kind::Control(Control::DiscardAll),
            ast::DiscardObject::PLANS => Kind::Session(SessionStatement::Nothing("DISCARD PLANS")),
            ast::DiscardObject::SEQUENCES => Kind::Session(SessionStatement::Nothing("DISCARD SEQUENCES")),
            ast::DiscardObject::TEMP => Kind::Session(SessionStatement::Nothing("DISCARD TEMP")),
        },
        S::UNLISTEN { .. } => Kind::Session(SessionStatement::Nothing("UNLISTEN")),
        S::Set(set) => Kind::Session(session::set(set, at)?),
        S::Reset(r) => Kind::Session(session::reset(&r.reset)),
        S::ShowVariable { variable } => Kind::Session(session::show(&variable)),
        other => return Err(refusal(&other, at)),
    })
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
            .hint("noisegate answers SELECT, EXPLAIN SELECT, SET, SHOW and transaction control.")
            .at(at),
    }
}
