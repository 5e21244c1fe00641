//! Rows of a statement that has run, and where in them its cursor or portal stands.

use super::cells::pick;
use super::position::{Position, Span};
use super::rows::Rows;
use super::spool::Spool;
use answer::{ClientError, Fetch, SqlState};
use bytes::Bytes;

/// The formats of kept cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Formats of the columns, one for each.
    Formats(Vec<i16>),
    /// Every column twice, first all as text and then all as binary: FETCH chooses.
    Twice,
}

/// Rows that were answered and are asked for piece by piece.
#[derive(Debug)]
pub(super) struct Opened {
    /// First word of the command tag.
    pub verb: &'static str,
    /// Whether the tag ends in the number of rows.
    pub count: bool,
    /// DECLARE said BINARY.
    pub binary: bool,
    kept: Kept,
    spool: Spool,
    /// Rows that were given before any was kept.
    given: u64,
    position: Position,
}

impl Opened {
    /// Reads all rows, and stands before the first.
    pub async fn read(
        mut rows: Rows,
        tag: (&'static str, bool),
        kept: Kept,
        forward_only: bool,
        spool: Spool,
    ) -> Result<Self, ClientError> {
        let spool = fill(&mut rows, spool).await?;
        let position = Position::before(spool.rows(), forward_only);
        Ok(Self { verb: tag.0, count: tag.1, binary: false, kept, spool, given: 0, position })
    }

    /// Reads the rows that are left when `given` rows went to the client; none where the end was seen.
    pub async fn rest(
        mut rows: Rows,
        tag: (&'static str, bool),
        formats: Vec<i16>,
        given: u64,
        end: bool,
        spool: Spool,
    ) -> Result<Self, ClientError> {
        let spool = if end { spool } else { fill(&mut rows, spool).await? };
        let position = Position::behind(given, given.saturating_add(spool.rows()), end);
        let kept = Kept::Formats(formats);
        Ok(Self { verb: tag.0, count: tag.1, binary: false, kept, spool, given, position })
    }

    /// Some rows of another, which an Execute with a row limit asks for piece by piece.
    pub async fn part(
        of: &mut Opened,
        span: Span,
        formats: &[i16],
        mut spool: Spool,
    ) -> Result<Self, ClientError> {
        for number in span.numbers() {
            spool.push(&of.row(number, formats).await?).await?;
        }
        spool.finish().await?;
        let position = Position::before(spool.rows(), true);
        let kept = Kept::Formats(formats.to_vec());
        Ok(Self { verb: "FETCH", count: true, binary: false, kept, spool, given: 0, position })
    }

    /// Bytes that it keeps in memory.
    pub fn memory(&self) -> usize {
        self.spool.memory()
    }

    /// Goes on by this number of rows; None is to the end.
    pub fn forward(&mut self, count: Option<u64>) -> Span {
        self.position.forward(count)
    }

    /// Whether the end was seen.
    pub fn at_end(&self) -> bool {
        self.position.at_end()
    }

    /// FETCH, MOVE: the rows, and how many the tag counts.
    pub fn fetch(&mut self, fetch: &Fetch, formats: &[i16]) -> Result<(Span, u64), ClientError> {
        match &self.kept {
            Kept::Formats(kept) if kept != formats && !fetch.moves => {
                Err(ClientError::unsupported("a portal's rows come in the formats that it was bound with").hint(
                    "DECLARE a cursor, of which FETCH gives text and binary, or bind the portal with the formats of FETCH.",
                ))
            }
            _ => self.position.fetch(fetch),
        }
    }

    /// The row of this number in these formats, which [`Self::fetch`] let through.
    pub async fn row(&mut self, number: u64, formats: &[i16]) -> Result<Bytes, ClientError> {
        let place = number.saturating_sub(self.given);
        let Some(row) = self.spool.row(place).await? else {
            return Err(ClientError::incident(
                SqlState::INTERNAL,
                "internal error",
                &"a kept row is missing",
            ));
        };
        match &self.kept {
            Kept::Formats(_) => Ok(row),
            Kept::Twice => pick(&row, formats),
        }
    }

    /// Gives up what nobody can ask for any more.
    pub fn forget(&mut self) {
        self.spool.forget_before(self.position.earliest().saturating_sub(self.given));
    }
}

async fn fill(rows: &mut Rows, mut spool: Spool) -> Result<Spool, ClientError> {
    while let Some(row) = rows.next().await {
        spool.push(&row?).await?;
    }
    spool.finish().await.map(|()| spool)
}
