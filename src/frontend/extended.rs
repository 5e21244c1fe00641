//! The messages of the extended query protocol. Each is done on its own; the batch that they form, and what an
//! error does to it, is the [session's](super::session) affair.

use super::call::call;
use super::cursors;
use super::message::{Bind, Extended, Target};
use super::opened::Opened;
use super::portal::{Life, Portal, Progress, cannot_run};
use super::prepared::Prepared;
use super::reply::{Bare, Writer};
use super::rows::{Rows, tag};
use super::run;
use super::service::Session;
use super::spool::Spool;
use super::state::State;
use super::stop::{Stop, text};
use answer::Control;
use answer::{ClientError, SqlState};
use answer::{Description, Field, Outcome, Values};
use bytes::Bytes;
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
            bind(state, writer, message).await?;
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
    let _turn = state.turn.for_text(sql.len()).await;
    let mut statements = state.session.parse(sql)?.into_iter();
    let statement = statements.next();
    if statements.next().is_some() {
        let message = "cannot insert multiple commands into a prepared statement";
        return Err(ClientError::new(SqlState::SYNTAX_ERROR, message)
            .hint("Send one statement at a time, or all of them by the simple query protocol."));
    }
    let control = statement.as_ref().and_then(|s| state.session.control(s));
    if statement.is_some() {
        state.transaction.admit(control.as_ref())?;
    }
    state.statements.admit(name)?;
    let weight = statement.as_ref().map(|s| state.session.weight(s)).unwrap_or_default();
    let mut held = state.memory.hold(name.len() + sql.len() + weight.kept)?;
    let _running = state.memory.hold(weight.running)?;
    let description = match (&statement, &control) {
        (Some(statement), None | Some(Control::Declare(_))) => {
            state.session.describe(statement, &types).await?
        }
        (Some(statement), Some(Control::Copy(_) | Control::CopyFrom(_))) => {
            let description = state.session.describe(statement, &[]).await?;
            run::no_parameters(&description)?;
            Description { parameters: known(types)?.parameters, ..description }
        }
        (Some(_), Some(Control::Prepare { .. })) => {
            return Err(ClientError::unsupported("PREPARE is for the simple query protocol here")
                .hint("A Parse message with a name prepares the statement."));
        }
        (Some(_), Some(Control::Execute(called))) => {
            // As PostgreSQL: that there is no such statement is told when it is bound.
            let called = state.statements.get(called).ok();
            let fields = called.and_then(|called| called.shown().map(<[Field]>::to_vec));
            Description { fields, ..known(types)? }
        }
        (Some(_), Some(Control::Fetch(fetch))) => {
            Description { fields: cursors::columns(state, fetch), ..known(types)? }
        }
        // As PostgreSQL: these have no parameters, but what the client declares, it must bind.
        (Some(_), _) => known(types)?,
        (None, _) => Description { parameters: types, fields: None },
    };
    if description.parameters.len() > usize::from(u16::MAX) {
        return Err(ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "there are too many parameters")
            .hint("A Bind message carries 65535 at most."));
    }
    held.grow(size_of::<Field>() * description.fields.as_ref().map_or(0, Vec::len))?;
    let prepared = Prepared { statement, control, description, weight, _held: held };
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

async fn bind<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    message: Bind,
) -> Result<(), Stop> {
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
        state.transaction.admit(None)?;
    } else {
        state.transaction.admit(prepared.control.as_ref())?;
    }
    let kept = values.iter().map(|v| v.as_ref().map_or(0, Bytes::len) + size_of::<Option<Bytes>>());
    let mut held = state.memory.hold(name.len() + kept.sum::<usize>()).map_err(ClientError::from)?;
    state.portals.admit(name, held.bytes())?;
    let mut running = prepared.weight.running;
    let turn = state.turn.for_plan(running).await;
    let planning = state.memory.hold(running).map_err(ClientError::from)?;
    // A cursor may be another one by now than it was at Parse.
    let fields = match &prepared.control {
        Some(Control::Fetch(fetch)) => cursors::columns(state, fetch),
        Some(Control::Execute(called)) => state.statements.get(called)?.description.fields.clone(),
        _ => prepared.shown().map(<[Field]>::to_vec),
    };
    let columns = fields.as_ref().map(Vec::len);
    if let Some(columns) = columns.filter(|n| message.results.len() > 1 && message.results.len() != *n) {
        let f = message.results.len();
        return Err(mismatch(format!("bind message has {f} result formats but query has {columns} columns")));
    }
    let formats = spread(&formats, wanted)?;
    let results = spread(&message.results, columns.unwrap_or(0))?;
    let fields = fields.map(|fields| formatted(&fields, &results));
    let control = prepared.control.clone();
    let progress = match (&prepared.statement, &control) {
        (None, _) => Progress::Empty,
        (Some(statement), None | Some(Control::Declare(_) | Control::Copy(_) | Control::CopyFrom(_))) => {
            let (results, promised) = run::wanted(control.as_ref(), &prepared.description, results);
            let (mut description, mut values) =
                (prepared.description.clone(), Values { parameters: values, formats, results });
            if let Some(Control::Copy(_) | Control::CopyFrom(_)) = &control {
                // It has no parameters, whatever the client declared.
                description.parameters.clear();
                (values.parameters, values.formats) = Default::default();
            }
            let bound = state.session.bind(statement, &description, values).await?;
            held.grow(state.session.portal_bytes(&bound)).map_err(ClientError::from)?;
            Progress::Bound(bound, promised)
        }
        // Its arguments are computed here, where they tell nothing yet.
        (Some(arguments), Some(Control::Execute(called))) => {
            running = state.statements.get(called)?.weight.running;
            let (bound, promised) = call(state, writer, called, arguments, |_| Ok(results)).await?;
            held.grow(state.session.portal_bytes(&bound)).map_err(ClientError::from)?;
            Progress::Bound(bound, promised)
        }
        (Some(_), _) => Progress::Control,
    };
    drop((planning, turn));
    let (depth, life) = (state.transaction.depth(), Life::Transaction);
    state.portals.insert(name.to_owned(), Portal { control, fields, progress, held, running, depth, life });
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

