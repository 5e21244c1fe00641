//! A message of the simple query protocol: its statements in order, up to the first error.

use super::call::call;
use super::cursors;
use super::prepared::Prepared;
use super::reply::Writer;
use super::rows::{Rows, tag};
use super::run::{self, no_parameters};
use super::service::Session;
use super::state::State;
use super::stop::{Stop, text};
use answer::Control;
use answer::{ClientError, Field, Outcome, SqlState, Values};
use tokio::io::AsyncWrite;

/// 42P14: no name for a prepared statement.
const INVALID_STATEMENT_NAME: SqlState = SqlState(*b"42P14");

/// Runs the message and queues everything but the error that ends it and ReadyForQuery. Dropping the future
/// cancels the statement that runs; what was queued before stays whole.
pub(super) async fn simple<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    sql: &[u8],
) -> Result<(), Stop> {
    state.statements.close("");
    let _turn = state.turn.for_text(sql.len()).await;
    let statements = state.session.parse(text(sql)?)?;
    let weights = statements.iter().map(|s| state.session.weight(s).kept);
    let _held = state.memory.hold(weights.sum()).map_err(ClientError::from)?;
    if statements.is_empty() {
        writer.empty();
    }
    state.transaction.set_implicit(statements.len() > 1);
    let count = statements.len();
    for (place, statement) in statements.into_iter().enumerate() {
        let last = place + 1 == count;
        let control = state.session.control(&statement);
        state.transaction.admit(control.as_ref())?;
        let running = state.session.weight(&statement).running;
        let _running = state.memory.hold(running).map_err(ClientError::from)?;
        // Each statement of the simple protocol would be the unnamed portal.
        state.portals.close("");
        match control {
            None => plain(&mut state.session, statement, writer).await?,
            Some(Control::Fetch(fetch)) => cursors::fetch(state, writer, &fetch).await?,
            Some(Control::Prepare { name, types }) => {
                prepare(state, statement, name, &types).await?;
                writer.complete("PREPARE");
            }
            Some(Control::Execute(name)) => {
                let text = |n| Ok(vec![0; n]);
                let (bound, promised) = call(state, writer, &name, &statement, text).await?;
                let outcome = run::start(&mut state.session, writer, bound, promised.as_deref()).await?;
                give(outcome, writer).await?;
            }
            Some(control @ (Control::Declare(_) | Control::Copy(_))) => {
                query(state, writer, statement, control).await?
            }
            Some(Control::CopyFrom(copy)) => {
                if !last {
                    return Err(ClientError::unsupported(
                        "COPY FROM STDIN must be the last statement of its message",
                    )
                    .hint("Send it in a message of its own.")
                    .into());
                }
                let description = state.session.describe(&statement, &[]).await?;
                no_parameters(&description)?;
                let bound = state.session.bind(&statement, &description, Values::default()).await?;
                state.copy_from = Some((bound, copy));
            }
            Some(control) => {
                state.settle(&control).await?;
                if let Some(step) = state.control(control, None)? {
                    writer.step(&step);
                }
            }
        }
    }
    Ok(())
}

/// A query whose rows are kept, or copied.
async fn query<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    statement: S::Statement,
    control: Control,
) -> Result<(), Stop> {
    let description = state.session.describe(&statement, &[]).await?;
    no_parameters(&description)?;
    let (results, promised) = run::wanted(Some(&control), &description, Vec::new());
    let values = Values { results, ..Values::default() };
    let bound = state.session.bind(&statement, &description, values).await?;
    match control {
        Control::Declare(cursor) => {
            let held = cursor.name.len();
            cursors::declare(state, writer, bound, promised.as_deref(), cursor, held).await
        }
        Control::Copy(copy) => {
            run::copy_out(&mut state.session, writer, bound, promised.as_deref(), copy).await
        }
        _ => Ok(()),
    }
}

async fn plain<S: Session, W: AsyncWrite + Unpin>(
    session: &mut S,
    statement: S::Statement,
    writer: &mut Writer<W>,
) -> Result<(), Stop> {
    let mut notices = Vec::new();
    let outcome = session.run(statement, &mut notices).await;
    notices.iter().for_each(|notice| writer.notice(notice));
    give(outcome?, writer).await
}

/// PREPARE.
async fn prepare<S: Session>(
    state: &mut State<S>,
    statement: S::Statement,
    name: String,
    types: &[u32],
) -> Result<(), ClientError> {
    if name.is_empty() {
        let message = "invalid statement name: must not be empty";
        return Err(ClientError::new(INVALID_STATEMENT_NAME, message));
    }
    let description = state.session.describe(&statement, types).await?;
    state.statements.admit(&name)?;
    let weight = state.session.weight(&statement);
    let fields = size_of::<Field>() * description.fields.as_ref().map_or(0, Vec::len);
    let held = state.memory.hold(name.len() + weight.kept + fields)?;
    let prepared = Prepared { statement: Some(statement), control: None, description, weight, _held: held };
    state.statements.insert(name, prepared);
    Ok(())
}

/// Sends what a statement gave, in full.
async fn give<W: AsyncWrite + Unpin>(outcome: Outcome, writer: &mut Writer<W>) -> Result<(), Stop> {
    match outcome {
        Outcome::Empty => writer.empty(),
        Outcome::Complete(tag) => writer.complete(&tag),
        Outcome::Rows { fields, rows, verb, count } => {
            writer.fields(&fields)?;
            let mut rows = Rows::new(rows, fields.len());
            let mut sent = 0;
            while let Some(row) = rows.next().await {
                writer.row(&row?).await?;
                sent += 1;
            }
            writer.complete(&tag(verb, count, sent));
        }
    }
    Ok(())
}
