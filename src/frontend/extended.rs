//! The messages of the extended query protocol. Each is done on its own; the batch that they form, and what an
//! error does to it, is the [session's](super::session) affair.

use super::message::{Bind, Extended, Target};
use super::portal::{Portal, Progress, Rest};
use super::prepared::Prepared;
use super::reply::{Bare, Writer};
use super::rows::{Rows, tag};
use super::service::{Control, Session};
use super::state::State;
use super::stop::{Stop, text};
use answer::{ClientError, SqlState};
use answer::{Description, Field, Outcome, Values};
use bytes::Bytes;
use std::sync::Arc;
use tokio::io::AsyncWrite;

/// 42P18: a parameter's type cannot be told.
const INDETERMINATE_DATATYPE: SqlState = SqlState(*b"42P18");

/// Does one message and queues its answer, but for an error. Dropping the future cancels what the session does;
/// what was queued before stays whole.
pub(super) async fn handle<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    message: Extended,
) -> Result<(), Stop> {
    match message {
        Extended::Parse { name, sql, types } => {
            parse(state, text(&name)?, text(&sql)?, types).await?;
            writer.bare(Bare::ParseComplete);
        }
        Extended::Bind(message) => {
            bind(state, message).await?;
            writer.bare(Bare::BindComplete);
        }
        Extended::Describe(target) => describe(state, writer, target)?,
        Extended::Execute { portal, max_rows } => {
            let limit = u64::try_from(max_rows).ok().filter(|n| *n > 0);
            execute(state, writer, text(&portal)?, limit).await?;
        }
        Extended::Close(target) => {
            match target {
                Target::Statement(name) => state.statements.close(text(&name)?),
                Target::Portal(name) => state.portals.close(text(&name)?),
            }
            writer.bare(Bare::CloseComplete);
        }
    }
    writer.relieve().await
}

async fn parse<S: Session>(
    state: &mut State<S>,
    name: &str,
    sql: &str,
    types: Vec<u32>,
) -> Result<(), ClientError> {
    if name.is_empty() {
        state.statements.close(name);
    }
    let mut statements = state.session.parse(sql)?.into_iter();
    let statement = statements.next();
    if statements.next().is_some() {
        let message = "cannot insert multiple commands into a prepared statement";
        return Err(ClientError::new(SqlState::SYNTAX_ERROR, message)
            .hint("Send one statement at a time, or all of them by the simple query protocol."));
    }
    let control = statement.as_ref().map_or(Control::None, |s| state.session.control(s));
    if statement.is_some() {
        state.transaction.admit(&control)?;
    }
    state.statements.admit(name, sql.len())?;
    let description = match &statement {
        Some(statement) if control == Control::None => state.session.describe(statement, &types).await?,
        // As PostgreSQL: these have no parameters, but what the client declares, it must bind.
        Some(_) => known(types)?,
        None => Description { parameters: types, fields: None },
    };
    if description.parameters.len() > usize::from(u16::MAX) {
        return Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "there are too many parameters")
            .hint("A Bind message carries 65535 at most."));
    }
    let prepared = Prepared { statement, control, description, text: sql.len() };
    state.statements.insert(name.to_owned(), prepared);
    Ok(())
}

fn known(types: Vec<u32>) -> Result<Description, ClientError> {
    if let Some(open) = types.iter().position(|oid| *oid == 0) {
        let message = format!("could not determine data type of parameter ${}", open + 1);
        return Err(ClientError::new(INDETERMINATE_DATATYPE, message));
    }
    Ok(Description { parameters: types, fields: None })
}

async fn bind<S: Session>(state: &mut State<S>, message: Bind) -> Result<(), ClientError> {
    let (name, statement) = (text(&message.portal)?, text(&message.statement)?);
    let prepared = state.statements.get(statement)?;
    let wanted = prepared.description.parameters.len();
    let (values, formats) = (message.values, message.formats);
    if formats.len() > 1 && formats.len() != values.len() {
        let (f, n) = (formats.len(), values.len());
        return Err(mismatch(format!("bind message has {f} parameter formats but {n} parameters")));
    }
    if values.len() != wanted {
        let n = values.len();
        return Err(mismatch(format!(
            "bind message supplies {n} parameters, but prepared statement \"{statement}\" requires {wanted}"
        )));
    }
    if prepared.statement.is_none() || wanted > 0 {
        // Only a bare COMMIT or ROLLBACK can be bound in a failed transaction.
        state.transaction.admit(&Control::None)?;
    } else {
        state.transaction.admit(&prepared.control)?;
    }
    let kept = values.iter().map(|v| v.as_ref().map_or(0, Bytes::len) + size_of::<Option<Bytes>>());
    let held = name.len() + prepared.text + kept.sum::<usize>();
    state.portals.admit(name, held)?;
    let columns = prepared.description.fields.as_ref().map(Vec::len);
    if let Some(columns) = columns.filter(|n| message.results.len() > 1 && message.results.len() != *n) {
        let f = message.results.len();
        return Err(mismatch(format!("bind message has {f} result formats but query has {columns} columns")));
    }
    let formats = spread(&formats, wanted)?;
    let results = spread(&message.results, columns.unwrap_or(0))?;
    let progress = match &prepared.statement {
        None => Progress::Empty,
        Some(_) if prepared.control != Control::None => Progress::Control,
        Some(statement) => {
            let values = Values { parameters: values, formats, results: results.clone() };
            Progress::Bound(state.session.bind(statement, &prepared.description, values).await?)
        }
    };
    let depth = state.transaction.depth();
    state.portals.insert(name.to_owned(), Portal { prepared, formats: results, progress, held, depth });
    Ok(())
}

