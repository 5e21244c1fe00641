//! Dates, times and intervals.

use super::{mismatch, unsupported};
use crate::refusals::moment::Moment;
use answer::ClientError;

impl Moment {
    pub(super) fn words(self) -> ClientError {
        let settings = |hint: &str| unsupported("a constant time that settings read").hint(hint);
        match self {
            Self::Settings => settings("Write it as '2024-01-31 08:30:00'; or with its type, as in DATE '31.1.2024', which is read as the session is set."),
            Self::ClockSettings => settings("Write it as '08:30:00'."),
            Self::IntervalSettings => settings("Write it with its type, as in INTERVAL '-1 day'."),
            Self::Constant => unsupported("a function of this constant time")
                .hint("Write it as '2024-01-31 08:30:00'."),
            Self::Length => unsupported("this constant interval").hint(
                "Write it in whole units, within a million days: interval '90 days', interval '1 day 02:30:00'.",
            ),
            Self::Field { field, fields } => unsupported(&format!("EXTRACT of {field}"))
                .hint(format!("Fields are {}.", fields.join(", "))),
            Self::AgeField(field) => unsupported(&format!("EXTRACT of {field} from an age"))
                .hint("Fields of an age are year, month, day, hour, minute and second; a - b has an epoch: extract(epoch FROM a - b)."),
            Self::IntervalField(field) => unsupported(&format!("EXTRACT of {field} from an interval")).hint(
                "Fields of a difference are epoch, day, hour, minute and second: extract(epoch FROM a - b).",
            ),
            Self::ExtractOf => mismatch("EXTRACT needs a date, a time, a timestamp or an interval"),
            Self::NoClock => mismatch("a date has no time of day"),
            Self::ClockField(fields) => mismatch("a time of day has no such field")
                .hint(format!("Fields of a time are {} and epoch.", fields.join(", "))),
            Self::TruncClock => unsupported("date_trunc to a unit of the clock in a time zone")
                .hint("Write date_trunc('hour', t AT TIME ZONE 'zone'), or SET timezone and leave the zone out."),
            Self::TruncTime => unsupported("date_trunc of a time, which is an interval,")
                .hint("Cut the timestamp: date_trunc('hour', ts)::time."),
            Self::TruncOf => mismatch("date_trunc needs a date or a timestamp"),
            Self::Unit { unit, units } => unsupported(&format!("date_trunc to {unit}"))
                .hint(format!("Units are {}.", units.join(", "))),
            Self::CharOf => {
                unsupported("to_char of anything but a date or a timestamp, over private rows,")
                    .hint("Group by the number itself, and write to_char above the aggregates.")
            }
            Self::CharFormat => unsupported("to_char with this format")
                .hint("Formats are made of YYYY, MM, DD, HH24, MI, SS, Q, IYYY, IW, Mon, Day and characters that are no letters: to_char(ts, 'YYYY-MM')."),
            Self::Format(name) => unsupported(&format!("{name} with this format over private rows"))
                .hint("Bring the text into the form of to_date(note, 'YYYY-MM-DD') or to_timestamp(note, 'YYYY-MM-DD HH24:MI:SS'): others cannot be judged without failing."),
            Self::AgeOf => mismatch("age needs dates or timestamps"),
            Self::Inconstant => unsupported("a moment plus an interval that is not a constant")
                .hint("Write the interval into the statement: ts + interval '1 day'."),
            Self::Arithmetic => unsupported("this arithmetic with dates over private rows")
                .hint("Subtract moments (a - b), or add constants: ts + interval '1 day', day + 30."),
            Self::Stored => unsupported("an interval of a column beside a difference of moments")
                .hint("Compare a difference with a constant: a - b < interval '30 days'."),
            Self::Shift => unsupported("a shift by so many days"),
            Self::Days => unsupported("a date plus a number that may be beyond a million")
                .hint("Clamp the number: day + LEAST(GREATEST(n, 0), 1000)."),
            Self::Multiple => unsupported("a moment plus an interval that may be very long")
                .hint("Clamp the number: ts + interval '1 minute' * LEAST(GREATEST(n, 0), 1000)."),
            Self::Epoch => unsupported("to_timestamp of a number that may be no time")
                .hint("Clamp it: to_timestamp(LEAST(GREATEST(n, 0), 4000000000))."),
            Self::Parts => mismatch("years, months, days, hours and minutes are integers"),
            Self::Stride => unsupported("date_bin with this stride")
                .hint("Strides are above 0, of at most 10,000 days, without months: date_bin('15 minutes', ts, TIMESTAMP '2001-01-01'); date_trunc('month', ts) has months."),
            Self::Origin => unsupported("date_bin with an origin that is not a constant")
                .hint("Write it: TIMESTAMP '2001-01-01'."),
            Self::ZoneOf => mismatch("AT TIME ZONE needs a timestamp"),
            Self::Zone => unsupported("AT TIME ZONE with this zone").hint(
                "Write a name, such as 'Europe/Berlin' or 'UTC'; rules in POSIX notation are not supported.",
            ),
            Self::Offset => {
                unsupported("AT TIME ZONE with this offset").hint("Offsets are below 16 hours.")
            }
        }
    }
}
