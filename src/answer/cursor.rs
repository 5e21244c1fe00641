//! Cursors: the requests of DECLARE, FETCH and MOVE.

/// A cursor, as DECLARE describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Name, in the namespace of portals.
    pub name: String,
    /// `WITH HOLD`: it outlives its transaction.
    pub hold: bool,
    /// `NO SCROLL`: it goes forward only.
    pub forward_only: bool,
    /// `BINARY`: FETCH of the simple protocol gives binary cells.
    pub binary: bool,
}

/// Direction of FETCH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Rows onward.
    Forward,
    /// Rows back.
    Backward,
    /// To that row, counted from the end where the number is negative.
    Absolute,
    /// To the row that many rows on.
    Relative,
}

/// A FETCH or MOVE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The cursor's name.
    pub name: String,
    /// Direction of the move.
    pub direction: Direction,
    /// Number of rows; [`Fetch::ALL`] is to the end.
    pub count: i64,
    /// MOVE: it goes there, and gives no rows.
    pub moves: bool,
}

impl Fetch {
    /// `FETCH ALL`.
    pub const ALL: i64 = i64::MAX;
}