fn mismatch(message: String) -> Stop {
    ClientError::new(SqlState::PROTOCOL_VIOLATION, message).into()
}

fn describe<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    target: Target,
) -> Result<(), ClientError> {
    match &target {
        Target::Statement(name) => {
            let prepared = state.statements.get(text(name)?)?;
            if prepared.shown().is_some() {
                state.transaction.admit(None)?;
            }
            writer.parameters(&prepared.description.parameters)?;
            match prepared.shown() {
                None => writer.bare(Bare::NoData),
                Some(fields) => writer.fields(fields)?,
            }
        }
        Target::Portal(name) => match &state.portals.get(text(name)?)?.fields {
            None => writer.bare(Bare::NoData),
            Some(fields) => {
                state.transaction.admit(None)?;
                writer.fields(fields)?;
            }
        },
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
    state.transaction.admit(portal.control.as_ref())?;
    let formats = portal.formats();
    if let Progress::Open(rows) = &mut portal.progress {
        return go_on(rows, &formats, writer, limit).await;
    }
    let (control, held) = (portal.control.clone(), portal.held.bytes());
    let _turn = state.turn.for_plan(portal.running).await;
    let _running = state.memory.hold(portal.running).map_err(ClientError::from)?;
    // Whatever becomes of it, it cannot run (and charge) a second time.
    match (std::mem::replace(&mut portal.progress, Progress::Spent), control) {
        (Progress::Control, Some(Control::Fetch(fetch))) => {
            let rest = cursors::fetch_portal(state, writer, &fetch, &formats, limit).await?;
            if let Some(rest) = rest {
                let rows = state.portals.get(name)?;
                rows.progress = Progress::Open(Box::new(rest));
                if let Progress::Open(rows) = &mut rows.progress {
                    return go_on(rows, &formats, writer, limit).await;
                }
            }
            Ok(())
        }
        (Progress::Control, Some(control)) => {
            state.settle(&control).await?;
            if let Some(step) = state.control(control, Some(name))? {
                writer.step(&step);
            }
            Ok(())
        }
        (Progress::Bound(bound, promised), Some(Control::Declare(cursor))) => {
            cursors::declare(state, writer, bound, promised.as_deref(), cursor, held).await
        }
        (Progress::Bound(bound, promised), Some(Control::Copy(copy))) => {
            run::copy_out(&mut state.session, writer, bound, promised.as_deref(), copy).await
        }
        (Progress::Bound(bound, _), Some(Control::CopyFrom(copy))) => {
            state.copy_from = Some((bound, copy));
            Ok(())
        }
        (Progress::Bound(bound, promised), _) => {
            match run::start(&mut state.session, writer, bound, promised.as_deref()).await? {
                Outcome::Empty => writer.empty(),
                Outcome::Complete(tag) => writer.complete(&tag),
                Outcome::Rows { fields, rows, verb, count } => {
                    let (rows, spool) = (Rows::new(rows, fields.len()), state.portals.spool());
                    let rest = begin(rows, (verb, count), formats, writer, limit, spool).await?;
                    state.portals.get(name)?.progress = Progress::Open(Box::new(rest));
                }
            }
            Ok(())
        }
        _ => Err(cannot_run(name).into()),
    }
}

/// Sends the rows, and what ends them. What a row limit leaves is read to its end all the same, because a portal
/// may wait for long and the backend's connection must not.
async fn begin<W: AsyncWrite + Unpin>(
    mut rows: Rows,
    (verb, count): (&'static str, bool),
    formats: Vec<i16>,
    writer: &mut Writer<W>,
    limit: Option<u64>,
    spool: Spool,
) -> Result<Opened, Stop> {
    let mut sent = 0;
    while limit != Some(sent) {
        let Some(row) = rows.next().await else {
            writer.complete(&tag(verb, count, sent));
            return Ok(Opened::rest(rows, (verb, count), formats, sent, true, spool).await?);
        };
        writer.row(&row?).await?;
        sent += 1;
    }
    let rest = Opened::rest(rows, (verb, count), formats, sent, false, spool).await?;
    writer.bare(Bare::PortalSuspended);
    Ok(rest)
}

/// Sends more rows of a portal that was executed before. As PostgreSQL: exactly as many rows as the limit leave
/// the portal suspended even if there are no more, and the tag counts those of this Execute.
async fn go_on<W: AsyncWrite + Unpin>(
    rows: &mut Opened,
    formats: &[i16],
    writer: &mut Writer<W>,
    limit: Option<u64>,
) -> Result<(), Stop> {
    let span = rows.forward(limit);
    for number in span.numbers() {
        writer.row(&rows.row(number, formats).await?).await?;
    }
    rows.forget();
    if rows.at_end() {
        writer.complete(&tag(rows.verb, rows.count, span.rows));
    } else {
        writer.bare(Bare::PortalSuspended);
    }
    Ok(())
}
