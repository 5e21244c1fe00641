//! Refusals of private, released and public rows that meet.

/// What is wrong where rows of several kinds stand side by side, or in each other.
#[derive(Clone, Debug)]
pub(crate) enum Meeting {
    Values,
    Type,
    /// More released rows than this.
    ReleasedRows(usize),
    Joined,
    InSubquery,
    /// A private subquery in a query over public rows.
    InPublic,
    /// IN or EXISTS over private rows. `tied`: a released result that looks at the row around it, under EXISTS.
    Members {
        tied: bool,
    },
    /// A subquery above the aggregates that looks at private rows around it.
    Around,
    Lateral,
    /// More public rows than this that are computed.
    PublicRows(usize),
    /// Several public rows where one value stands.
    Value,
}
