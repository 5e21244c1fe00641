//! Kinds of statements, before their names are resolved: everything that writes is refused here.

use super::command::Syntax;
use super::insert::Insert;
use super::lines::Lines;
use super::names::fold;
use super::parse::Parsed;
use super::read_only::read_only;
use super::session::{self, SessionStatement};
use super::types::{cast_type, element_type};
use answer::{ClientError, Control, SqlState};
use sqlparser::ast::{self, Statement as S};

/// A statement by its kind, and its effect on the session.
pub struct Classified {
    /// Kind of the statement.
    pub kind: Kind,
    /// Effect on the session's state, and on the statement's rows; None for an ordinary statement.
    pub control: Option<Control>,
}

/// Kind of a statement.
pub enum Kind {
    /// A query.
    Query(Box<ast::Query>, Lines),
    /// EXPLAIN of a query.
    Explain(Box<ast::Query>, Lines, Explain),
    /// The arguments of EXECUTE: one row, which no table may have a part in.
    Arguments(Box<ast::Query>, Lines),
    /// Nothing of the database: all that it does is its [`Control`].
    Control,
    /// SET, SHOW and their kin.
    Session(SessionStatement),
    /// INSERT, or COPY FROM: rows for what is collected.
    Insert(Box<Insert>),
}

/// The options of EXPLAIN that mean something here; the others ask for what is always told, or for what nobody has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explain {
    /// Explain, and ask.
    pub analyze: bool,
    /// As JSON, in one row.
    pub json: bool,
    /// With noise, bounds and price in numbers.
    pub verbose: bool,
    /// An ε, in billionths, that is to be divided among this statement and those that follow it in
    /// its message.
    pub budget: Option<u64>,
}

/// Sorts a statement, or refuses it.
pub fn classify(parsed: Parsed) -> Result<Classified, ClientError> {
    let Parsed { ast, lines, start: at, .. } = parsed;
    let (kind, control) = match ast {
        Syntax::Tree(tree) => return tree_of(*tree, lines, at),
        Syntax::Declare(cursor, query) => (Kind::Query(query, lines), Control::Declare(cursor)),
        Syntax::Copy(copy, query) => (Kind::Query(query, lines), Control::Copy(copy)),
        Syntax::CopyFrom(copy, insert) => {
            (Kind::Insert(Box::new(Insert { at, ..*insert })), Control::CopyFrom(copy))
        }
        Syntax::Fetch(fetch) => (Kind::Control, Control::Fetch(fetch)),
        Syntax::Prepare(name, types, query) => {
            let oid = |ty| match element_type(ty) {
                Some(of) => cast_type(of, at).map(|ty| ty.ty.array_oid()),
                None => cast_type(ty, at).map(|ty| ty.ty.oid()),
            };
            let types = types.iter().map(oid).collect::<Result<_, _>>()?;
            (Kind::Query(query, lines), Control::Prepare { name, types })
        }
        Syntax::Execute(name, arguments) => {
            let kind = arguments.map_or(Kind::Control, |query| Kind::Arguments(query, lines));
            (kind, Control::Execute(name))
        }
        Syntax::Refused(e) => return Err(e.at(at)),
    };
    Ok(Classified { kind, control: Some(control) })
}

/// Sorts a tree. Trees of statements other than queries do not always know where they start: that is `at`.
fn tree_of(tree: S, lines: Lines, at: Option<usize>) -> Result<Classified, ClientError> {
    let control = |control| Ok(Classified { kind: Kind::Control, control: Some(control) });
    let kind = match tree {
        S::Query(query) => Kind::Query(query, lines),
        S::Insert(insert) => Kind::Insert(Box::new(Insert::of(&insert, &lines, at))),
        S::Explain {
            analyze,
            verbose,
            statement,
            options,
            format: None,
            query_plan: false,
            estimate: false,
            ..
        } => {
            let explain =
                explain_options(analyze, verbose, &options.unwrap_or_default()).map_err(|e| e.at(at))?;
            match *statement {
                S::Query(query) => Kind::Explain(query, lines, explain),
                other => return Err(refusal(&other, at)),
            }
        }
        S::StartTransaction { modes, statements, begin, .. } => {
            if !statements.is_empty() {
                return Err(ClientError::unsupported("BEGIN … END blocks are not supported").at(at));
            }
            let modes = session::modes(&modes);
            return control(if begin { Control::Begin(modes) } else { Control::Start(modes) });
        }
        S::Commit { chain, .. } => return control(Control::Commit { chain }),
        S::Rollback { chain, savepoint: None } => return control(Control::Rollback { chain }),
        S::Rollback { chain: false, savepoint: Some(name) } => {
            return control(Control::RollbackTo(fold(&name)));
        }
        S::Savepoint { name } => return control(Control::Savepoint(fold(&name))),
        S::ReleaseSavepoint { name } => return control(Control::Release(fold(&name))),
        S::Deallocate { name, .. } => {
            return control(Control::Deallocate(match fold(&name) {
                all if all == "all" && name.quote_style.is_none() => None,
                name => Some(name),
            }));
        }
        S::Close { cursor: ast::CloseCursor::All } => return control(Control::CloseCursors(None)),
        S::Close { cursor: ast::CloseCursor::Specific { name } } => {
            return control(Control::CloseCursors(Some(fold(&name))));
        }
        S::Discard { object_type } => match object_type {
            ast::DiscardObject::ALL => return control(Control::DiscardAll),
            ast::DiscardObject::PLANS => Kind::Session(SessionStatement::Nothing("DISCARD PLANS")),
            ast::DiscardObject::SEQUENCES => Kind::Session(SessionStatement::Nothing("DISCARD SEQUENCES")),
            ast::DiscardObject::TEMP => Kind::Session(SessionStatement::Nothing("DISCARD TEMP")),
        },
        S::UNLISTEN { .. } => Kind::Session(SessionStatement::Nothing("UNLISTEN")),
        S::Set(set) => Kind::Session(session::set(set, at)?),
        S::Reset(r) => Kind::Session(session::reset(&r.reset)),
        S::ShowVariable { variable } => Kind::Session(session::show(&variable)),
        other => return Err(refusal(&other, at)),
    };
    Ok(Classified { kind, control: None })
}

