//! Running a bound statement, and what becomes of its rows.

use super::copy::Encoder;
use super::reply::{Bare, Writer};
use super::rows::{Rows, tag};
use super::service::Session;
use super::stop::Stop;
use answer::Control;
use answer::{ClientError, Copy, Description, Field, Outcome, SqlState};
use tokio::io::AsyncWrite;

/// 42P02: a parameter that nothing brings a value for.
const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");
/// Types whose values have no binary form: `aclitem` and `gtsvector`, and their arrays.
const TEXT_ONLY: [u32; 4] = [1033, 1034, 3642, 3644];
/// PostgreSQL gives no more columns than these; rows for cursors have each twice.
const MAX_COLUMNS: usize = 1_600;

/// The formats that a statement is bound with, and the columns that it must give then, for one whose rows the frontend
/// keeps or copies. `results` are those of the client, for others.
pub(super) fn wanted(
    control: Option<&Control>,
    description: &Description,
    results: Vec<i16>,
) -> (Vec<i16>, Option<Vec<Field>>) {
    let Some(fields) = &description.fields else { return (results, None) };
    let formats = match control {
        Some(Control::Copy(copy)) => vec![i16::from(matches!(copy, Copy::Binary)); fields.len()],
        Some(Control::Declare(_)) => {
            let text_only = fields.iter().any(|f| TEXT_ONLY.contains(&f.type_oid));
            let both = !text_only && fields.len() * 2 <= MAX_COLUMNS;
            let binary = if both { fields.len() } else { 0 };
            [vec![0; fields.len()], vec![1; binary]].concat()
        }
        _ => results,
    };
    let promised = fields.iter().cycle().zip(&formats);
    let promised = promised.map(|(field, format)| Field { format: *format, ..field.clone() }).collect();
    (formats, Some(promised))
}

/// Executes a bound statement, which charges. Its notices go out; what it gives is what was promised.
pub(super) async fn start<S: Session, W: AsyncWrite + Unpin>(
    session: &mut S,
    writer: &mut Writer<W>,
    bound: S::Portal,
    promised: Option<&[Field]>,
) -> Result<Outcome, ClientError> {
    let mut notices = Vec::new();
    let outcome = session.execute(bound, &mut notices).await;
    notices.iter().for_each(|notice| writer.notice(notice));
    let outcome = outcome?;
    as_promised(&outcome, promised)?;
    Ok(outcome)
}

/// Clients read the rows by what Describe said: another outcome would be misread, and is a defect of ours.
fn as_promised(outcome: &Outcome, promised: Option<&[Field]>) -> Result<(), ClientError> {
    let shape = |f: &Field| (f.type_oid, f.format);
    let same = match (outcome, promised) {
        (Outcome::Rows { fields, .. }, Some(promised)) => {
            fields.iter().map(shape).eq(promised.iter().map(shape))
        }
        (Outcome::Complete(_) | Outcome::Empty, None) => true,
        _ => false,
    };
    if same {
        return Ok(());
    }
    let cause = match outcome {
        Outcome::Rows { fields, .. } => format!("columns {fields:?}, but described were {promised:?}"),
        _ => format!("no columns, but described were {promised:?}"),
    };
    Err(ClientError::incident(SqlState::INTERNAL, "internal error", &cause))
}

/// The rows of a statement that promised some.
pub(super) fn rows_of(outcome: Outcome) -> Result<(Rows, (&'static str, bool)), ClientError> {
    match outcome {
        Outcome::Rows { fields, rows, verb, count } => Ok((Rows::new(rows, fields.len()), (verb, count))),
        _ => Err(ClientError::incident(SqlState::INTERNAL, "internal error", &"a query gave no rows")),
    }
}

/// COPY: runs the statement, and sends its rows in the format of `copy`. What is wrong with its options is said before
/// anything is paid for.
pub(super) async fn copy_out<S: Session, W: AsyncWrite + Unpin>(
    session: &mut S,
    writer: &mut Writer<W>,
    bound: S::Portal,
    promised: Option<&[Field]>,
    copy: Copy,
) -> Result<(), Stop> {
    let fields = promised.unwrap_or_default();
    let mut encoder = Encoder::new(copy, fields)?;
    let (mut rows, _) = rows_of(start(session, writer, bound, promised).await?)?;
    writer.copy_out(fields.len(), encoder.format())?;
    if let Some(head) = encoder.head() {
        writer.copy_data(&head).await?;
    }
    let mut sent = 0;
    while let Some(row) = rows.next().await {
        writer.copy_data(&encoder.row(&row?)?).await?;
        sent += 1;
    }
    if let Some(tail) = encoder.tail() {
        writer.copy_data(&tail).await?;
    }
    writer.bare(Bare::CopyDone);
    writer.complete(&tag("COPY", true, sent));
    Ok(())
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
