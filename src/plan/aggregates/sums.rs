//! Sums: of values within a range, on a grid.

use super::builder::{Asked, Builder, Call, Result, too_wide};
use super::drawn::{Drawn, Released};
use super::entry::{Entry, Form};
use super::estimator::{Estimator, Followed, Output, Straight, linear_error95, linear_sentence};
use super::grid::{Range, grid, result_type, typed};
use super::part::{Part, PartKind};
use crate::expr::{GridValue, Node, Scalar, unbounded};
use crate::noise::number::Number;
use crate::refusals::aggregate::Aggregation;
use bigdecimal::{BigDecimal, ToPrimitive};
use schema::SqlType;
use sql::ast::*;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "sum",
    hint: "sum",
    within_group: false,
    forms: &[
        Form {
            written: "sum(x)",
            from: "sum; with a count of the same rows beside it, sum of deviations from the middle of the range, and that middle for each row",
            and: "never NULL",
        },
        Form {
            written: "sum(DISTINCT x)",
            from: "sum of distinct values, in a release of its own",
            and: "never NULL",
        },
    ],
    ask: |b, call| b.sum(call),
}];

/// A sum: the part times its grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// The sum.
    pub part: usize,
    /// Result type.
    pub ty: SqlType,
}

/// A sum of values less a centre, and that centre for each of the same rows: with a count that is released anyway it errs
/// less, as half the range and the middle are less in squares than the largest magnitude.
#[derive(Clone, Debug, PartialEq)]
pub struct CentredSum {
    /// The sum.
    pub sum: usize,
    /// The count of the same rows.
    pub count: usize,
    /// Result type.
    pub ty: SqlType,
}

/// A sum or a count that no row can move from 0: it is known without the database (soundness rule 35).
#[derive(Clone, Debug, PartialEq)]
pub struct Zero {
    /// Result type.
    pub ty: SqlType,
}

impl Estimator for Sum {
    fn parts(&self) -> Vec<usize> {
        vec![self.part]
    }

    fn text(&self, released: &Released<'_>) -> String {
        total(&released.column(self.part), &self.ty)
    }

    fn number(&self, released: &Released<'_>) -> Number {
        released.part(self.part)
    }

    fn noise(&self) -> Followed {
        Followed::of(&self.ty)
    }

    fn linear(&self, _: &Drawn<'_>) -> Option<Vec<(usize, f64)>> {
        Some(vec![(self.part, 1.0)])
    }

    fn error95(&self, drawn: &Drawn<'_>) -> String {
        linear_error95(&[(self.part, 1.0)], drawn)
    }

    fn sentence(&self, drawn: &Drawn<'_>, name: &str) -> String {
        linear_sentence(&[(self.part, 1.0)], drawn, name)
    }

    fn cuts(&self, drawn: &Drawn<'_>) -> Vec<(usize, BigDecimal, BigDecimal)> {
        cut(self.part, &self.ty, drawn)
    }

    fn straight(&self, _: &Drawn<'_>) -> Option<Straight> {
        (self.ty == SqlType::Int8).then_some(Straight::Whole { sum: self.part, centre: None })
    }

    fn weights(&self, parts: &[Part]) -> Vec<(usize, f64)> {
        // Where sums have a norm of their own it is of their size.
        let own = parts.get(self.part).is_some_and(|p| p.own.is_some());
        let range = Range::of_part(parts, self.part).filter(|_| !own);
        vec![(self.part, range.map_or(1.0, |r| r.most / r.typical))]
    }
}

impl CentredSum {
    fn terms(&self, drawn: &Drawn<'_>) -> [(usize, f64); 2] {
        // The centre that was taken off each value comes back with each row that is counted.
        [(self.sum, 1.0), (self.count, drawn.float_centre(self.sum))]
    }
}

impl Estimator for CentredSum {
    fn parts(&self) -> Vec<usize> {
        vec![self.sum, self.count]
    }

    fn text(&self, released: &Released<'_>) -> String {
        total(&released.uncentred(self.sum, self.count), &self.ty)
    }

    fn number(&self, released: &Released<'_>) -> Number {
        released.uncentred_number(self.sum, self.count)
    }

    fn noise(&self) -> Followed {
        Followed::of(&self.ty)
    }

    fn linear(&self, drawn: &Drawn<'_>) -> Option<Vec<(usize, f64)>> {
        Some(self.terms(drawn).to_vec())
    }

    fn error95(&self, drawn: &Drawn<'_>) -> String {
        linear_error95(&self.terms(drawn), drawn)
    }

    fn sentence(&self, drawn: &Drawn<'_>, name: &str) -> String {
        linear_sentence(&self.terms(drawn), drawn, name)
    }

    fn note(&self, drawn: &Drawn<'_>, name: &str) -> Option<String> {
        let centre = drawn.centre(self.sum).normalized().to_plain_string();
        Some(format!(
            "Centred: {name} is the noisy sum of values less {centre}, and {centre} for each row of the noisy count"
        ))
    }

    fn cuts(&self, drawn: &Drawn<'_>) -> Vec<(usize, BigDecimal, BigDecimal)> {
        cut(self.sum, &self.ty, drawn)
    }

    fn straight(&self, drawn: &Drawn<'_>) -> Option<Straight> {
        let centre = drawn.centre(self.sum);
        let off = centre.is_integer().then(|| centre.to_i64()).flatten()?;
        let whole = Straight::Whole { sum: self.sum, centre: Some((off, self.count)) };
        (self.ty == SqlType::Int8).then_some(whole)
    }

