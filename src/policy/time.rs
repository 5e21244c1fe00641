//! Dates and timestamps as PostgreSQL counts them: microseconds since 2000-01-01 00:00:00.

use schema::time::{DAY, days};
use toml::value::{Datetime, Offset};

/// Microseconds at midnight of a date; None if there is no such date.
fn midnight(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    ((1..=9999).contains(&year) && (1..=length).contains(&day)).then(|| days(year, month, day) * DAY)
}

/// Microseconds of a TOML date or date-time (its offset taken off); None if it has no date, or none that exists.
pub(super) fn micros(t: &Datetime) -> Option<i64> {
    let date = t.date?;
    let start = midnight(i64::from(date.year), i64::from(date.month), i64::from(date.day))?;
    let within = t.time.map_or(0, |time| {
        let seconds =
            i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second.unwrap_or(0));
        seconds * 1_000_000 + i64::from(time.nanosecond.unwrap_or(0) / 1000)
    });
    let offset = match t.offset {
        Some(Offset::Custom { minutes }) => i64::from(minutes) * 60_000_000,
        Some(Offset::Z) | None => 0,
    };
    Some(start + within - offset)
}

/// Microseconds of a date or timestamp as PostgreSQL prints it in DateStyle ISO and TimeZone UTC (years of four
/// digits, no BC); None for anything else.
pub fn from_iso(text: &str) -> Option<i64> {
    let text = text.strip_suffix("+00").unwrap_or(text);
    text.replace(' ', "T").parse::<Datetime>().ok().filter(|t| t.offset.is_none()).and_then(|t| micros(&t))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn agrees_with_postgresql() {
        // As Python's datetime computes them.
        for (text, expected) in [
            ("2000-01-01", 0),
            ("1999-12-31", -DAY),
            ("2000-03-01", 60 * DAY),
            ("2023-01-01", 725_846_400_000_000),
            ("2025-12-31 23:59:59.999999", 820_540_799_999_999),
            ("2024-02-29 12:00:00+00", 762_523_200_000_000),
            ("1900-02-28", -3_150_662_400_000_000),
        ] {
            assert_eq!(from_iso(text), Some(expected), "{text}");
        }
        for text in ["2023-02-29", "1900-02-29", "0000-01-01", "2023-13-01", "", "infinity", "2023-01-01+02"]
        {
            assert_eq!(from_iso(text), None, "{text}");
        }
        assert_eq!(micros(&"2000-01-01T02:00:00+02:00".parse().unwrap()), Some(0));
    }
}
