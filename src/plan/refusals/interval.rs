//! Refusals of intervals and accuracies: how far noise reaches is not known.

/// What an interval or an accuracy is asked of in vain.
#[derive(Clone, Debug)]
pub(crate) enum Interval {
    /// An interval of this.
    Of(Unfollowed),
    /// An interval of what private rows are compared with.
    Stage,
    /// An accuracy of this.
    Promised(Unfollowed),
    /// An accuracy of a statement without numbers.
    NoNumber,
    /// An accuracy in percent of this.
    Percent(Whole),
    /// An accuracy that costs too much.
    Dear(Box<Dear>),
}

/// An accuracy that no price, or only this one, reaches, what is reached for the most that may be paid, and an accuracy that
/// fits. Numbers are as they are shown.
#[derive(Clone, Debug)]
pub(crate) struct Dear {
    pub(crate) accuracy: String,
    pub(crate) price: Option<String>,
    pub(crate) most: String,
    pub(crate) reached: String,
    pub(crate) fits: String,
}

/// What noise cannot be followed through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfollowed {
    /// Its error is one of rank, not of value.
    ByRank,
    /// Too large a statement.
    Large,
    /// Rounding to digits with noise.
    Rounding,
    /// NULLIF by what has noise.
    NullIf,
    /// A window function.
    Window,
    /// A window over rows that are not each there once.
    WindowOfJoined,
    /// An expression without a rule.
    Computed,
    /// An aggregate without a rule.
    Aggregate,
    /// Averages.
    Average,
    /// Variances and covariances.
    Moment,
    /// One of released numbers, without a rule.
    OfReleased,
    /// One of rows that are not each there once.
    OfJoined,
    /// One of numbers that share their noise.
    OfShared,
    /// One of grouping sets.
    OfSets,
    /// One of grouping sets of several releases.
    OfUnlikeSets,
    /// A sum over released rows.
    Total,
    /// A subquery.
    Subquery,
    /// Distinct rows or a set operation.
    SetOperation,
    /// A column that is not there.
    Column,
    /// A key with noise.
    Key,
    /// A product of two numbers with noise.
    Product,
    /// A product with what is no constant.
    Factor,
    /// A ratio.
    Ratio,
    /// A quotient by what is no constant.
    Divisor,
}

/// What has no counts and sums, one by one, that an accuracy in percent is of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Whole {
    SetOperation,
    PrivateGroups,
    Chosen,
    OverResults,
    Computed,
    NoNumber,
}
