//! Variances, covariances and regressions: counts, sums and sums of products, each deviation taken from the middle of its
//! range, and the rest after the noise.
//!
//! With deviations d in \[-h, h\] from the centre, the mean of d² lies in \[0, h²\]: its sum is centred too, which halves
//! what one row can change. From n, Σd and Σd² follow var = Σd²/n - (Σd/n)², cut to \[0, h²\]; and likewise, over rows
//! where both are there, Σdₓ·d_y with products in \[-hₓ·h_y, hₓ·h_y\].

use super::builder::{Builder, Result, refuse, too_wide};
use super::model::PartKind;
use super::output::{Moment, Output, Statistic, Variable};
use super::sums::{grid, result_type};
use crate::expr::{GridValue, Scalar, filtered, is, moments, unbounded};
use answer::{ClientError, SqlState};
use bigdecimal::{BigDecimal, Zero};
use schema::SqlType;
use sql::ast::*;

/// The statistic by a name of one argument.
fn of_one(name: &str) -> Option<Statistic> {
    let (sample, root) = match name {
        "variance" | "var_samp" => (true, false),
        "var_pop" => (false, false),
        "stddev" | "stddev_samp" => (true, true),
        "stddev_pop" => (false, true),
        _ => return None,
    };
    Some(Statistic::Variance { sample, root })
}

/// Whether a name is one of two arguments, of rows where both are there.
pub(super) fn is_of_two(name: &str) -> bool {
    name == "corr" || name.starts_with("covar_") || name.starts_with("regr_")
}

/// Whether a name is one of these at all.
pub(super) fn is_moment(name: &str) -> bool {
    of_one(name).is_some() || is_of_two(name)
}

impl Builder<'_, '_> {
    /// `variance(x)` and its like, of a value that FILTER was applied to.
    pub(super) fn spread(&mut self, name: &str, value: &Scalar, pos: Pos) -> Result<Output> {
        let Some(what) = of_one(name) else { return Err(refuse(name, pos)) };
        let ty = result_type(true, value.ty());
        let value = number(value, name, pos)?;
        let count = self.count_part(Some(&value));
        let (x, _) = self.axis(&value, true, pos)?;
        Ok(Output::Moment(Moment { what, count, x, y: None, products: None, ty }))
    }

    /// `corr(y, x)` and its like; `only` applies FILTER.
    pub(super) fn pairs(
        &mut self,
        name: &str,
        y: &Scalar,
        x: &Scalar,
        only: &dyn Fn(Scalar) -> Scalar,
        pos: Pos,
    ) -> Result<Output> {
        // A row enters where both are there.
        let (y, x) = (number(y, name, pos)?, number(x, name, pos)?);
        let beside = |v: &Scalar, other: &Scalar| match other.nullable() {
            true => only(filtered(is(other.clone(), Is::Null, true), v.clone())),
            false => only(v.clone()),
        };
        let (y, x) = (beside(&y, &x), beside(&x, &y));
        let (sample, ty) = (name.ends_with("_samp"), SqlType::Float8);
        if name == "regr_count" {
            return Ok(self.count_output(&x));
        }
        if let Some(value) = match name {
            "regr_avgx" => Some(&x),
            "regr_avgy" => Some(&y),
            _ => None,
        } {
            return self.average(value, ty, pos);
        }
        let count = self.count_part(Some(&x));
        let one =
            |x| Moment { what: Statistic::Squares, count, x, y: None, products: None, ty: SqlType::Float8 };
        let what = match name {
            "regr_sxx" => return Ok(Output::Moment(one(self.axis(&x, true, pos)?.0))),
            "regr_syy" => return Ok(Output::Moment(one(self.axis(&y, true, pos)?.0))),
            "covar_pop" | "covar_samp" => Statistic::Covariance { sample },
            "regr_sxy" => Statistic::Products,
            "corr" => Statistic::Correlation,
            "regr_r2" => Statistic::Determination,
            "regr_slope" => Statistic::Slope,
            "regr_intercept" => Statistic::Intercept,
            _ => return Err(refuse(&format!("{name} over private rows"), pos)),
        };
        use Statistic::{Correlation, Determination, Intercept, Slope};
        let of_x = matches!(what, Correlation | Determination | Slope | Intercept);
        let of_y = matches!(what, Correlation | Determination);
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
        Ok(Output::Moment(Moment { what, count, x, y: Some(y), products, ty }))
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
        Ok((on_grid.bound() > 0).then(|| self.part(PartKind::Sum(on_grid), label.into())))
    }
}

/// The argument of a statistic: a number within bounds.
fn number(x: &Scalar, name: &str, pos: Pos) -> Result<Scalar> {
    if !x.ty().is_number() {
        let ty = x.ty().sql_name().replace("pg_catalog.", "");
        let m = format!("{name} of type {ty} is not supported");
        return Err(ClientError::new(SqlState::UNDEFINED_FUNCTION, m).at(pos).into());
    }
    if x.bound().finite().is_none() {
        return Err(unbounded(x, pos).into());
    }
    Ok(moments::number(x.clone(), pos)?)
}
