//! Statistics of one or two variables, and the parts that each follows from.

use super::statistic::Statistic;
use bigdecimal::BigDecimal;
use schema::SqlType;

/// A statistic, and the parts that it follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// The statistic.
    pub what: Statistic,
    /// The count of the rows that enter.
    pub count: usize,
    /// The only variable, or that on which the other depends.
    pub x: Variable,
    /// The one that depends.
    pub y: Option<Variable>,
    /// The sum of products of their deviations, where it is needed and can change.
    pub products: Option<usize>,
    /// Result type.
    pub ty: SqlType,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The sum of its values, or of their deviations; None where no row can change it.
    pub sum: Option<usize>,
    /// The sum of squares of its deviations, where it is needed and can change.
    pub squares: Option<usize>,
    /// The centre that deviations are taken from.
    pub centre: BigDecimal,
    /// The largest deviation.
    pub half: BigDecimal,
}
