//! Intervals and accuracies.

use super::unsupported;
use crate::refusals::interval::{Dear, Interval, Unfollowed, Whole};
use answer::{ClientError, SqlState};

impl Interval {
    pub(super) fn words(self) -> ClientError {
        match self {
            Self::Of(Unfollowed::ByRank) => {
                unsupported("an interval of min, max, mode, or of what is computed from a quantile,")
                    .detail("Their error is one of rank, not of value. A quantile by itself has an interval, whose ends are chosen as it is.")
                    .hint("Compute with the ends: noisegate.low(median(x)) + 1. For min and max ask near the ends: noisegate.low(percentile_cont(0.05) WITHIN GROUP (ORDER BY x)).")
            }
            Self::Of(what) => unsupported(&format!("an interval of {}", what.words()))
                .detail("How far noise reaches is known of counts, sums, averages, variances, covariances and what follows from them, of what is added, subtracted, multiplied or divided of them, and of sums and averages over released rows.")
                .hint("Ask for the interval of what it is computed from: noisegate.low(count(*)), noisegate.high(avg(x))."),
            Self::Stage => unsupported("an interval of what private rows are compared with")
                .hint("Ask for it by itself: SELECT noisegate.low(avg(x)) FROM …"),
            Self::Promised(what) => {
                let what = what.words().trim_end_matches(',');
                ClientError::unsupported(format!("noisegate.accuracy cannot be promised of {what}"))
                    .detail("How wrong it is depends on what comes out; of counts and sums, and of what constants make of them, it is known before.")
                    .hint("Ask for the counts and sums that it rests on: SELECT sum(x), count(x) …; or give the price instead: RESET noisegate.accuracy.")
            }
            Self::NoNumber => {
                ClientError::unsupported("noisegate.accuracy has no number to hold for in this statement")
                    .detail("No item of its outermost SELECT is a number with noise.")
                    .hint("RESET noisegate.accuracy, and give the price: SET noisegate.epsilon = 0.1.")
            }
            Self::Percent(what) => {
                ClientError::unsupported(format!("an accuracy in percent is not supported of {}", what.words()))
                    .detail("It is of counts and sums that are selected as they are, one by one, in all or in public groups.")
                    .hint("Ask for the counts and sums themselves: SELECT sum(x), count(x) …; or for an accuracy in their unit: SET noisegate.accuracy = 50.")
            }
            Self::Dear(dear) => {
                let Dear { accuracy, price, most, reached, fits } = *dear;
                let (message, hint) = match price {
                    Some(price) => (
                        format!("an accuracy of ±{accuracy} costs epsilon {price}, and noisegate.epsilon allows {most}"),
                        format!("SET noisegate.epsilon = {price}. Or "),
                    ),
                    None => (format!("no price reaches an accuracy of ±{accuracy}"), String::new()),
                };
                ClientError::new(SqlState::BUDGET_EXCEEDED, message)
                    .detail(format!("At epsilon {most} its numbers are {reached}. Nothing was charged."))
                    .hint(format!("{hint}SET noisegate.accuracy = {fits}, which fits."))
            }
        }
    }
}

impl Unfollowed {
    fn words(self) -> &'static str {
        match self {
            Self::ByRank => "a quantile, min, max or mode, whose error is one of rank,",
            Self::Large => "so large a statement",
            Self::Rounding => "this",
            Self::NullIf => "this NULLIF",
            Self::Window => "a window function of released numbers",
            Self::WindowOfJoined => {
                "a window function over rows that are joined, or that noise chooses or orders,"
            }
            Self::Computed => "what is computed so",
            Self::Aggregate => "this aggregate",
            Self::Average => "an average",
            Self::Moment => "a variance or a covariance",
            Self::OfReleased => "this aggregate of released numbers",
            Self::OfJoined => "an aggregate of rows that are joined, or that noise chooses,",
            Self::OfShared => "an aggregate of numbers that share their noise",
            Self::OfSets => "an aggregate of grouping sets",
            Self::OfUnlikeSets => "an aggregate of grouping sets that are released in different ways",
            Self::Total => "what is added up of released rows",
            Self::Subquery => "a subquery",
            Self::SetOperation => "a set operation, or of distinct rows,",
            Self::Column => "this column",
            Self::Key => "a group key with noise in it",
            Self::Product => "a product of released numbers",
            Self::Factor => "a product with what is no constant",
            Self::Ratio => "a ratio",
            Self::Divisor => "a quotient of what is no constant",
        }
    }
}

impl Whole {
    fn words(self) -> &'static str {
        match self {
            Self::SetOperation => "a set operation",
            Self::PrivateGroups => "private groups",
            Self::Chosen => "what is chosen by noise",
            Self::OverResults => "a query over results",
            Self::Computed => "what is computed of released numbers",
            Self::NoNumber => "a statement without numbers",
        }
    }
}
