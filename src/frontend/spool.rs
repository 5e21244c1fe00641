//! Rows that wait to be asked for, any of them at any time: in memory up to a limit, then in the session's
//! [`Scratch`](super::scratch::Scratch).

use super::budget::{Account, Held};
use super::scratch::{Part, Scratch};
use answer::{ClientError, SqlState};
use bytes::{Bytes, BytesMut};

/// Rows are moved in blocks of about so many bytes.
const BLOCK: usize = 64 * 1024;
/// What keeping a row takes beside its bytes: its length.
const OVERHEAD: usize = size_of::<u32>();
/// What keeping a block takes beside its bytes.
const BLOCK_OVERHEAD: usize = size_of::<Block>();

/// Rows in the order in which they came.
#[derive(Debug)]
pub(super) struct Spool {
    /// Bytes that may be kept in memory, as far as the account lasts.
    room: usize,
    account: Account,
    scratch: Scratch,
    blocks: Vec<Block>,
    /// The block that is being filled.
    filling: BytesMut,
    rows: u64,
    /// Bytes in memory.
    memory: usize,
    reading: Option<Reading>,
}

#[derive(Debug)]
struct Block {
    /// Number of its first row.
    first: u64,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory {
        bytes: Bytes,
        _held: Held,
    },
    Disk(Part),
    /// Given, and not to be asked for again.
    Gone,
}

/// The block that is being read.
#[derive(Debug)]
struct Reading {
    block: usize,
    first: u64,
    rows: Vec<Bytes>,
}

impl Spool {
    /// An empty spool, with room for `room` bytes in memory.
    pub fn new(room: usize, account: Account, scratch: Scratch) -> Self {
        let (blocks, filling) = (Vec::new(), BytesMut::new());
        Self { room, account, scratch, blocks, filling, rows: 0, memory: 0, reading: None }
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes that it keeps in memory.
    pub fn memory(&self) -> usize {
        self.memory + self.filling.len()
    }

    /// Keeps a row. A copy, because the row may be a small part of a large buffer.
    pub async fn push(&mut self, row: &[u8]) -> Result<(), ClientError> {
        let length = u32::try_from(row.len()).map_err(|_| too_much())?;
        if self.filling.is_empty() {
            self.blocks.push(Block { first: self.rows, place: Place::Gone });
            self.memory += BLOCK_OVERHEAD;
        }
        self.filling.reserve(OVERHEAD + row.len());
        self.filling.extend_from_slice(&length.to_be_bytes());
        self.filling.extend_from_slice(row);
        self.rows += 1;
        if self.filling.len() >= BLOCK { self.finish().await } else { Ok(()) }
    }

    /// Ends the block that is being filled: no rows can be read that are still in it.
    pub async fn finish(&mut self) -> Result<(), ClientError> {
        let block = std::mem::take(&mut self.filling).freeze();
        if block.is_empty() {
            return Ok(());
        }
        let fits = self.memory.saturating_add(block.len()) <= self.room;
        let place = match self.account.hold(block.len()) {
            Ok(held) if fits => {
                self.memory += block.len();
                // Without the room that the buffer had left over.
                Place::Memory { bytes: Bytes::copy_from_slice(&block), _held: held }
            }
            _ => Place::Disk(self.scratch.write(block).await?.ok_or_else(too_much)?),
        };
        if let Some(last) = self.blocks.last_mut() {
            last.place = place;
        }
        Ok(())
    }

    /// The row of this number; None beyond the last.
    pub async fn row(&mut self, number: u64) -> Result<Option<Bytes>, ClientError> {
        let block = self.blocks.partition_point(|b| b.first <= number).checked_sub(1);
        let Some(block) = block.filter(|_| number < self.rows) else { return Ok(None) };
        if self.reading.as_ref().is_none_or(|r| r.block != block) {
            self.reading = Some(self.read(block).await?);
        }
        let row = self.reading.as_ref().and_then(|reading| {
            let place = usize::try_from(number.checked_sub(reading.first)?).ok()?;
            reading.rows.get(place).cloned()
        });
        row.map(Some).ok_or_else(|| defect("a row is not in its block"))
    }

    async fn read(&self, number: usize) -> Result<Reading, ClientError> {
        let block = self.blocks.get(number).ok_or_else(|| defect("no such block"))?;
        let mut rest = match &block.place {
            Place::Memory { bytes, .. } => bytes.clone(),
            Place::Disk(part) => part.read().await?,
            Place::Gone => return Err(defect("a block that is gone was asked for")),
        };
        let mut rows = Vec::new();
        while let Some(length) = rest.split_to_checked(OVERHEAD) {
            let length = <[u8; OVERHEAD]>::try_from(&*length).map(u32::from_be_bytes).unwrap_or_default();
            let row = rest.split_to_checked(usize::try_from(length).unwrap_or(usize::MAX));
            rows.push(row.ok_or_else(|| defect("a block ends within a row"))?);
        }
        Ok(Reading { block: number, first: block.first, rows })
    }

    /// Gives back the memory of blocks that end before this row, which nobody will ask for.
    pub fn forget_before(&mut self, number: u64) {
        let begun = self.blocks.partition_point(|b| b.first <= number);
        let upto = if number >= self.rows { begun } else { begun.saturating_sub(1) };
        if self.reading.as_ref().is_some_and(|r| r.block < upto) {
            self.reading = None;
        }
        for block in self.blocks.iter_mut().take(upto).rev() {
            match &block.place {
                Place::Memory { bytes, .. } => self.memory = self.memory.saturating_sub(bytes.len()),
                Place::Disk(_) => {}
                Place::Gone => break,
            }
            block.place = Place::Gone;
        }
    }
}

/// `split_to` that gives None where it would panic.
trait SplitChecked: Sized {
    fn split_to_checked(&mut self, at: usize) -> Option<Self>;
}

impl SplitChecked for Bytes {
    fn split_to_checked(&mut self, at: usize) -> Option<Self> {
        (at <= self.len()).then(|| self.split_to(at))
    }
}

fn too_much() -> ClientError {
    ClientError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "the rows are too many to be kept").hint(
        "Execute without a row limit (in JDBC: setFetchSize(0)), ask for fewer rows, end other cursors and portals by \
         a Close message or CLOSE, or ask the operator to raise limits.max_portal_bytes or limits.max_spool_bytes.",
    )
}

