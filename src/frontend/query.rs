//! One message of the simple query protocol: its statements in order, up to the first error.

use super::reply::Writer;
use super::service::Session;
use super::transaction::Transaction;
use super::wire::Stop;
use crate::answer::Outcome;
use crate::error::{ClientError, SqlState};
use futures::StreamExt;
use tokio::io::AsyncWrite;

/// 22021: bytes that are no text.
const CHARACTER_NOT_IN_REPERTOIRE: SqlState = SqlState(*b"22021");

/// Runs the message and queues everything but the error that ends it and ReadyForQuery. Dropping the future
/// cancels the statement that runs; what was queued before stays whole.
pub(super) async fn simple<S: Session, W: AsyncWrite + Unpin>(
    session: &mut S,
    transaction: &mut Transaction,
    writer: &mut Writer<W>,
    text: &[u8],
) -> Result<(), Stop> {
    let sql = std::str::from_utf8(text).map_err(|_| {
        ClientError::new(CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
    })?;
    let statements = session.parse(sql)?;
    if statements.is_empty() {
        writer.empty();
    }
    for statement in statements {
        let control = session.control(&statement);
        transaction.admit(&control)?;
        match transaction.apply(control)? {
            Some(step) => {
                session.transaction(&step.effect);
                if let Some(notice) = &step.notice {
                    writer.notice(notice);
                }
                writer.complete(step.tag);
            }
            None => run(session, statement, writer).await?,
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
    for notice in &notices {
        writer.notice(notice);
    }
    match outcome? {
        Outcome::Empty => writer.empty(),
        Outcome::Complete(tag) => writer.complete(&tag),
        Outcome::Rows { fields, mut rows, verb, count } => {
            writer.fields(&fields)?;
            let mut sent = 0u64;
            while let Some(row) = rows.next().await {
                let row = row?;
                let cells = row.get(..2).and_then(|b| b.try_into().ok()).map(u16::from_be_bytes);
                if cells.map(usize::from) != Some(fields.len()) {
                    // Clients read cells by the description: a row of another shape would be misread.
                    let cause = format!("a row of {cells:?} cells under {} columns", fields.len());
                    return Err(ClientError::incident(SqlState::INTERNAL, "internal error", &cause).into());
                }
                writer.row(&row).await?;
                sent += 1;
            }
            if count { writer.complete(&format!("{verb} {sent}")) } else { writer.complete(verb) }
        }
    }
    Ok(())
}
