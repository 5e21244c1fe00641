//! The parts of variances, covariances and regressions.

use super::moment::{Moment, Variable};
use super::statistic::Statistic;
use crate::aggregates::builder::{Builder, Call, Result, too_wide};
use crate::aggregates::estimator::Output;
use crate::aggregates::grid::{grid, result_type};
use crate::aggregates::part::PartKind;
use crate::expr::{GridValue, Scalar, filtered, is, moments, unbounded};
use crate::refusals::aggregate::{Aggregation, Shows};
use bigdecimal::{BigDecimal, Zero};
use schema::SqlType;
use sql::ast::*;

/// The variables of a regression, where both are there: what depends, and what it depends on.
pub(super) struct Pair {
    pub(super) y: Scalar,
    pub(super) x: Scalar,
}

impl Builder<'_, '_> {
    /// A statistic of one variable.
    pub(super) fn spread(&mut self, call: &Call<'_>, what: Statistic) -> Result<Option<Output>> {
        let ([x], false) = (call.aggregate.args.as_slice(), call.aggregate.distinct) else {
            return self.other(call, "one argument");
        };
        let value = call.only(self.lower(x)?);
        let ty = result_type(true, value.ty());
        let value = number(&value, call.aggregate.name, x.pos)?;
        let count = self.count_part(Some(&value));
        let (x, _) = self.axis(&value, true, x.pos)?;
        Ok(Some(Moment { what, count, x, y: None, products: None, ty }.into()))
    }

    /// The variables of a statistic of two.
    pub(super) fn pair(&mut self, call: &Call<'_>) -> Result<Pair> {
        let ([y, x], false) = (call.aggregate.args.as_slice(), call.aggregate.distinct) else {
            return self.other(call, "two arguments");
        };
        let (y, x) = (self.lower(y)?, self.lower(x)?);
        let name = call.aggregate.name;
        let (y, x) = (number(&y, name, call.pos)?, number(&x, name, call.pos)?);
        // A row enters where both are there.
        let beside = |v: &Scalar, other: &Scalar| match other.nullable() {
            true => call.only(filtered(is(other.clone(), Is::Null, true), v.clone())),
            false => call.only(v.clone()),
        };
        Ok(Pair { y: beside(&y, &x), x: beside(&x, &y) })
    }

    /// Refuses DISTINCT, or another number of arguments.
    fn other<T>(&self, call: &Call<'_>, arguments: &'static str) -> Result<T> {
        match call.aggregate.distinct {
            true => Err(self.of_released(Shows::Distinct, call).into()),
            false => call.takes(arguments),
        }
    }

    /// The sum of squares of one of two variables, over the rows where `x` is there.
    pub(super) fn squares(&mut self, of: &Scalar, x: &Scalar, pos: Pos) -> Result<Option<Output>> {
        let count = self.count_part(Some(x));
        let (x, _) = self.axis(of, true, pos)?;
        let (what, ty) = (Statistic::Squares, SqlType::Float8);
        Ok(Some(Moment { what, count, x, y: None, products: None, ty }.into()))
    }

    /// A statistic of two variables.
    pub(super) fn joint(&mut self, call: &Call<'_>, what: Statistic) -> Result<Option<Output>> {
        let Pair { y, x } = self.pair(call)?;
        let (count, pos) = (self.count_part(Some(&x)), call.pos);
        let [of_x, of_y] = what.squares();
        let (x, dx) = self.axis(&x, of_x, pos)?;
        let (y, dy) = self.axis(&y, of_y, pos)?;
        let most = &x.half * &y.half;
        let products = match most.is_zero() {
            true => None,
            false => {
                let product = moments::product(dy, dx, pos)?;
                self.sum_part(&product, &-&most, &most, false, "sum of products")?
            }
        };
        Ok(Some(Moment { what, count, x, y: Some(y), products, ty: SqlType::Float8 }.into()))
    }

    /// The sums of a variable, and its deviation from the centre.
    fn axis(&mut self, value: &Scalar, squares: bool, pos: Pos) -> Result<(Variable, Scalar)> {
        let Some((low, high)) = value.bound().finite() else { return Err(unbounded(value, pos).into()) };
        let (low, high) = (low.clone(), high.clone());
        let step = grid(value, &low, &high);
        let centred = GridValue::new(value.clone(), &low, &high, &step, true).map_err(|_| too_wide())?;
        let centre = BigDecimal::from(centred.centre()) * &step;
        let (low, high) = centred.range();
        let half = (&high - &centre).abs().max((&centre - &low).abs());
        let sum = self.mean_part(value, &low, &high, "sum for a mean")?;
        let digits = (value.lattice() != Some(&step)).then(|| step.normalized().fractional_digit_count());
        let deviation = moments::deviation(value.clone(), &centre, digits, pos)?;
        let squares = match squares && !half.is_zero() {
            true => {
                let square = moments::product(deviation.clone(), deviation.clone(), pos)?;
                self.sum_part(&square, &BigDecimal::zero(), &(&half * &half), true, "sum of squares")?
            }
            false => None,
        };
        Ok((Variable { sum, squares, centre, half }, deviation))
    }

    /// A sum of values within [low, high]; None where no row can change it.
    fn sum_part(
        &mut self,
        value: &Scalar,
        low: &BigDecimal,
        high: &BigDecimal,
        centred: bool,
        label: &str,
    ) -> Result<Option<usize>> {
        let step = grid(value, low, high);
        let on_grid = GridValue::new(value.clone(), low, high, &step, centred).map_err(|_| too_wide())?;
        Ok((on_grid.bound() > 0).then(|| self.part(PartKind::Sum(on_grid), label)))
    }
}

/// The argument of a statistic: a number within bounds.
fn number(x: &Scalar, name: &str, pos: Pos) -> Result<Scalar> {
    if !x.ty().is_number() {
        return Err(Aggregation::Statistic { name: name.to_owned(), ty: x.ty().clone() }.at(pos).into());
    }
    if x.bound().finite().is_none() {
        return Err(unbounded(x, pos).into());
    }
    Ok(moments::number(x.clone(), pos)?)
}
