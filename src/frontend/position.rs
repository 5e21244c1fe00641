//! Positions of cursors, and the moves of FETCH: PostgreSQL's `DoPortalRunFetch` and
//! `PortalRunSelect`, over rows that are all there.

use answer::{ClientError, Direction, Fetch, SqlState};

/// Position of a cursor among its rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    rows: u64,
    /// Rows that it went over, forward; the one it stands on is the last of them.
    at: u64,
    at_start: bool,
    at_end: bool,
    forward_only: bool,
}

/// Rows that follow one another, in one direction or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// The number of the first, from 0.
    first: u64,
    /// Number of rows.
    pub rows: u64,
    forward: bool,
}

impl Span {
    const NONE: Span = Span { first: 0, rows: 0, forward: true };

    /// The rows' numbers, in order.
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        let Span { first, rows, forward } = self;
        (0..rows).map(move |i| if forward { first.saturating_add(i) } else { first.saturating_sub(i) })
    }
}

/// How far; None is to the end.
type Count = Option<u64>;

impl Position {
    /// The position before the first of `rows` rows.
    pub fn before(rows: u64, forward_only: bool) -> Self {
        Self { rows, at: 0, at_start: true, at_end: false, forward_only }
    }

    /// The position behind the `given`th of `rows` rows; behind all of them when the end was seen.
    pub fn behind(given: u64, rows: u64, end: bool) -> Self {
        Self { rows, at: given, at_start: given == 0, at_end: end, forward_only: true }
    }

    /// Whether the end was seen.
    pub fn at_end(&self) -> bool {
        self.at_end
    }

    /// The first row that may be asked for again.
    pub fn earliest(&self) -> u64 {
        if self.forward_only { self.at } else { 0 }
    }

    /// Goes forward.
    pub fn forward(&mut self, count: Count) -> Span {
        if self.at_end || count == Some(0) {
            return Span::NONE;
        }
        let left = self.rows.saturating_sub(self.at);
        let rows = count.map_or(left, |n| n.min(left));
        let span = Span { first: self.at, rows, forward: true };
        if rows > 0 {
            self.at_start = false;
        }
        if count.is_none_or(|n| rows < n) {
            self.at_end = true;
        }
        self.at += rows;
        span
    }

    fn backward(&mut self, count: Count) -> Result<Span, ClientError> {
        self.may_go_back()?;
        if self.at_start || count == Some(0) {
            return Ok(Span::NONE);
        }
        // Behind the end it stands on no row.
        let on = if self.at_end { self.rows + 1 } else { self.at };
        let left = on.saturating_sub(1);
        let rows = count.map_or(left, |n| n.min(left));
        let span = Span { first: on.saturating_sub(2), rows, forward: false };
        if rows > 0 && self.at_end {
            (self.at_end, self.at) = (false, self.at + 1);
        }
        if count.is_none_or(|n| rows < n) {
            (self.at_start, self.at) = (true, 0);
        } else {
            self.at = self.at.saturating_sub(rows);
        }
        Ok(span)
    }

    fn may_go_back(&self) -> Result<(), ClientError> {
        if !self.forward_only {
            return Ok(());
        }
        Err(ClientError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
            .hint("Declare it with SCROLL option to enable backward scan."))
    }

    fn rewind(&mut self) -> Result<(), ClientError> {
        if self.at_start && !self.at_end {
            return Ok(());
        }
        self.may_go_back()?;
        *self = Self::before(self.rows, self.forward_only);
        Ok(())
    }

    /// FETCH and MOVE: the rows to give, and how many the tag counts, which differ for MOVE only.
    pub fn fetch(&mut self, fetch: &Fetch) -> Result<(Span, u64), ClientError> {
        let span = match (fetch.direction, fetch.count) {
            (Direction::Absolute, count) => self.absolute(count)?,
            (Direction::Relative, count) if count > 0 => {
                self.forward(far(count - 1));
                self.forward(Some(1))
            }
            (Direction::Relative, count) if count < 0 => {
                self.backward(far(count + 1))?;
                self.backward(Some(1))?
            }
            (Direction::Relative | Direction::Forward | Direction::Backward, 0) => return self.again(fetch),
            (Direction::Backward, count) if (count > 0) => {
                let count = far(count);
                if fetch.moves && count.is_none() {
                    // A rewind, which PostgreSQL counts so.
                    let passed = if self.at_end { self.at } else { self.at.saturating_sub(1) };
                    return self.rewind().map(|()| (Span::NONE, passed));
                }
                self.backward(count)?
            }
            (Direction::Forward, count) if count < 0 => self.backward(far(count))?,
            (_, count) => self.forward(far(count)),
        };
        Ok((span, span.rows))
    }

