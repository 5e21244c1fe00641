//! Estimators: how the analyst's aggregates are computed from noisy parts, and how far off they are.

use super::drawn::{Drawn, Released};
use super::part::{Cells, Part};
use crate::noise::number::Number;
use crate::noise::real::Real;
use crate::refusals::interval::Unfollowed;
use crate::words::short;
use bigdecimal::BigDecimal;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// An estimator: computes one of the analyst's aggregates from parts, which are named by their
/// places.
pub trait Estimator: Comparable + Debug + Send + Sync {
    /// The parts that it follows from; none for points, which are no numbers with noise.
    fn parts(&self) -> Vec<usize>;

    /// Text of the aggregate over released columns, in the type that PostgreSQL gives it.
    fn text(&self, released: &Released<'_>) -> String;

    /// The number that it is, with its noise.
    fn number(&self, released: &Released<'_>) -> Number {
        Number::exact(Real::of(&self.text(released)))
    }

    /// Knowledge about the noise of the aggregate.
    fn noise(&self) -> Followed {
        Followed::Lost
    }

    /// The name for an aggregate whose error cannot be foretold before its noise is drawn.
    fn unforeseen(&self) -> Unfollowed {
        Unfollowed::Aggregate
    }

    /// The parts that it is a sum of, and how many times each; None of what is not linear in its parts.
    fn linear(&self, _: &Drawn<'_>) -> Option<Vec<(usize, f64)>> {
        None
    }

    /// The 95 % error, for EXPLAIN: a number when it does not depend on the data, else a formula in
    /// n.
    fn error95(&self, drawn: &Drawn<'_>) -> String;

    /// The same in a sentence, of an aggregate that has this name.
    fn sentence(&self, drawn: &Drawn<'_>, name: &str) -> String;

    /// The value of what is not linear and its 95 % error at this value, from the noisy values of its parts.
    fn value95(&self, _: &Drawn<'_>, _: &dyn Fn(usize) -> Option<i128>) -> Option<(f64, f64)> {
        None
    }

    /// A sentence of EXPLAIN about how the aggregate of this name is put together.
    fn note(&self, _: &Drawn<'_>, _: &str) -> Option<String> {
        None
    }

    /// The ranges that arguments are cut to, by their places.
    fn cuts(&self, _: &Drawn<'_>) -> Vec<(usize, BigDecimal, BigDecimal)> {
        Vec::new()
    }

    /// Range of the values whatever the noise is, by the text alone.
    fn range(&self, _: Option<&Cells>) -> Option<(BigDecimal, BigDecimal)> {
        None
    }

    /// The released integers that it is as it stands, without PostgreSQL.
    fn straight(&self, _: &Drawn<'_>) -> Option<Straight> {
        None
    }

    /// Weights of the parts: how much the error of each matters, in units of what one row can
    /// change the part by.
    fn weights(&self, parts: &[Part]) -> Vec<(usize, f64)>;
}

/// Knowledge about the noise of an aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// There is none.
    Exact,
    /// A rule says how the noise moves.
    Known,
    /// The noise lies among rows, and not around a value.
    ByRank,
    /// Nothing.
    Lost,
}

impl Followed {
    /// Of a number of this type: of what is none, nothing is known.
    pub(super) fn of(ty: &schema::SqlType) -> Self {
        if ty.is_number() { Self::Known } else { Self::Lost }
    }
}

/// Released integers that are an answer as they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Straight {
    /// A part itself.
    Part(usize),
    /// A part within the ends of int8, and for each row of a count so much more.
    Whole {
        /// The sum.
        sum: usize,
        /// The centre of each row, and the place of the count.
        centre: Option<(i64, usize)>,
    },
}

/// A value that can be compared with others of its type.
pub trait Comparable: Any {
    /// Whether this is another of the same type, and equal.
    fn equals(&self, other: &dyn Any) -> bool;
}

impl<T: Any + PartialEq> Comparable for T {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }
}

/// One of the analyst's aggregates: the estimator of its family.
#[derive(Clone, Debug)]
pub struct Output(Arc<dyn Estimator>);

impl PartialEq for Output {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl std::ops::Deref for Output {
    type Target = dyn Estimator;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl<T: Estimator> From<T> for Output {
    fn from(estimator: T) -> Self {
        Self(Arc::new(estimator))
    }
}

impl Output {
    /// The estimator, if it is of this type.
    pub fn of<T: Estimator>(&self) -> Option<&T> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// The 95 % error of what is linear in its parts, in its own unit; None for what depends on how many rows there are.
    ///
    /// Draws are independent: their errors add up in squares, which is exact for Gaussian noise, and more than the truth for
    /// Laplace noise, whose sums have lighter tails.
    pub fn fixed95(&self, drawn: &Drawn<'_>) -> Option<f64> {
        self.linear(drawn).map(|terms| fixed(&terms, drawn))
    }

    /// The value of what is linear in its parts, in its own unit, from their noisy values.
    pub fn value(&self, drawn: &Drawn<'_>, values: impl Fn(usize) -> Option<i128>) -> Option<f64> {
        let terms = self.linear(drawn)?;
        terms
            .into_iter()
            .try_fold(0.0, |sum, (part, times)| Some(sum + times * drawn.shown(part, values(part)?)))
    }
}

fn fixed(terms: &[(usize, f64)], drawn: &Drawn<'_>) -> f64 {
    match terms {
        [(part, _)] => drawn.error95(*part),
        _ => {
            let square = |(part, times): &(usize, f64)| (times * drawn.error95(*part)).powi(2);
            terms.iter().map(square).sum::<f64>().sqrt()
        }
    }
}

/// The error of what is linear, for EXPLAIN.
pub(super) fn linear_error95(terms: &[(usize, f64)], drawn: &Drawn<'_>) -> String {
    format!("95 % within ±{}", short(fixed(terms, drawn)))
}

/// The same in a sentence.
pub(super) fn linear_sentence(terms: &[(usize, f64)], drawn: &Drawn<'_>, name: &str) -> String {
    format!("{name} within ±{}", short(fixed(terms, drawn)))
}

/// Share of the weight for a part that decides only whether there is an answer.
pub(super) const DECIDES: f64 = 0.5;
