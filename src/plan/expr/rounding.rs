//! Rounding: to digits, to even, down, up and towards zero, always in numeric.

use super::facts::{Facts, Phys};
use super::numbers::{one, retyped, same};
use super::print::{Print, operand};
use super::refusal::Result;
use super::scalar::{Param, Scalar};
use super::table::Function;
use crate::expr::interval::Interval;
use crate::refusals::value::{Unfit, Value};
use bigdecimal::{BigDecimal, RoundingMode};
use schema::SqlType;
use sql::ast::Pos;

const ROUND: Function = Function::plain("round", round, rounded);
const EVEN: Function = Function::plain("even", even, rounded_to_even);
const FLOOR: Function = Function::plain("floor", floor, floored);
const CEIL: Function = Function::plain("ceil", ceil, ceiled);
const TRUNC: Function = Function::plain("trunc", trunc, truncated);

/// A way of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// Half away from zero, as numeric does.
    Round,
    /// Half to even, to no digits, through double precision: what PostgreSQL does with floats.
    Even,
    Floor,
    Ceil,
    Trunc,
}

/// A number rounded at `digits` digits, which are 0 but for ROUND and TRUNC.
pub(super) fn rounding(how: Rounding, x: Scalar, digits: i64, pos: Pos) -> Result<Scalar> {
    let f: &'static Function = match how {
        Rounding::Round => &ROUND,
        Rounding::Even => &EVEN,
        Rounding::Floor => &FLOOR,
        Rounding::Ceil => &CEIL,
        Rounding::Trunc => &TRUNC,
    };
    Scalar::apply(f, vec![x], Param::Digits(digits)).map_err(|e| e.at(pos))
}

fn rounding_facts(
    args: &[Scalar],
    param: &Param,
    proven: impl Fn(&Interval, i64) -> Interval,
    declared: impl Fn(&Interval, i64) -> Interval,
) -> Result<Facts, Value> {
    let x = one(args)?;
    let digits = match param {
        Param::Digits(d) if (-60..=60).contains(d) => *d,
        _ => return Err(Value::Digits),
    };
    let step = BigDecimal::new(1.into(), digits).normalized();
    let lattice = match &x.lattice {
        // Rounding keeps a lattice that is coarser than its step.
        Some(l) if (l / &step).is_integer() => l.clone(),
        _ => step,
    };
    Ok(Facts {
        lattice: Some(lattice),
        binned: true,
        scale: x.scale.min(u32::try_from(digits.max(0)).unwrap_or(0)),
        cost: 10 + x.digits(),
        ..same(x, x.span.one(|i| proven(i, digits)), x.bound.one(|i| declared(i, digits)))
    })
}

fn round(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let f = |i: &Interval, d: i64| i.round(d, RoundingMode::HalfUp);
    rounding_facts(args, param, f, f)
}

/// The way through double precision moves a value by up to one part in 10^15 before it is rounded, and the way back
/// to numeric keeps fifteen digits (soundness rule 34).
fn even(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let f = |i: &Interval, d: i64| {
        let wide = i.widened(14);
        Interval { lo: wide.round(d, RoundingMode::Floor).lo, hi: wide.round(d, RoundingMode::Ceiling).hi }
    };
    match param {
        Param::Digits(0) => rounding_facts(args, param, f, f),
        _ => Err(Unfit::Even.into()),
    }
}

fn floor(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let f = |i: &Interval, d: i64| i.round(d, RoundingMode::Floor);
    whole_only(param)?;
    rounding_facts(args, param, f, f)
}

fn ceil(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let f = |i: &Interval, d: i64| i.round(d, RoundingMode::Ceiling);
    whole_only(param)?;
    rounding_facts(args, param, f, f)
}

fn trunc(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let f = |i: &Interval, d: i64| i.round(d, RoundingMode::Down);
    rounding_facts(args, param, f, f)
}

fn whole_only(param: &Param) -> Result<(), Value> {
    if *param == Param::Digits(0) { Ok(()) } else { Err(Value::Digits) }
}

/// The type of a rounding in PostgreSQL: floor and its like of an integer are double precision, of numeric they are
/// numeric; with digits, an integer becomes numeric.
pub(super) fn rounded_type(x: Scalar, digits: bool) -> Scalar {
    let ty = match (&x.facts.ty, digits) {
        (t, false) if t.is_integer() => SqlType::Float8,
        (SqlType::Float4, _) => SqlType::Float8,
        (t, _) if t.is_integer() => SqlType::Numeric { scale: None },
        (SqlType::Numeric { .. }, _) => SqlType::Numeric { scale: None },
        (t, _) => t.clone(),
    };
    retyped(x, ty)
}

/// An int8 is its own rounding.
fn in_numeric(args: &[Scalar], param: &Param, print: Print, f: impl Fn(String, i64) -> String) -> String {
    let digits = if let Param::Digits(d) = param { *d } else { 0 };
    match args.first() {
        Some(x) if x.facts.phys == Phys::Int && digits >= 0 => print(x),
        Some(x) => f(operand(x, Phys::Num, print), digits),
        None => String::new(),
    }
}

fn rounded(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    in_numeric(args, param, print, |x, d| format!("pg_catalog.round({x}, {d})"))
}

fn rounded_to_even(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    // Twenty digits are more than a float near a tie has; numbers nearer to 0 could not be cast back.
    in_numeric(args, param, print, |x, _| {
        format!("pg_catalog.round(pg_catalog.round({x}, 20)::pg_catalog.float8)::pg_catalog.numeric")
    })
}

fn floored(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    in_numeric(args, param, print, |x, _| format!("pg_catalog.floor({x})"))
}

fn ceiled(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    in_numeric(args, param, print, |x, _| format!("pg_catalog.ceil({x})"))
}

fn truncated(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    in_numeric(args, param, print, |x, d| format!("pg_catalog.trunc({x}, {d})"))
}
