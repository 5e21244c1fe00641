//! Constants, operators and casts: how long their values are.

use crate::names::last;
use sqlparser::ast::{ArrayElemTypeDef, BinaryOperator as Op, CharacterLength, DataType, Expr, Value};

/// Bytes that a cell of a table counts.
pub(super) const CELL: u64 = 64;
/// Bytes of a value that is no text.
pub(super) const VALUE: u64 = 64;
/// Digits of the longest number.
pub(super) const DIGITS: u64 = 150_000;
/// Bytes of a character.
pub(super) const CHARACTER: u64 = 4;

pub(super) fn binary(op: &Op, a: u64, b: u64) -> u64 {
    match op {
        Op::And
        | Op::Or
        | Op::Eq
        | Op::NotEq
        | Op::Lt
        | Op::LtEq
        | Op::Gt
        | Op::GtEq
        | Op::PGRegexMatch
        | Op::PGRegexIMatch
        | Op::PGRegexNotMatch
        | Op::PGRegexNotIMatch => 1,
        Op::Plus | Op::Minus => a.max(b).saturating_add(1),
        // A product has the digits of both, and a quotient a few more.
        Op::Multiply | Op::Divide | Op::Modulo => {
            a.saturating_add(b).saturating_add(20).min(DIGITS.max(a).max(b))
        }
        Op::PGExp => DIGITS,
        // Texts, arrays, JSON.
        _ => a.saturating_add(b),
    }
}

/// Length of a cast of `size` bytes.
pub(super) fn cast(ty: &DataType, size: u64) -> u64 {
    let length = |n: &Option<CharacterLength>| match n {
        Some(CharacterLength::IntegerLength { length, .. }) => Some(*length),
        _ => None,
    };
    match ty {
        DataType::Char(n) | DataType::Character(n) => {
            let n = length(n).unwrap_or(1);
            n.saturating_mul(CHARACTER).min(size).saturating_add(n)
        }
        DataType::Varchar(n) | DataType::CharacterVarying(n) | DataType::CharVarying(n) => {
            length(n).map_or(size, |n| n.saturating_mul(CHARACTER).min(size))
        }
        // Each element is filled up.
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) => {
            let filled = match &**element {
                DataType::Char(_) | DataType::Character(_) => cast(element, 1),
                _ => 1,
            };
            filled.saturating_mul(size).max(VALUE)
        }
        DataType::Custom(name, arguments) => {
            let n = arguments.first().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
            if last(name) == "bpchar" { size.saturating_add(n) } else { size.max(VALUE) }
        }
        _ => size.max(VALUE),
    }
}

pub(super) fn without_brackets(mut e: &Expr) -> &Expr {
    while let Expr::Nested(inner) = e {
        e = inner;
    }
    e
}

/// A whole number that is written out.
pub(super) fn number(e: &Expr) -> Option<u64> {
    match without_brackets(e) {
        Expr::Value(v) => match &v.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// A text that is written out.
pub(super) fn text(e: &Expr) -> Option<&str> {
    match without_brackets(e) {
        Expr::Value(v) => match &v.value {
            Value::SingleQuotedString(s)
            | Value::EscapedStringLiteral(s)
            | Value::UnicodeStringLiteral(s) => Some(s),
            Value::DollarQuotedString(s) => Some(&s.value),
            _ => None,
        },
        Expr::Cast { expr, .. } => text(expr),
        _ => None,
    }
}
