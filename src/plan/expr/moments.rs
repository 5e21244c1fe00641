//! Deviations from a public centre, and their products: what variances and covariances add up.

use super::Scalar;
use super::numbers::{arithmetic, literal, ready};
use super::refusal::Result;
use super::rounding::{Rounding, rounding};
use bigdecimal::BigDecimal;
use sql::ast::{BinaryOp, Pos};

/// A number that arithmetic may take: clamped to its bound, NULL where it is NULL or a float's NaN.
pub(crate) fn number(x: Scalar, pos: Pos) -> Result<Scalar> {
    ready(x, pos)
}

/// `x - centre`, where `x` is first rounded to `digits` digits, when they are given: products of
/// long numbers are slow.
pub(crate) fn deviation(x: Scalar, centre: &BigDecimal, digits: Option<i64>, pos: Pos) -> Result<Scalar> {
    let x = ready(x, pos)?;
    let x = match digits {
        Some(digits) => ready(rounding(Rounding::Round, x, digits, pos)?, pos)?,
        None => x,
    };
    arithmetic(BinaryOp::Sub, x, literal(&centre.normalized().to_plain_string(), None, pos)?, pos)
}

/// `x * y`.
pub(crate) fn product(x: Scalar, y: Scalar, pos: Pos) -> Result<Scalar> {
    arithmetic(BinaryOp::Mul, ready(x, pos)?, ready(y, pos)?, pos)
}
