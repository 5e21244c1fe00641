//! Moments of the books as text.

/// A moment as text, from microseconds since 1970.
pub fn time(micros: i64) -> String {
    // 2000-01-01 is 946,684,800 seconds after 1970-01-01.
    let text = schema::time::timestamp(micros.saturating_sub(946_684_800 * 1_000_000));
    format!("{text} UTC")
}
