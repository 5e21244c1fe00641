//! Quantiles, least and greatest values, and ends of intervals around quantiles.

use super::chosen::Points;
use super::grid::pick;
use crate::aggregates::builder::{Builder, Call, Result, too_wide};
use crate::aggregates::entry::{Entry, Form};
use crate::aggregates::estimator::Output;
use crate::expr::Scalar;
use crate::quantile_ends;
use crate::refusals::aggregate::{Aggregation, Shows};
use bigdecimal::{BigDecimal, Signed};
use dp::{Pick, Ratio};
use schema::SqlType;
use sql::ast::*;

/// No call has more fractions.
const MOST_FRACTIONS: usize = 100;
/// Digits of a fraction: their common denominator is below 2^32.
const DIGITS: i64 = 9;

const FROM: &str = "a choice among points of a public grid, by how many rows lie at each";
const AND: &str = "within the range of x; there is always an answer";

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "median",
        hint: "median",
        within_group: true,
        forms: &[Form { written: "median(x)", from: FROM, and: AND }],
        ask: |b, call| b.median(call),
    },
    Entry {
        name: "percentile_cont",
        hint: "percentile_cont",
        within_group: true,
        forms: &[Form { written: "percentile_cont(f) WITHIN GROUP (ORDER BY x)", from: FROM, and: AND }],
        ask: |b, call| b.percentiles(call, true),
    },
    Entry {
        name: "percentile_disc",
        hint: "percentile_disc",
        within_group: true,
        forms: &[Form { written: "percentile_disc(f) WITHIN GROUP (ORDER BY x)", from: FROM, and: AND }],
        ask: |b, call| b.percentiles(call, false),
    },
    Entry {
        name: "min",
        hint: "min",
        within_group: true,
        forms: &[Form { written: "min(x)", from: FROM, and: AND }],
        ask: |b, call| b.extreme(call, Pick::Least),
    },
    Entry {
        name: "max",
        hint: "max",
        within_group: true,
        forms: &[Form { written: "max(x)", from: FROM, and: AND }],
        ask: |b, call| b.extreme(call, Pick::Greatest),
    },
];

impl Call<'_> {
    /// The one argument of an aggregate of values as they are written.
    fn plain(&self) -> Result<&Expr> {
        let a = self.aggregate;
        match a.args.as_slice() {
            [x] if a.within_group.is_empty() && a.order_by.is_empty() => Ok(x),
            _ => self.takes("one argument"),
        }
    }

    /// The key of WITHIN GROUP, of an aggregate with `args` arguments before it.
    pub(super) fn ordered(&self, args: usize) -> Result<&OrderItem> {
        let a = self.aggregate;
        match a.within_group.as_slice() {
            [by] if a.args.len() == args && a.order_by.is_empty() => Ok(by),
            _ => Err(Aggregation::Ordered(a.name).at(self.pos).into()),
        }
    }

    /// Refuses DISTINCT, which would ask for something else.
    pub(super) fn not_distinct(&self) -> Result<()> {
        match self.aggregate.distinct {
            true => Err(Aggregation::Distinct(self.aggregate.name).at(self.pos).into()),
            false => Ok(()),
        }
    }
}

impl Builder<'_, '_> {
    fn median(&mut self, call: &Call<'_>) -> Result<Option<Output>> {
        call.not_distinct()?;
        let x = call.plain()?;
        let scalar = self.lower(x)?;
        self.chosen(call, x, &scalar, vec![half()], false, SqlType::Float8)
    }

    fn extreme(&mut self, call: &Call<'_>, which: Pick) -> Result<Option<Output>> {
        let x = call.plain()?;
        let scalar = self.lower(x)?;
        if scalar.ty().is_text() {
            // In the order of a collation, of which no text says which is the next value.
            return Err(self.of_released(Shows::Texts, call).into());
        }
        let ty = scalar.ty().clone();
        self.chosen(call, x, &scalar, vec![which], false, ty)
    }

