//! One message of the simple query protocol: its statements in order, up to the first error.

use super::reply::Writer;
use super::rows::{Rows, tag};
use super::service::Session;
use super::state::State;
use super::stop::{Stop, text};
use answer::Outcome;
use tokio::io::AsyncWrite;

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
    for statement in statements {
        let control = state.session.control(&statement);
        state.transaction.admit(&control)?;
        // Each statement of the simple protocol would be the unnamed portal.
        state.portals.close("");
        match state.control(control, None)? {
            Some(step) => writer.step(&step),
            None => run(&mut state.session, statement, writer).await?,
        }
    }
    Ok(())
}

async fn run<S: Session, W: AsyncWrite + Unpin>(
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