/// The options in brackets, as PostgreSQL judges them.
fn explain_options(
    analyze: bool,
    verbose: bool,
    options: &[ast::UtilityOption],
) -> Result<Explain, ClientError> {
    const IDLE: [&str; 8] =
        ["costs", "settings", "generic_plan", "buffers", "wal", "timing", "summary", "memory"];
    let mut explain = Explain { analyze, verbose, ..Explain::default() };
    for option in options {
        let name = option.name.value.to_lowercase();
        let value = option.arg.as_ref().map(|arg| arg.to_string().trim_matches('\'').to_lowercase());
        let syntax = |message: String| ClientError::new(SqlState::SYNTAX_ERROR, message);
        if name == "format" {
            match value.as_deref() {
                Some("text") => explain.json = false,
                Some("json") => explain.json = true,
                Some(other @ ("xml" | "yaml")) => {
                    let message =
                        format!("EXPLAIN writes text or JSON here, and no {}", other.to_uppercase());
                    return Err(
                        ClientError::unsupported(message).hint("Write EXPLAIN (FORMAT JSON) SELECT …")
                    );
                }
                other => {
                    let other = other.unwrap_or_default();
                    let message = format!("unrecognized value for EXPLAIN option \"format\": \"{other}\"");
                    return Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message));
                }
            }
            continue;
        }
        if name == "budget" {
            explain.budget = Some(value.as_deref().and_then(billionths).ok_or_else(|| {
                let value = value.unwrap_or_default();
                let message = format!("unrecognized value for EXPLAIN option \"budget\": \"{value}\"");
                ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message)
                    .hint("It takes an epsilon from 1e-9 to 1000: EXPLAIN (BUDGET 1.0) SELECT …; SELECT …")
            })?);
            continue;
        }
        if !["analyze", "verbose"].contains(&name.as_str()) && !IDLE.contains(&name.as_str()) {
            return Err(syntax(format!("unrecognized EXPLAIN option \"{name}\"")));
        }
        let truth = match value.as_deref() {
            None | Some("true" | "on" | "1") => true,
            Some("false" | "off" | "0") => false,
            Some(_) => return Err(syntax(format!("{name} requires a Boolean value"))),
        };
        match name.as_str() {
            "analyze" => explain.analyze = truth,
            "verbose" => explain.verbose = truth,
            _ => {}
        }
    }
    if explain.analyze && explain.budget.is_some() {
        return Err(ClientError::unsupported("EXPLAIN with ANALYZE and BUDGET is not supported")
            .hint("BUDGET proposes prices, and asks nothing: EXPLAIN (BUDGET 1.0) SELECT …; SELECT …"));
    }
    Ok(explain)
}

/// An ε in billionths, which are the least price.
fn billionths(text: &str) -> Option<u64> {
    let number: f64 = text.parse().ok().filter(|n| (1e-9..=1000.0).contains(n))?;
    // Of at most 1000 a float keeps all billionths.
    Some((number * 1e9).round() as u64)
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
        _ => ClientError::unsupported(format!("{verb} is not supported"))
            .hint("noisegate answers SELECT, EXPLAIN SELECT, COPY (SELECT …) TO STDOUT, cursors, SET, SHOW and transaction control.")
            .at(at),
    }
}
