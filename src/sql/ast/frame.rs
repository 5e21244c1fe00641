//! The frame of a window.

use std::fmt;

/// `ROWS BETWEEN 2 PRECEDING AND CURRENT ROW` and its like, of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Units of the ends.
    pub units: FrameUnits,
    /// First end.
    pub start: FrameEnd,
    /// Last end; without BETWEEN it is the current row.
    pub end: Option<FrameEnd>,
}

/// Units of a frame's ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnits {
    /// ROWS
    Rows,
    /// RANGE: differences of the value that the window is ordered by.
    Range,
    /// GROUPS: rows that tie are one.
    Groups,
}

/// An end of a frame. Offsets are below 10⁹; none is UNBOUNDED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEnd {
    /// `n PRECEDING`
    Preceding(Option<u32>),
    /// `CURRENT ROW`
    Current,
    /// `n FOLLOWING`
    Following(Option<u32>),
}

impl FrameEnd {
    /// The same in the reverse order of rows.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Preceding(n) => Self::Following(n),
            Self::Current => Self::Current,
            Self::Following(n) => Self::Preceding(n),
        }
    }

    /// How far behind the current row it is; none where it is unbounded.
    fn place(self) -> Option<i64> {
        match self {
            Self::Preceding(n) => n.map(|n| -i64::from(n)),
            Self::Current => Some(0),
            Self::Following(n) => n.map(i64::from),
        }
    }
}

impl Frame {
    /// The last end.
    pub fn end(&self) -> FrameEnd {
        self.end.unwrap_or(FrameEnd::Current)
    }

    /// The same rows in the reverse order.
    #[must_use]
    pub fn mirrored(&self) -> Self {
        Self { units: self.units, start: self.end().mirrored(), end: Some(self.start.mirrored()) }
    }

    /// Number of rows, values or groups between the ends; None when one is unbounded.
    pub fn width(&self) -> Option<u64> {
        let (start, end) = (self.start.place()?, self.end().place()?);
        Some(u64::try_from(end - start + 1).unwrap_or(0))
    }
}

impl fmt::Display for FrameUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows => "ROWS",
            Self::Range => "RANGE",
            Self::Groups => "GROUPS",
        })
    }
}

impl fmt::Display for FrameEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offset, side) = match self {
            Self::Current => return f.write_str("CURRENT ROW"),
            Self::Preceding(n) => (n, "PRECEDING"),
            Self::Following(n) => (n, "FOLLOWING"),
        };
        match offset {
            Some(n) => write!(f, "{n} {side}"),
            None => write!(f, "UNBOUNDED {side}"),
        }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end {
            Some(end) => write!(f, "{} BETWEEN {} AND {end}", self.units, self.start),
            None => write!(f, "{} {}", self.units, self.start),
        }
    }
}
