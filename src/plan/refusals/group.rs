//! Refusals of groups.

use schema::SqlType;

/// What is wrong with GROUP BY, or with what stands beside it.
#[derive(Clone, Debug)]
pub(crate) enum Group {
    /// A column that is no key.
    Ungrouped { table: String, column: String },
    /// `GROUPING` of what is no key.
    Grouping,
    /// The unit as a key.
    Unit(String),
    /// A key of a type without one form for each value.
    Type(SqlType),
    /// Keys that tell units apart, and the column of the unit, if it has a name.
    OneUnitEach { keys: Vec<String>, unit: Option<String> },
    /// Public LEFT JOIN private with private groups, and why they are.
    Optional { why: String },
    /// HAVING without an aggregate.
    Having,
    /// A condition by a released value, on groups of which no private row is read.
    Released,
}
