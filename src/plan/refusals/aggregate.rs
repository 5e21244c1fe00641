//! Refusals of aggregates over private rows.

use schema::SqlType;

/// What is wrong with an aggregate.
#[derive(Clone, Debug)]
pub(crate) enum Aggregation {
    /// None of that name; these there are.
    Unlisted { name: &'static str, listed: String },
    /// It would show values of single rows, which the analyst calls `of`.
    OfValues { shows: Shows, name: &'static str, of: String },
    /// It takes other arguments.
    Arguments { name: &'static str, takes: &'static str },
    /// WITHIN GROUP, of one that has none.
    WithinGroup(&'static str),
    /// It is written with WITHIN GROUP.
    Ordered(&'static str),
    /// DISTINCT would ask for something else.
    Distinct(&'static str),
    /// Distinct values of a unit column that may be NULL.
    DistinctUnit(Units),
    /// Distinct values of a type without one form for each.
    DistinctType { name: &'static str, ty: SqlType, counts: bool },
    /// An argument that is no condition.
    Boolean(&'static str),
    /// A type that cannot be added up.
    Sum { ty: SqlType },
    /// Sums of ages.
    Ages,
    /// Sums or averages of ages that are not read as those of their parts.
    AgesWhole,
    /// A range with more steps than there are integers.
    TooWide,
    /// A statistic of what is no number.
    Statistic { name: String, ty: SqlType },
    /// A quantile of what has no grid.
    Quantile { name: String, ty: SqlType },
    /// A quantile in too many groups.
    QuantileGroups { name: String, groups: usize },
    /// A choice among too many values, of all groups.
    Cells,
    /// More fractions than this, or none.
    Fractions { name: &'static str, most: usize },
    /// A fraction that is no constant.
    Fraction,
    /// A fraction that is none.
    FractionRange(String),
    /// A quantile without an interval.
    Interval,
    /// `mode` of values that are not public, and why.
    ModePrivate { why: String },
    /// `mode` of values that the statement does not list, with private groups. It can list so many.
    ModeUnlisted { of: String, most: u32 },
    /// Public LEFT JOIN private under an aggregate with a release of its own.
    Optional { what: &'static str, why: String },
    /// No row can change any.
    Constant,
}

/// Why values of single rows would be shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shows {
    /// The aggregate is one of them, or all.
    Values,
    /// Texts have an order, but no next one.
    Texts,
    /// DISTINCT.
    Distinct,
}

/// What counts units.
#[derive(Clone, Debug)]
pub(crate) enum Units {
    /// Their column.
    Column(String),
    /// One of several: FULL JOIN.
    Sides(Vec<String>),
    /// None that the statement names.
    Unnamed,
}