    /// A count of 0: the row it stands on, if any.
    fn again(&mut self, fetch: &Fetch) -> Result<(Span, u64), ClientError> {
        let on_a_row = !self.at_start && !self.at_end;
        if fetch.moves || !on_a_row {
            return Ok((Span::NONE, u64::from(on_a_row)));
        }
        self.backward(Some(1))?;
        let span = self.forward(Some(1));
        Ok((span, span.rows))
    }

    fn absolute(&mut self, count: i64) -> Result<Span, ClientError> {
        if count < 0 {
            self.forward(None);
            if count < -1 {
                self.backward(far(count + 1))?;
            }
            return self.backward(Some(1));
        }
        let Some(before) = count.unsigned_abs().checked_sub(1) else {
            return self.rewind().map(|()| Span::NONE);
        };
        // From where it stands, or from the start: which of the two decides whether NO SCROLL allows it.
        if before <= self.at / 2 {
            self.rewind()?;
            self.forward(Some(before));
        } else {
            let stands = self.at + u64::from(self.at_end);
            if before < stands {
                self.backward(Some(stands - before))?;
            } else if before > stands {
                self.forward(Some(before - stands));
            }
        }
        Ok(self.forward(Some(1)))
    }
}

/// A count without its sign.
fn far(count: i64) -> Count {
    (count != Fetch::ALL).then(|| count.unsigned_abs())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use Direction::{Absolute, Backward, Forward, Relative};

    /// The numbers of the rows, from 1, of each FETCH after the other.
    fn rows(position: &mut Position, direction: Direction, count: i64) -> Vec<u64> {
        let fetch = Fetch { name: String::new(), direction, count, moves: false };
        position.fetch(&fetch).unwrap().0.numbers().map(|n| n + 1).collect()
    }

    #[test]
    fn every_direction() {
        let p = &mut Position::before(5, false);
        assert_eq!(rows(p, Forward, 2), [1, 2]);
        assert_eq!(rows(p, Forward, 0), [2]);
        assert_eq!(rows(p, Backward, 1), [1]);
        assert_eq!(rows(p, Backward, 1), [0; 0]);
        assert_eq!(rows(p, Forward, Fetch::ALL), [1, 2, 3, 4, 5]);
        assert_eq!(rows(p, Relative, 0), [0; 0], "behind the end there is no row");
        assert_eq!(rows(p, Backward, 2), [5, 4]);
        assert_eq!(rows(p, Relative, 1), [5]);
        assert_eq!(rows(p, Relative, -3), [2]);
        assert_eq!(rows(p, Absolute, 4), [4]);
        assert_eq!(rows(p, Absolute, -1), [5]);
        assert_eq!(rows(p, Absolute, -5), [1]);
        assert_eq!(rows(p, Absolute, -6), [0; 0]);
        assert_eq!(rows(p, Absolute, 9), [0; 0]);
        assert_eq!(rows(p, Forward, -9), [5, 4, 3, 2, 1]);
        assert_eq!(rows(p, Absolute, 0), [0; 0]);
        assert_eq!(rows(p, Forward, 5), [1, 2, 3, 4, 5]);
        assert!(!p.at_end(), "the end was not seen yet");
        assert_eq!(rows(p, Backward, Fetch::ALL), [4, 3, 2, 1]);
    }

    #[test]
    fn forward_only() {
        let mut p = Position::before(5, true);
        assert_eq!(rows(&mut p, Absolute, 2), [2]);
        assert_eq!(rows(&mut p, Absolute, 4), [4]);
        for (direction, count) in [(Backward, 1), (Forward, 0), (Absolute, 1), (Absolute, -1), (Forward, -1)]
        {
            let fetch = Fetch { name: String::new(), direction, count, moves: false };
            let refused = p.clone().fetch(&fetch).unwrap_err();
            assert_eq!(refused.code.as_str(), "55000", "{direction:?} {count}");
        }
    }
}
