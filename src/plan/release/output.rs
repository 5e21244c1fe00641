//! What the analyst's aggregates are computed from, after the noise.

use bigdecimal::BigDecimal;
use schema::SqlType;

/// How one of the analyst's aggregates is computed from parts.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A count, as int8.
    Count(usize),
    /// A sum: the part times its grid, as this type.
    Sum(usize, SqlType),
    /// A sum of values less a centre, and that centre for each of the same rows: with a count that is released anyway it errs
    /// less, as half the range and the middle are less in squares than the largest magnitude.
    CentredSum {
        /// The sum.
        sum: usize,
        /// The count of the same rows.
        count: usize,
        /// Result type.
        ty: SqlType,
    },
    /// An average: centre + sum / count within [low, high]; NULL where the noisy count is below 1.
    Avg {
        /// The sum.
        sum: usize,
        /// The count of the same rows.
        count: usize,
        /// Result type.
        ty: SqlType,
        /// Where the values lie.
        low: BigDecimal,
        /// Where the values lie.
        high: BigDecimal,
    },
    /// A sum or a count that no row can move from 0: it is known without the database (soundness rule 35).
    Zero(SqlType),
    /// An average that no row can move from this value; NULL where the noisy count is below 1.
    Constant {
        /// The count of the rows.
        count: usize,
        /// Result type.
        ty: SqlType,
        /// The value.
        value: BigDecimal,
    },
    /// A variance, a covariance, or what follows from them.
    Moment(Moment),
    /// Chosen points: one, or an array of several.
    Points {
        /// The choices.
        parts: Vec<usize>,
        /// An array.
        array: bool,
        /// The type of a point.
        ty: SqlType,
    },
    /// Whether a condition is true in some row, or in all.
    Truth {
        /// The count of the rows that decide: those where it is true, or for all, those where it is false.
        deciding: usize,
        /// The count of the rows where it is not NULL.
        count: usize,
        /// In all rows.
        all: bool,
    },
}

impl Output {
    /// The parts that it follows from; none for points, which are no numbers with noise.
    pub fn parts(&self) -> Vec<usize> {
        match self {
            Self::Count(part) | Self::Sum(part, _) | Self::Constant { count: part, .. } => vec![*part],
            Self::CentredSum { sum, count, .. } | Self::Avg { sum, count, .. } => vec![*sum, *count],
            Self::Moment(m) => m.parts(),
            Self::Truth { deciding, count, .. } => vec![*deciding, *count],
            Self::Zero(_) | Self::Points { .. } => Vec::new(),
        }
    }
}

/// Which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Mean square of the deviations from the mean, or n/(n-1) times it, and perhaps its root.
    Variance {
        /// n/(n-1) times.
        sample: bool,
        /// The root.
        root: bool,
    },
    /// The sum of squares of the deviations from the mean.
    Squares,
    /// Mean product of the deviations from the means.
    Covariance {
        /// n/(n-1) times.
        sample: bool,
    },
    /// The sum of these products.
    Products,
    /// Pearson's.
    Correlation,
    /// Its square.
    Determination,
    /// Slope of the line of least squares.
    Slope,
    /// Its value at 0.
    Intercept,
}

/// A statistic, and the parts that it follows from.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// Which.
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

impl Moment {
    /// All parts that it follows from.
    pub fn parts(&self) -> Vec<usize> {
        let axes = std::iter::once(&self.x).chain(&self.y);
        let sums = axes.flat_map(|a| [a.sum, a.squares]).flatten();
        std::iter::once(self.count).chain(sums).chain(self.products).collect()
    }
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The sum of its values, or of their deviations; None where no row can change it.
    pub sum: Option<usize>,
    /// The sum of squares of its deviations, where it is needed and can change.
    pub squares: Option<usize>,
    /// What deviations are taken from.
    pub centre: BigDecimal,
    /// How large a deviation can be.
    pub half: BigDecimal,
}