    fn weights(&self, parts: &[Part]) -> Vec<(usize, f64)> {
        if parts.get(self.sum).is_some_and(|p| p.own.is_some()) {
            return vec![(self.sum, 1.0), (self.count, 1.0)];
        }
        Range::of_part(parts, self.sum).map_or_else(Vec::new, |r| {
            vec![(self.sum, r.most / r.typical), (self.count, r.centre.abs() / r.typical)]
        })
    }
}

impl Estimator for Zero {
    fn parts(&self) -> Vec<usize> {
        Vec::new()
    }

    fn text(&self, _: &Released<'_>) -> String {
        typed("0", &self.ty)
    }

    fn noise(&self) -> Followed {
        Followed::Exact
    }

    fn error95(&self, _: &Drawn<'_>) -> String {
        "none: no row can change it".into()
    }

    fn sentence(&self, _: &Drawn<'_>, name: &str) -> String {
        format!("{name} exact")
    }

    fn weights(&self, _: &[Part]) -> Vec<(usize, f64)> {
        Vec::new()
    }
}

/// A sum, as this type.
fn total(sum: &str, ty: &SqlType) -> String {
    match ty {
        SqlType::Int8 => {
            format!("LEAST(GREATEST({sum}, -9223372036854775808), 9223372036854775807)::pg_catalog.int8")
        }
        ty => typed(sum, ty),
    }
}

/// The range of a sum's values.
fn cut(sum: usize, ty: &SqlType, drawn: &Drawn<'_>) -> Vec<(usize, BigDecimal, BigDecimal)> {
    let ends = drawn.on_grid(sum).filter(|_| ty.is_number()).map(GridValue::range);
    ends.into_iter().map(|(low, high)| (0, low, high)).collect()
}

impl Builder<'_, '_> {
    fn sum(&mut self, call: &Call<'_>) -> Result<Option<Output>> {
        let (x, value) = self.added(call)?;
        if call.is_of_distinct(&value) {
            return self.distinct(call, Asked::Sum, value, x.pos);
        }
        let (value, low, high) = measured(&value, x.pos)?;
        let ty = result_type(false, value.ty());
        let grid = grid(&value, &low, &high);
        let plain = GridValue::new(value, &low, &high, &grid, false).map_err(|_| too_wide())?;
        // What cannot move from 0 is no question to anybody.
        if plain.bound() == 0 {
            return Ok(Some(Zero { ty }.into()));
        }
        Ok(Some(Sum { part: self.part(PartKind::Sum(plain), "sum"), ty }.into()))
    }

    /// The argument of a sum or an average, and its value where FILTER is true; but for distinct values, which are filtered later.
    pub(super) fn added<'c>(&mut self, call: &Call<'c>) -> Result<(&'c Expr, Scalar)> {
        let [x] = call.aggregate.args.as_slice() else { return call.takes("one argument") };
        let s = self.lower(x)?;
        Ok((x, if call.aggregate.distinct { s } else { call.only(s) }))
    }
}

/// A number that can be added up, and its range.
pub(super) fn measured(value: &Scalar, pos: Pos) -> Result<(Scalar, BigDecimal, BigDecimal)> {
    if !value.is_measured() && !matches!(value.node(), Node::Null) {
        if *value.ty() == SqlType::Interval {
            return Err(Aggregation::Ages.at(pos).into());
        }
        return Err(Aggregation::Sum { ty: value.ty().clone() }.at(pos).into());
    }
    let value = if value.is_measured() { value.clone() } else { Scalar::null(SqlType::Int4) };
    match value.bound().finite().map(|(low, high)| (low.clone(), high.clone())) {
        Some((low, high)) => Ok((value, low, high)),
        None => Err(unbounded(&value, pos).into()),
    }
}

/// The sums of values of which something else is asked, too.
pub(crate) fn beside_others<'e>(above: &[&'e Expr]) -> Vec<Aggregate> {
    let aggregate = |e: &'e Expr| if let ExprKind::Aggregate(a) = &e.kind { Some(&**a) } else { None };
    let all: Vec<&Aggregate> = above.iter().flat_map(|e| e.parts()).filter_map(aggregate).collect();
    let beside = |a: &&Aggregate| {
        a.name == "sum" && all.iter().any(|b| b.name != a.name && b.args == a.args && b.filter == a.filter)
    };
    all.iter().copied().filter(beside).cloned().collect()
}

/// Centres the sums of whose rows a count is released anyway. With c the middle of a range, h half its width and the noise of
/// both per unit of sensitivity, h² + c² is less than (h + |c|)², for whatever share of the price the count has.
///
/// `units`: the number of rows is that of the units by which groups are selected, which costs nothing.
pub(crate) fn centre(parts: &mut Vec<Part>, outputs: &mut [(Aggregate, Output)], units: bool) {
    for (_, output) in outputs {
        let Some(Sum { part: sum, ty }) = output.of::<Sum>().cloned() else { continue };
        let Some(PartKind::Sum(s)) = parts.get(sum).map(|p| &p.kind) else { continue };
        let centred = if s.centre() == 0 { s.centred() } else { s.clone() };
        if centred.centre() == 0 || centred.bound() == 0 {
            continue;
        }
        let rows = PartKind::rows_of(s.arg());
        let count = match parts.iter().position(|p| p.kind == rows) {
            Some(count) => count,
            None if units && rows == PartKind::Count(None) => {
                parts.push(Part::new(rows, "count(*)"));
                parts.len() - 1
            }
            None => continue,
        };
        if let Some(part) = parts.get_mut(sum) {
            *part = Part { kind: PartKind::Sum(centred), label: "centred sum".into(), ..part.clone() };
        }
        *output = CentredSum { sum, count, ty }.into();
    }
}
