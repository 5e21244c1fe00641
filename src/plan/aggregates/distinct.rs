//! Distinct values: `count(DISTINCT x)` where x is not the unit, `sum(DISTINCT x)` and
//! `avg(DISTINCT x)`.
//!
//! The fetch has a row for each unit, group and value, keeps few of each unit's, and counts values
//! in each group, or adds them up. All rows of a unit together bring and take away no more values
//! than the unit has there, whatever values others have: with n values a count changes by at most
//! n, and a sum by at most n times the largest magnitude. Where groups are private, values are
//! looked at in those that another release of the same rows selects.

use super::averages::{Average, Constant};
use super::builder::{Asked, Builder, Call, Distinct, Result, place, too_wide};
use super::counts::Count;
use super::estimator::Output;
use super::grid::{grid, result_type};
use super::part::{Part, PartKind};
use super::sums::{Sum, Zero};
use crate::expr::{GridValue, Node, Scalar, unbounded};
use crate::groups::key::has_canonical_form;
use crate::refusals::aggregate::Aggregation;
use bigdecimal::BigDecimal;
use schema::SqlType;
use sql::ast::*;

impl Distinct {
    fn part(&mut self, kind: &PartKind) -> usize {
        place(&mut self.parts, |have| have == kind, || kind.clone())
    }
}

/// The part of distinct values of which a unit has at most `values`.
pub(crate) fn part(kind: PartKind, values: u32) -> Result<Part> {
    let values = u128::from(values);
    let (each, label) = match kind.on_grid() {
        Some(s) => (s.bound(), "sum of values"),
        None => (1, "count of values"),
    };
    Ok(Part { linf: values.checked_mul(each).ok_or_else(too_wide)?, ..Part::new(kind, label) })
}

impl Builder<'_, '_> {
    /// Notes that values are to be counted or added up, but for what no row can change.
    pub(super) fn distinct(
        &mut self,
        call: &Call<'_>,
        asked: Asked,
        value: Scalar,
        pos: Pos,
    ) -> Result<Option<Output>> {
        let (a, count) = (call.aggregate, asked == Asked::Count);
        if count && matches!(value.node(), Node::Null) {
            return Ok(Some(Zero { ty: SqlType::Int8 }.into()));
        }
        if count && self.is_unit(&value, false) {
            return Err(Aggregation::DistinctUnit(self.units()).at(pos).into());
        }
        if !has_canonical_form(&value) || !count && !value.is_measured() {
            let (name, ty) = (a.name, value.ty().clone());
            return Err(Aggregation::DistinctType { name, ty, counts: count }.at(pos).into());
        }
        let of = call.only(value);
        if !count {
            return self.add_up(a, asked == Asked::Mean, of, pos);
        }
        let kind = PartKind::Values(of.clone());
        self.serve(a, of, std::slice::from_ref(&kind), pos, |d| Count { part: d.part(&kind) }.into());
        Ok(None)
    }

    /// The sum or the average of distinct values. Values outside the range are its ends, and so one value each.
    fn add_up(&mut self, a: &Aggregate, mean: bool, of: Scalar, pos: Pos) -> Result<Option<Output>> {
        let ty = result_type(mean, of.ty());
        let Some((low, high)) = of.bound().finite() else { return Err(unbounded(&of, pos).into()) };
        let (low, high) = (low.clone(), high.clone());
        let grid = grid(&of, &low, &high);
        let on_grid =
            |centred| GridValue::new(of.clone(), &low, &high, &grid, centred).map_err(|_| too_wide());
        let (plain, centred) = (on_grid(false)?, on_grid(true)?);
        let count = PartKind::Values(centred.arg().clone());
        let [sum, around] = [&plain, &centred].map(|s| PartKind::SumOfValues(s.clone()));
        if !mean {
            if plain.bound() == 0 {
                return Ok(Some(Zero { ty }.into()));
            }
            self.serve(a, of, std::slice::from_ref(&sum), pos, |d| Sum { part: d.part(&sum), ty }.into());
        } else if centred.bound() == 0 {
            let value = BigDecimal::from(centred.centre()) * &grid;
            let constant = |d: &mut Distinct| Constant { count: d.part(&count), ty, value }.into();
            self.serve(a, of, std::slice::from_ref(&count), pos, constant);
        } else {
            // A sum that is released anyway serves the average too; else it is centred, which halves its bound.
            let average = |d: &mut Distinct| {
                if d.parts.is_empty() {
                    d.parts.push(around.clone());
                }
                Average { sum: 0, count: d.part(&count), ty, low, high }.into()
            };
            self.serve(a, of, &[sum, around.clone()], pos, average);
        }
        Ok(None)
    }

    /// Has an aggregate served by what is asked of the same value and begins with one of these parts, or by something new.
    fn serve(
        &mut self,
        a: &Aggregate,
        of: Scalar,
        first: &[PartKind],
        pos: Pos,
        output: impl FnOnce(&mut Distinct) -> Output,
    ) {
        let mut new = None;
        let same = |d: &&mut Distinct| d.of == of && d.parts.first().is_some_and(|p| first.contains(p));
        let d = match self.distinct.iter_mut().find(same) {
            Some(d) => d,
            None => new.insert(Distinct { of, parts: Vec::new(), outputs: Vec::new(), pos }),
        };
        let output = output(d);
        d.outputs.push((a.clone(), output));
        self.distinct.extend(new);
    }
}
