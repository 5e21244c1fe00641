//! Moments of the books.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment as text, from microseconds since 1970.
pub fn time(micros: i64) -> String {
    // 2000-01-01 is 946,684,800 seconds after 1970-01-01.
    let text = schema::time::timestamp(micros.saturating_sub(946_684_800 * 1_000_000));
    format!("{text} UTC")
}

/// Epoch of the data: how often they were declared new, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// 0 at first.
    pub number: u64,
    /// When it began, in microseconds since 1970.
    pub since: i64,
    /// The ledger's clock, now.
    pub now: i64,
}

/// Microseconds since 1970, by this machine's clock.
pub(crate) fn clock() -> i64 {
    micros(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

pub(crate) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