    /// `percentile_cont` (`between` values) or `percentile_disc`.
    fn percentiles(&mut self, call: &Call<'_>, between: bool) -> Result<Option<Output>> {
        call.not_distinct()?;
        let by = call.ordered(1)?;
        let args = call.aggregate.args.as_slice();
        let list = match args {
            [Expr { kind: ExprKind::Array(list), .. }] => Some(list.as_slice()),
            _ => None,
        };
        let picks: Vec<Pick> =
            list.unwrap_or(args).iter().map(|f| fraction(f, by.desc)).collect::<Result<_>>()?;
        if picks.is_empty() || picks.len() > MOST_FRACTIONS {
            let (name, most) = (call.aggregate.name, MOST_FRACTIONS);
            return Err(Aggregation::Fractions { name, most }.at(call.pos).into());
        }
        let scalar = self.lower(&by.expr)?;
        let ty = if between { SqlType::Float8 } else { scalar.ty().clone() };
        self.chosen(call, &by.expr, &scalar, picks, list.is_some(), ty)
    }

    /// Notes what is chosen among the points of a value.
    fn chosen(
        &mut self,
        call: &Call<'_>,
        x: &Expr,
        scalar: &Scalar,
        picks: Vec<Pick>,
        array: bool,
        ty: SqlType,
    ) -> Result<Option<Output>> {
        let (key, axis) = self.grid_key(call.aggregate.name, x, scalar, call.when.as_ref())?;
        self.request(key, axis, call.pos, |all| {
            let parts = picks.into_iter().map(|p| pick(all, p)).collect();
            (call.aggregate.clone(), Points { parts, array, ty }.into())
        });
        Ok(None)
    }

    /// Notes an end of the interval of a quantile of numbers; nothing of what is none, unless it was `asked` for by name.
    pub(crate) fn end(&mut self, what: Reach, e: &Expr, asked: bool) -> Result<()> {
        let (Some((a, side)), ExprKind::Aggregate(of)) = (quantile_ends::end(what, e), &e.kind) else {
            return Ok(());
        };
        let (Some(x), false) = (ordered_by(of), self.requests.iter().any(|r| r.has(&a))) else {
            return Ok(());
        };
        let q = match of.name {
            "median" => half(),
            _ => match (of.args.first(), of.within_group.first()) {
                (Some(f), Some(by)) => fraction(f, by.desc)?,
                _ => return Ok(()),
            },
        };
        let scalar = self.lower(x)?;
        let (true, Pick::Quantile(q)) = (scalar.ty().is_number(), q) else {
            return match asked {
                true => Err(Aggregation::Interval.at(e.pos).into()),
                false => Ok(()),
            };
        };
        let when = of.filter.as_ref().map(|f| self.lower(f)).transpose()?;
        let (key, axis) = self.grid_key(of.name, x, &scalar, when.as_ref())?;
        let end = self.settings.ends.pick(q, side);
        self.request(key, axis, e.pos, |all| {
            (a, Points { parts: vec![pick(all, end)], array: false, ty: SqlType::Float8 }.into())
        });
        Ok(())
    }
}

/// Half of the rows.
fn half() -> Pick {
    Pick::Quantile(Ratio::new(1, 2))
}
/// The value that a quantile is of.
fn ordered_by(a: &Aggregate) -> Option<&Expr> {
    match (a.name, a.args.as_slice(), a.within_group.as_slice()) {
        ("median", [x], []) => Some(x),
        (_, [_], [by]) => Some(&by.expr),
        _ => None,
    }
}

/// A constant fraction: the ends are the least and the greatest value.
fn fraction(e: &Expr, desc: bool) -> Result<Pick> {
    let constant = |e: &Expr| match &e.kind {
        ExprKind::Literal(Literal::Number(n) | Literal::String(n)) => n.parse::<BigDecimal>().ok(),
        _ => None,
    };
    let value = match &e.kind {
        ExprKind::Cast { expr, .. } => constant(expr),
        _ => constant(e),
    };
    let Some(value) = value.map(|v| v.normalized()).filter(|v| v.fractional_digit_count() <= DIGITS) else {
        return Err(Aggregation::Fraction.at(e.pos).into());
    };
    let one = BigDecimal::from(1);
    if value.is_negative() || value > one {
        return Err(Aggregation::FractionRange(value.to_plain_string()).at(e.pos).into());
    }
    let value = if desc { one - value } else { value };
    match dp::ratio(&value) {
        Some(q) if q == Ratio::from_integer(0) => Ok(Pick::Least),
        Some(q) if q == Ratio::from_integer(1) => Ok(Pick::Greatest),
        Some(q) => Ok(Pick::Quantile(q)),
        None => Err(too_wide()),
    }
}
