//! Averages: a noisy sum over a noisy count, within the range of the values.

use super::builder::{Asked, Builder, Call, Result, too_wide};
use super::drawn::{Drawn, Released};
use super::entry::{Entry, Form};
use super::estimator::{DECIDES, Estimator, Followed, Output};
use super::grid::{Range, grid, result_type, typed};
use super::part::{Cells, Part, PartKind};
use super::sums::measured;
use crate::expr::print::number;
use crate::expr::{GridValue, Scalar, unbounded};
use crate::noise::number as noisy;
use crate::noise::number::Number;
use crate::noise::real::Real;
use crate::refusals::interval::Unfollowed;
use crate::words::short;
use bigdecimal::{BigDecimal, ToPrimitive};
use schema::SqlType;
use sql::ast::*;

const AND: &str = "within the range of x; NULL where the noisy count is below 1";

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "avg",
    hint: "avg",
    within_group: false,
    forms: &[
        Form {
            written: "avg(x)",
            from: "sum of deviations from the middle of the range, or the sum that is asked for, and count of the rows where x is not NULL",
            and: AND,
        },
        Form {
            written: "avg(DISTINCT x)",
            from: "the same of distinct values, in a release of its own",
            and: AND,
        },
    ],
    ask: |b, call| b.mean(call),
}];

/// An average: centre + sum / count within [low, high]; NULL where the noisy count is below 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Average {
    /// The sum.
    pub sum: usize,
    /// The count of the same rows.
    pub count: usize,
    /// Result type.
    pub ty: SqlType,
    /// Lower end of the values.
    pub low: BigDecimal,
    /// Upper end of the values.
    pub high: BigDecimal,
}

/// An average that no row can move from this value; NULL where the noisy count is below 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// The count of the rows.
    pub count: usize,
    /// Result type.
    pub ty: SqlType,
    /// The value.
    pub value: BigDecimal,
}

impl Average {
    /// The numerator of an error that is divided by n: |s'/n' - s/n| <= (|sum error| + |mean -
    /// centre| * |count error|) / n', with the mean within half the range; where deviations were
    /// measured, no further from the centre than those of a row that count.
    fn over_n(&self, drawn: &Drawn<'_>) -> f64 {
        let half = (&self.high - &self.low).to_f64().unwrap_or(0.0) / 2.0;
        let span = drawn.deviation(self.sum).map_or(half, |d| d.min(half));
        drawn.error95(self.sum) + span * drawn.error95(self.count)
    }
}

impl Estimator for Average {
    fn parts(&self) -> Vec<usize> {
        vec![self.sum, self.count]
    }

    fn text(&self, released: &Released<'_>) -> String {
        let (low, high, n) = (number(&self.low), number(&self.high), released.column(self.count));
        // As whoever divides the sum by the count computes it.
        let all = released.uncentred(self.sum, self.count);
        let average = format!("CASE WHEN {n} >= 1 THEN LEAST(GREATEST({all} / {n}, {low}), {high}) END");
        typed(&average, &self.ty)
    }

    fn number(&self, released: &Released<'_>) -> Number {
        let decimal = |x: &BigDecimal| x.to_f64().unwrap_or(f64::NAN);
        let n = released.part(self.count);
        let over = released.uncentred_number(self.sum, self.count);
        let average = Number::ratio(over, n, true);
        let when = format!("{} >= 1", released.column(self.count));
        let range = Some(noisy::Range { low: decimal(&self.low), high: decimal(&self.high), when });
        Number { value: Real::of(&self.text(released)), range, ..average }
    }

    fn noise(&self) -> Followed {
        Followed::of(&self.ty)
    }

    fn unforeseen(&self) -> Unfollowed {
        Unfollowed::Average
    }

    fn error95(&self, drawn: &Drawn<'_>) -> String {
        format!(
            "about 95 % within ±{} / n for n rows in the group (n above {})",
            short(self.over_n(drawn)),
            short(drawn.error95(self.count))
        )
    }

    fn sentence(&self, drawn: &Drawn<'_>, name: &str) -> String {
        format!("{name} within ±{} / n", short(self.over_n(drawn)))
    }