/// One format for each of `n`: none given means text, one means the same for all.
fn spread(formats: &[i16], n: usize) -> Result<Vec<i16>, ClientError> {
    if let Some(unknown) = formats.iter().find(|f| !matches!(f, 0 | 1)) {
        let message = format!("unsupported format code: {unknown}");
        return Err(ClientError::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .hint("A format is 0 for text or 1 for binary."));
    }
    Ok(match formats {
        [] => vec![0; n],
        [all] => vec![*all; n],
        each => each.iter().copied().take(n).collect(),
    })
}

fn mismatch(message: String) -> ClientError {
    ClientError::new(SqlState::PROTOCOL_VIOLATION, message)
}

fn describe<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    target: Target,
) -> Result<(), ClientError> {
    let (prepared, formats) = match &target {
        Target::Statement(name) => (state.statements.get(text(name)?)?, None),
        Target::Portal(name) => {
            let portal = state.portals.get(text(name)?)?;
            (Arc::clone(&portal.prepared), Some(&portal.formats))
        }
    };
    let Description { parameters, fields } = &prepared.description;
    if fields.is_some() {
        state.transaction.admit(&Control::None)?;
    }
    if formats.is_none() {
        writer.parameters(parameters)?;
    }
    match (fields, formats) {
        (None, _) => writer.bare(Bare::NoData),
        (Some(fields), None) => writer.fields(fields)?,
        (Some(fields), Some(formats)) => writer.fields(&formatted(fields, formats))?,
    }
    Ok(())
}

fn formatted(fields: &[Field], formats: &[i16]) -> Vec<Field> {
    fields.iter().zip(formats).map(|(field, format)| Field { format: *format, ..field.clone() }).collect()
}

async fn execute<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    name: &str,
    limit: Option<u64>,
) -> Result<(), Stop> {
    let portal = state.portals.get(name)?;
    if matches!(portal.progress, Progress::Empty) {
        writer.empty();
        return Ok(());
    }
    state.transaction.admit(&portal.prepared.control)?;
    if let Progress::Rest(rest) = &mut portal.progress {
        return go_on(rest, writer, limit).await;
    }
    // Whatever becomes of it, it cannot run (and charge) a second time.
    match std::mem::replace(&mut portal.progress, Progress::Spent) {
        Progress::Control => {
            let control = portal.prepared.control.clone();
            if let Some(step) = state.control(control, Some(name))? {
                writer.step(&step);
            }
            Ok(())
        }
        Progress::Bound(bound) => {
            let (prepared, formats) = (Arc::clone(&portal.prepared), portal.formats.clone());
            let mut notices = Vec::new();
            let outcome = state.session.execute(bound, &mut notices).await;
            notices.iter().for_each(|notice| writer.notice(notice));
            let outcome = outcome?;
            as_described(&outcome, prepared.description.fields.as_deref(), &formats)?;
            match outcome {
                Outcome::Empty => writer.empty(),
                Outcome::Complete(tag) => writer.complete(&tag),
                Outcome::Rows { fields, rows, verb, count } => {
                    let rows = Rows::new(rows, fields.len());
                    let rest =
                        begin(rows, Rest::new(verb, count), writer, limit, state.portals.room()).await?;
                    state.portals.get(name)?.progress = Progress::Rest(rest);
                }
            }
            Ok(())
        }
        _ => {
            let message = format!("portal \"{name}\" cannot be run");
            Err(ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                .hint("Bind the statement again.")
                .into())
        }
    }
}

/// Clients read the rows by what Describe said: another outcome would be misread, and is a defect of ours.
fn as_described(outcome: &Outcome, described: Option<&[Field]>, formats: &[i16]) -> Result<(), ClientError> {
    let same = match (outcome, described) {
        (Outcome::Rows { fields, .. }, Some(described)) => {
            let found = fields.iter().map(|f| (f.type_oid, f.format));
            found.eq(described.iter().map(|f| f.type_oid).zip(formats.iter().copied()))
        }
        (Outcome::Complete(_) | Outcome::Empty, None) => true,
        _ => false,
    };
    if same {
        return Ok(());
    }
    let cause = match outcome {
        Outcome::Rows { fields, .. } => format!("columns {fields:?}, but described were {described:?}"),
        _ => format!("no columns, but described were {described:?}"),
    };
    Err(ClientError::incident(SqlState::INTERNAL, "internal error", &cause))
}

/// Sends the rows, and what ends them. What a row limit leaves is read to its end all the same, because a portal
/// may wait for long and the backend's connection must not.
async fn begin<W: AsyncWrite + Unpin>(
    mut rows: Rows,
    mut rest: Rest,
    writer: &mut Writer<W>,
    limit: Option<u64>,
    room: usize,
) -> Result<Rest, Stop> {
    let mut sent = 0;
    while limit != Some(sent) {
        let Some(row) = rows.next().await else {
            writer.complete(&tag(rest.verb, rest.count, sent));
            return Ok(rest);
        };
        writer.row(&row?).await?;
        sent += 1;
    }
    while let Some(row) = rows.next().await {
        rest.push(&row?, room)?;
    }
    writer.bare(Bare::PortalSuspended);
    Ok(rest)
}

/// Sends more rows of a portal that was executed before. As PostgreSQL: exactly as many rows as the limit leave
/// the portal suspended even if there are no more, and the tag counts those of this Execute.
async fn go_on<W: AsyncWrite + Unpin>(
    rest: &mut Rest,
    writer: &mut Writer<W>,
    limit: Option<u64>,
) -> Result<(), Stop> {
    let mut sent = 0;
    while limit != Some(sent) {
        let Some(row) = rest.pop() else {
            writer.complete(&tag(rest.verb, rest.count, sent));
            return Ok(());
        };
        writer.row(&row).await?;
        sent += 1;
    }
    writer.bare(Bare::PortalSuspended);
    Ok(())
}