fn defect(cause: &str) -> ClientError {
    ClientError::incident(SqlState::INTERNAL, "internal error", &cause)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::budget::testing::accounts;

    async fn filled(memory: usize, disk: u64, rows: u64) -> Result<Spool, ClientError> {
        let accounts = accounts(memory as u64, disk);
        let mut spool = Spool::new(memory, accounts.memory, Scratch::new(accounts.disk));
        for i in 0..rows {
            spool.push(format!("{i:01000}").as_bytes()).await?;
        }
        spool.finish().await.map(|()| spool)
    }

    async fn number(spool: &mut Spool, row: u64) -> Option<u64> {
        let row = spool.row(row).await.unwrap()?;
        Some(std::str::from_utf8(&row).unwrap().parse().unwrap())
    }

    #[tokio::test]
    async fn rows_come_back_from_memory_and_from_disk() {
        let mut spool = filled(200_000, 1 << 20, 1_000).await.unwrap();
        assert!((100_000..=200_000).contains(&spool.memory()), "{}", spool.memory());
        for row in (0..1_000).chain([5, 999, 0, 64, 500, 499]) {
            assert_eq!(number(&mut spool, row).await, Some(row));
        }
        assert_eq!(number(&mut spool, 1_000).await, None);
        let mut none = filled(200_000, 0, 0).await.unwrap();
        assert_eq!((none.rows(), number(&mut none, 0).await), (0, None));
    }

    #[tokio::test]
    async fn what_is_too_much_is_refused() {
        let full = filled(200_000, 300_000, 1_000).await.unwrap_err();
        assert_eq!(full.code.as_str(), "54000");
        assert!(full.hint.unwrap().contains("limits.max_spool_bytes"));
        assert!(filled(0, 0, 0).await.is_ok() && filled(0, 0, 1).await.is_err());
    }

    #[tokio::test]
    async fn what_was_given_is_given_up() {
        let mut spool = filled(1 << 20, 0, 500).await.unwrap();
        let before = spool.memory();
        spool.forget_before(250);
        assert!(spool.memory() < before * 2 / 3);
        assert_eq!(number(&mut spool, 250).await, Some(250));
        assert!(spool.row(0).await.is_err());
    }
}
