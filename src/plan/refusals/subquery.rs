//! Refusals of subqueries that look at the row around them.

use super::join::Tie;

/// What is wrong with a subquery for each private row.
#[derive(Clone, Debug)]
pub(crate) enum Subquery {
    /// No aggregate of tied rows.
    Form,
    /// Tied by more than equalities.
    Inequality,
    /// Its rows are not of the unit around it.
    Untied,
    /// Rows that are tied along the path to the unit.
    AlongPath,
    /// Rows that are tied to rows further out.
    Beyond,
    /// An aggregate of public rows.
    PublicAggregate,
    /// It may have several rows.
    Several,
    /// IN over several columns.
    Columns,
    /// IN or EXISTS over a set operation.
    SetOperation,
    /// IN (`member`) or EXISTS over rows that are not of the unit around it.
    UntiedMember { tie: Tie, member: bool },
}
