//! The point of a public grid that a float is nearest to, computed as a float: a key, of which a row has one whatever its value is.

use super::facts::{Facts, Phys};
use super::grid::GridValue;
use super::print::Print;
use super::refusal::Result;
use super::scalar::{Param, Scalar};
use super::table::Function;
use crate::expr::interval::Interval;
use crate::refusals::value::{Unfit, Value};
use bigdecimal::BigDecimal;
use schema::SqlType;

const NEAREST: Function = Function::plain("nearest", rule, text);

/// `round(x / step)` as an int8, for a float with a declared range; None for other numbers, which are exact as numerics.
pub(crate) fn nearest(x: &Scalar, step: &BigDecimal) -> Option<Scalar> {
    if x.phys() != Phys::Float {
        return None;
    }
    Scalar::apply(&NEAREST, vec![x.clone()], Param::Step(step.clone())).ok()
}

fn on_grid(args: &[Scalar], param: &Param) -> Option<GridValue> {
    match (args, param) {
        ([x], Param::Step(step)) if x.phys() == Phys::Float => GridValue::nearest(x, step),
        _ => None,
    }
}

fn rule(args: &[Scalar], param: &Param) -> Result<Facts, Value> {
    let Some(value) = on_grid(args, param) else { return Err(Unfit::Place.into()) };
    let (low, high) = value.ends();
    let ends = Interval::new(BigDecimal::from(low), BigDecimal::from(high));
    Ok(Facts { ty: SqlType::Int8, cost: 50, ..Facts::whole(ends, value.arg().nullable()) })
}

fn text(_: &Scalar, args: &[Scalar], param: &Param, print: Print) -> String {
    on_grid(args, param).map_or_else(|| "NULL::pg_catalog.int8".into(), |value| value.printed(print))
}
