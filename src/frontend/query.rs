//! One message of the simple query protocol: its statements in order, up to the first error.

use super::cursors;
use super::reply::Writer;
use super::rows::{Rows, tag};
use super::run;
use super::service::{Control, Session};
use super::state::State;
use super::stop::{Stop, text};
use answer::{ClientError, Description, Outcome, SqlState, Values};
use tokio::io::AsyncWrite;

/// 42P02: a parameter that nothing brings a value for.
const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");

/// Runs the message and queues everything but the error that ends it and ReadyForQuery. Dropping the future
/// cancels the statement that runs; what was queued before stays whole.
pub(super) async fn simple<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    sql: &[u8],
) -> Result<(), Stop> {
    state.statements.close("");
    let statements = state.session.parse(text(sql)?)?;
    if statements.is_empty() {
        writer.empty();
    }
    state.transaction.set_implicit(statements.len() > 1);
    for statement in statements {
        let control = state.session.control(&statement);
        state.transaction.admit(&control)?;
        // Each statement of the simple protocol would be the unnamed portal.
        state.portals.close("");
        match control {
            Control::None => plain(&mut state.session, statement, writer).await?,
            Control::Fetch(fetch) => cursors::fetch(state, writer, &fetch).await?,
            Control::Declare(_) | Control::Copy(_) => query(state, writer, statement, control).await?,
            control => {
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
    let (results, promised) = run::wanted(&control, &description, Vec::new());
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

/// Nothing brings values for them.
pub(super) fn no_parameters(description: &Description) -> Result<(), ClientError> {
    match description.parameters.is_empty() {
        true => Ok(()),
        false => {
            Err(ClientError::new(UNDEFINED_PARAMETER, "there is no parameter $1")
                .hint("Write the value itself."))
        }
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
    match outcome? {
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
