//! The hash chain: each row's hash covers the one before, its number and its body.

use crate::error::LedgerError;
pub use crate::faults::Broken;
use sha2::{Digest, Sha256};

/// Hash before the first row.
pub const GENESIS: [u8; 32] = *b"noisegate: before the first row.";

/// A row. `hash` = SHA-256(hash of the row before ‖ `id` as 8 bytes, big-endian ‖ `body`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// 1, 2, 3, … without a gap.
    pub id: i64,
    /// JSON, as it was written.
    pub body: String,
    /// Of this row, and so of all up to it.
    pub hash: [u8; 32],
}

/// The end of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The last row's; 0 where there is none.
    pub id: i64,
    /// The last row's, or [`GENESIS`].
    pub hash: [u8; 32],
}

impl Tip {
    /// Of a chain without rows.
    pub const START: Self = Self { id: 0, hash: GENESIS };

    /// The row with this body that comes next.
    pub fn next(&self, body: String) -> Row {
        let id = self.id.saturating_add(1);
        let hash = hash(&self.hash, id, &body);
        Row { id, body, hash }
    }

    /// The end of the chain with this row.
    pub(super) fn of(row: &Row) -> Self {
        Self { id: row.id, hash: row.hash }
    }

    /// Moves on to a row that was read, if it comes next.
    pub(super) fn follow(&mut self, row: &Row) -> Result<(), Broken> {
        let expected = self.id.saturating_add(1);
        if row.id != expected {
            return Err(Broken::Missing { expected, found: row.id });
        }
        if row.hash != hash(&self.hash, row.id, &row.body) {
            return Err(Broken::Changed(row.id));
        }
        *self = Self::of(row);
        Ok(())
    }

    /// Checks that rows end at the head's row.
    pub(super) fn ends_at(&self, head: &Self) -> Result<(), Broken> {
        match () {
            () if self == head => Ok(()),
            () if self.id < head.id => Err(Broken::Short { last: self.id, head: head.id }),
            () => Err(Broken::Head { head: head.id }),
        }
    }
}

/// A chain that is read from its start: it holds what was seen before.
pub(super) struct Walk {
    tip: Tip,
    seen: Tip,
}

impl Walk {
    pub(super) fn new(seen: Tip) -> Self {
        Self { tip: Tip::START, seen }
    }

    /// The last row that was read.
    pub(super) fn last(&self) -> i64 {
        self.tip.id
    }

    /// Moves on to a row that was read.
    pub(super) fn follow(&mut self, row: &Row) -> Result<(), Gap> {
        self.tip.follow(row).map_err(Gap::Broken)?;
        if self.tip.id == self.seen.id && self.tip != self.seen { Err(Gap::Behind) } else { Ok(()) }
    }

    /// All rows were read, and this is the head.
    pub(super) fn end(self, head: &Tip) -> Result<Tip, Gap> {
        self.tip.ends_at(head).map_err(Gap::Broken)?;
        if self.tip.id < self.seen.id { Err(Gap::Behind) } else { Ok(self.tip) }
    }
}

/// Rows that were read at the start of a batch.
pub(super) struct Read {
    /// The row after which was read; 0 for all.
    pub(super) from: i64,
    /// The hash that stands in that row.
    pub(super) hash: Option<[u8; 32]>,
    /// The head.
    pub(super) head: Tip,
    /// All rows after `from`.
    pub(super) rows: Vec<Row>,
}

/// Why a log cannot go on from where this process is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Rows that this process has seen are not there.
    Behind,
    /// The chain is not one.
    Broken(Broken),
}

impl Gap {
    /// In words: `seen` is the last row that this process knows, `found` the last one that there is.
    pub(super) fn error(self, place: String, seen: i64, found: i64) -> LedgerError {
        match self {
            Self::Behind => LedgerError::Behind { place, seen, found },
            Self::Broken(broken) => LedgerError::Broken { place, broken },
        }
    }
}

impl Read {
    /// Proves that what this process has `seen` is there still, and that the rows after it are its continuation up to
    /// the head. Gives those after row `after`.
    pub(super) fn prove(self, seen: Tip, after: i64) -> Result<Vec<Row>, Gap> {
        let mut tip = match (self.from, self.hash) {
            (..=0, _) => Tip::START,
            (id, Some(hash)) => Tip { id, hash },
            (_, None) => return Err(Gap::Behind),
        };
        let still = |tip: &Tip| if tip.id == seen.id && *tip != seen { Err(Gap::Behind) } else { Ok(()) };
        still(&tip)?;
        for row in &self.rows {
            tip.follow(row).map_err(Gap::Broken)?;
            still(&tip)?;
        }
        if tip.id < seen.id.max(after) {
            return Err(Gap::Behind);
        }
        tip.ends_at(&self.head).map_err(Gap::Broken)?;
        let mut rows = self.rows;
        rows.retain(|row| row.id > after);
        Ok(rows)
    }
}

