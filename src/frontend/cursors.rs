//! DECLARE, FETCH and MOVE. What a cursor gives is paid for and read when it is declared; FETCH costs nothing.

use super::opened::{Kept, Opened};
use super::portal::{Life, Portal, Progress, cannot_run};
use super::position::Span;
use super::reply::Writer;
use super::rows::tag;
use super::run::{rows_of, start};
use super::service::Session;
use super::state::State;
use super::stop::Stop;
use answer::{ClientError, Cursor, Fetch, Field, SqlState};
use tokio::io::AsyncWrite;

/// Opens a cursor over a bound statement that promised these columns, once in text, or twice.
pub(super) async fn declare<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    bound: S::Portal,
    promised: Option<&[Field]>,
    cursor: Cursor,
    held: usize,
) -> Result<(), Stop> {
    if cursor.name.is_empty() {
        let message = "invalid cursor name: must not be empty";
        return Err(ClientError::new(SqlState::UNDEFINED_CURSOR, message).into());
    }
    if !cursor.hold {
        state.transaction.within("DECLARE CURSOR")?;
    }
    state.portals.admit(&cursor.name, held)?;
    let (rows, tag) = rows_of(start(&mut state.session, writer, bound, promised).await?)?;
    let (text, binary): (Vec<Field>, Vec<Field>) =
        promised.unwrap_or_default().iter().cloned().partition(|f| f.format == 0);
    let kept = if binary.is_empty() { Kept::Formats(vec![0; text.len()]) } else { Kept::Twice };
    if cursor.binary && kept != Kept::Twice && !text.is_empty() {
        return Err(ClientError::unsupported("a column has no binary form")
            .hint("Leave BINARY out, or cast the column to text.")
            .into());
    }
    let mut opened = Opened::read(rows, tag, kept, cursor.forward_only, state.portals.spool()).await?;
    opened.binary = cursor.binary;
    let life = if cursor.hold { Life::Hold } else { Life::Transaction };
    let (progress, depth) = (Progress::Open(Box::new(opened)), state.transaction.depth());
    let held = state.memory.hold(held).map_err(ClientError::from)?;
    let (control, fields) = (None, Some(text));
    let portal = Portal { control, fields, progress, held, running: 0, depth, life };
    state.portals.insert(cursor.name, portal);
    writer.complete("DECLARE CURSOR");
    Ok(())
}

/// The columns that FETCH from a cursor gives, in text, if there is such a cursor.
pub(super) fn columns<S: Session>(state: &mut State<S>, fetch: &Fetch) -> Option<Vec<Field>> {
    if fetch.moves {
        return None;
    }
    let fields = state.portals.cursor(&fetch.name).ok()?.fields.as_ref()?;
    Some(fields.iter().map(|f| Field { format: 0, ..f.clone() }).collect())
}

/// FETCH and MOVE of the simple protocol, which describes the rows by itself.
pub(super) async fn fetch<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    fetch: &Fetch,
) -> Result<(), Stop> {
    let binary = open(state, writer, fetch).await?.binary;
    let mut fields = columns(state, fetch);
    fields.iter_mut().flatten().for_each(|f| f.format = i16::from(binary));
    let formats: Vec<i16> = fields.iter().flatten().map(|f| f.format).collect();
    let (opened, span, count) = go(state, writer, fetch, &formats).await?;
    if let Some(fields) = &fields {
        writer.fields(fields)?;
    }
    give(opened, writer, fetch, &formats, span, count).await
}

/// FETCH and MOVE of the extended protocol: goes where FETCH says and sends the rows in these formats, and what ends them; or
/// with a limit keeps them apart, and returns them.
pub(super) async fn fetch_portal<S: Session, W: AsyncWrite + Unpin>(
    state: &mut State<S>,
    writer: &mut Writer<W>,
    fetch: &Fetch,
    formats: &[i16],
    limit: Option<u64>,
) -> Result<Option<Opened>, Stop> {
    let spool = state.portals.spool();
    let (opened, span, count) = go(state, writer, fetch, formats).await?;
    if limit.is_some() && !fetch.moves {
        return Ok(Some(Opened::part(opened, span, formats, spool).await?));
    }
    give(opened, writer, fetch, formats, span, count).await.map(|()| None)
}

/// Goes where FETCH says.
async fn go<'s, S: Session, W: AsyncWrite + Unpin>(
    state: &'s mut State<S>,
    writer: &mut Writer<W>,
    fetch: &Fetch,
    formats: &[i16],
) -> Result<(&'s mut Opened, Span, u64), ClientError> {
    match open(state, writer, fetch).await?.fetch(fetch, formats) {
        Ok((span, count)) => Ok((open(state, writer, fetch).await?, span, count)),
        Err(e) => {
            // As PostgreSQL: it is of no use any more.
            state.portals.cursor(&fetch.name)?.progress = Progress::Spent;
            Err(e)
        }
    }
}

async fn give<W: AsyncWrite + Unpin>(
    opened: &mut Opened,
    writer: &mut Writer<W>,
    fetch: &Fetch,
    formats: &[i16],
    span: Span,
    count: u64,
) -> Result<(), Stop> {
    for number in span.numbers().filter(|_| !fetch.moves) {
        writer.row(&opened.row(number, formats).await?).await?;
    }
    opened.forget();
    writer.complete(&tag(if fetch.moves { "MOVE" } else { "FETCH" }, true, count));
    Ok(())
}

/// The cursor's rows. A portal that the protocol bound and did not execute yet runs now, and charges.
async fn open<'s, S: Session, W: AsyncWrite + Unpin>(
    state: &'s mut State<S>,
    writer: &mut Writer<W>,
    fetch: &Fetch,
) -> Result<&'s mut Opened, ClientError> {
    let portal = state.portals.cursor(&fetch.name)?;
    if let (Progress::Bound(..), None, Some(_)) = (&portal.progress, &portal.control, &portal.fields)
        && let Progress::Bound(bound, promised) = std::mem::replace(&mut portal.progress, Progress::Spent)
    {
        let formats = portal.formats();
        let _running = state.memory.hold(portal.running).map_err(ClientError::from)?;
        let outcome = start(&mut state.session, writer, bound, promised.as_deref()).await?;
        let ((rows, tag), spool) = (rows_of(outcome)?, state.portals.spool());
        let opened = Opened::read(rows, tag, Kept::Formats(formats), true, spool).await?;
        state.portals.cursor(&fetch.name)?.progress = Progress::Open(Box::new(opened));
    }
    match &mut state.portals.cursor(&fetch.name)?.progress {
        Progress::Open(opened) => Ok(opened),
        _ => Err(cannot_run(&fetch.name)),
    }
}