    fn value95(&self, drawn: &Drawn<'_>, values: &dyn Fn(usize) -> Option<i128>) -> Option<(f64, f64)> {
        let n = drawn.shown(self.count, values(self.count)?);
        if n < 1.0 {
            return None;
        }
        let (low, high) = (self.low.to_f64()?, self.high.to_f64()?);
        let of_sum = drawn.shown(self.sum, values(self.sum)?);
        let mean = (drawn.float_centre(self.sum) + of_sum / n).clamp(low.min(high), high);
        let off = (mean - drawn.float_centre(self.sum)).abs();
        let error = drawn.error95(self.sum) + off * drawn.error95(self.count);
        Some((mean, error / n))
    }

    fn cuts(&self, _: &Drawn<'_>) -> Vec<(usize, BigDecimal, BigDecimal)> {
        match self.ty.is_number() {
            true => vec![(0, self.low.clone(), self.high.clone())],
            false => Vec::new(),
        }
    }

    fn range(&self, _: Option<&Cells>) -> Option<(BigDecimal, BigDecimal)> {
        Some((self.low.clone(), self.high.clone()))
    }

    fn weights(&self, parts: &[Part]) -> Vec<(usize, f64)> {
        if parts.get(self.sum).is_some_and(|p| p.own.is_some()) {
            // Averages lie near a centre that was measured: less far than single values, and the count's error counts for as much.
            return vec![(self.sum, 2.0), (self.count, 0.5)];
        }
        Range::of_part(parts, self.sum).map_or_else(Vec::new, |r| {
            // The count's, wherever the average lies.
            vec![(self.sum, r.most / r.half), (self.count, r.most / r.half)]
        })
    }
}

impl Estimator for Constant {
    fn parts(&self) -> Vec<usize> {
        vec![self.count]
    }

    fn text(&self, released: &Released<'_>) -> String {
        let value = number(&self.value);
        typed(&format!("CASE WHEN {} >= 1 THEN {value} END", released.column(self.count)), &self.ty)
    }

    fn noise(&self) -> Followed {
        Followed::of(&self.ty)
    }

    fn error95(&self, drawn: &Drawn<'_>) -> String {
        format!("none, where there are rows (n above {})", short(drawn.error95(self.count)))
    }

    fn sentence(&self, _: &Drawn<'_>, name: &str) -> String {
        format!("{name} exact where there are rows")
    }

    fn weights(&self, _: &[Part]) -> Vec<(usize, f64)> {
        vec![(self.count, DECIDES)]
    }
}

impl Builder<'_, '_> {
    fn mean(&mut self, call: &Call<'_>) -> Result<Option<Output>> {
        let (x, value) = self.added(call)?;
        if call.is_of_distinct(&value) {
            return self.distinct(call, Asked::Mean, value, x.pos);
        }
        let (value, ..) = measured(&value, x.pos)?;
        let ty = result_type(true, value.ty());
        self.average(&value, ty, x.pos).map(Some)
    }

    /// The average of a number within bounds, as this type.
    pub(super) fn average(&mut self, value: &Scalar, ty: SqlType, pos: Pos) -> Result<Output> {
        let Some((low, high)) = value.bound().finite() else { return Err(unbounded(value, pos).into()) };
        let (low, high) = (low.clone(), high.clone());
        let grid = grid(value, &low, &high);
        let centred = GridValue::new(value.clone(), &low, &high, &grid, true).map_err(|_| too_wide())?;
        let count = self.count_part(Some(centred.arg()));
        Ok(match self.mean_part(value, &low, &high, "sum for avg")? {
            Some(sum) => Average { sum, count, ty, low, high }.into(),
            None => {
                let value = BigDecimal::from(centred.centre()) * &grid;
                Constant { count, ty, value }.into()
            }
        })
    }

    /// The sum that a mean of values within [low, high] follows from; None where no row can change it.
    pub(super) fn mean_part(
        &mut self,
        value: &Scalar,
        low: &BigDecimal,
        high: &BigDecimal,
        label: &str,
    ) -> Result<Option<usize>> {
        let grid = grid(value, low, high);
        let on_grid =
            |centred| GridValue::new(value.clone(), low, high, &grid, centred).map_err(|_| too_wide());
        let (plain, centred) = (on_grid(false)?, on_grid(true)?);
        if centred.bound() == 0 {
            return Ok(None);
        }
        // A sum that is released anyway serves the average too; else the sum is centred, which halves its bound.
        let plain = PartKind::Sum(plain);
        let have = self.parts.iter().position(|p| p.kind == plain);
        Ok(Some(have.unwrap_or_else(|| self.part(PartKind::Sum(centred), label))))
    }
}
