//! Refusals of dates, times and intervals over single rows.

/// What is wrong with a time that is computed, or with what is computed of one.
#[derive(Clone, Debug)]
pub(crate) enum Moment {
    /// A constant that sessions read differently.
    Settings,
    ClockSettings,
    IntervalSettings,
    /// A function of a constant that may be no year of four digits.
    Constant,
    /// A constant interval that is long, or of another form than those that are read.
    Length,
    /// A field that EXTRACT does not give; it gives these.
    Field {
        field: String,
        fields: Vec<&'static str>,
    },
    AgeField(String),
    IntervalField(String),
    ExtractOf,
    NoClock,
    /// A field that a time of day does not have; it has these.
    ClockField(&'static [&'static str]),
    TruncTime,
    TruncClock,
    TruncOf,
    /// A unit that `date_trunc` does not cut to; it cuts to these.
    Unit {
        unit: String,
        units: Vec<&'static str>,
    },
    CharOf,
    CharFormat,
    /// A format of `to_date`, or of another function of this name.
    Format(String),
    AgeOf,
    Inconstant,
    /// An operator between a time and another value.
    Arithmetic,
    /// An interval of a column, beside a difference.
    Stored,
    Shift,
    Days,
    Multiple,
    Epoch,
    /// A part of a calendar that is no integer.
    Parts,
    Stride,
    Origin,
    ZoneOf,
    Zone,
    Offset,
}