fn hash(before: &[u8; 32], id: i64, body: &str) -> [u8; 32] {
    Sha256::new().chain_update(before).chain_update(id.to_be_bytes()).chain_update(body).finalize().into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn chain(bodies: &[&str]) -> Vec<Row> {
        let mut tip = Tip::START;
        let next = |body: &&str| {
            let row = tip.next((*body).to_owned());
            tip = Tip::of(&row);
            row
        };
        bodies.iter().map(next).collect()
    }

    fn verify(rows: &[Row]) -> Result<Tip, Broken> {
        let mut tip = Tip::START;
        rows.iter().try_for_each(|row| tip.follow(row)).map(|()| tip)
    }

    /// By `printf '%s' …`, `xxd` and `sha256sum`, so that an owner can do it too.
    #[test]
    fn the_hash_is_that_of_the_document() {
        let row = Tip::START.next("{}".into());
        let by_hand: Vec<u8> = [&GENESIS[..], &[0, 0, 0, 0, 0, 0, 0, 1], b"{}"].concat();
        assert_eq!(row.hash, <[u8; 32]>::from(Sha256::digest(by_hand)));
    }

    #[test]
    fn whatever_is_changed_is_found_where_it_is() {
        let rows = chain(&["a", "b", "c", "d"]);
        let tip = verify(&rows).unwrap();
        assert_eq!(tip, Tip::of(&rows[3]));
        let changed = |change: fn(&mut Vec<Row>)| {
            let mut rows = rows.clone();
            change(&mut rows);
            verify(&rows).and_then(|end| end.ends_at(&tip)).unwrap_err()
        };
        assert_eq!(changed(|r| r[1].body = "B".into()), Broken::Changed(2));
        assert_eq!(changed(|r| r[1].hash[0] ^= 1), Broken::Changed(2));
        assert_eq!(changed(|r| drop(r.remove(1))), Broken::Missing { expected: 2, found: 3 });
        assert_eq!(changed(|r| drop(r.pop())), Broken::Short { last: 3, head: 4 });
        assert_eq!(changed(|r| r.swap(1, 2)), Broken::Missing { expected: 2, found: 3 });
        assert_eq!(
            changed(|r| {
                r.swap(1, 2);
                (r[1].id, r[2].id) = (2, 3);
            }),
            Broken::Changed(2)
        );
        assert_eq!(changed(|r| r.push(Tip::of(&r[3]).next("e".into()))), Broken::Head { head: 4 });
    }

    #[test]
    fn a_batch_starts_from_what_was_seen_or_not_at_all() {
        let rows = chain(&["a", "b", "c", "d"]);
        let tips: Vec<Tip> = std::iter::once(Tip::START).chain(rows.iter().map(Tip::of)).collect();
        let read = |from: usize| Read {
            from: from as i64,
            hash: (from > 0).then(|| tips[from].hash),
            head: tips[4],
            rows: rows[from..].to_vec(),
        };
        // Whatever the caller knows and this process has seen.
        for (seen, tip) in tips.iter().enumerate() {
            for after in 0..=4 {
                let found = read(seen.min(after)).prove(*tip, after as i64).unwrap();
                assert_eq!(found, rows[after..]);
            }
        }
        // An older copy; another history of the same length; a longer one.
        let others = chain(&["a", "b", "C", "d", "e"]);
        let other = |from: usize, n: usize| Read {
            from: from as i64,
            hash: (from > 0 && from <= n).then(|| Tip::of(&others[from - 1]).hash),
            head: Tip::of(&others[n - 1]),
            rows: others[from.min(n)..n].to_vec(),
        };
        for n in [1, 2, 3, 4, 5] {
            assert_eq!(other(4, n).prove(tips[4], 4), Err(Gap::Behind), "{n}");
            assert_eq!(other(1, n).prove(tips[4], 1), Err(Gap::Behind), "{n}");
        }
        assert_eq!(other(2, 5).prove(tips[2], 2).unwrap(), others[2..], "that part is common");
        let mut short = read(2);
        short.rows.pop();
        assert_eq!(short.prove(tips[2], 2), Err(Gap::Broken(Broken::Short { last: 3, head: 4 })));
    }
}
