//! Between which integers a value lies, whatever rows hold: by its outermost operation, a clamp to constants.

use super::expression::column_of;
use super::names::{Callee, arguments, callee, catalog};
use super::rows::Frame;
use sqlparser::ast::{BinaryOperator, DataType, Expr, UnaryOperator, Value};

/// What is known without looking inside of what is clamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    /// At least this, where not NULL.
    pub lo: Option<i128>,
    /// At most this, where not NULL.
    pub hi: Option<i128>,
    /// Never NULL. LEAST and GREATEST ignore NULL: an argument that can be NULL bounds nothing there.
    pub solid: bool,
    /// Always NULL.
    pub absent: bool,
}

impl Range {
    fn of(n: i128) -> Self {
        Self { lo: Some(n), hi: Some(n), solid: true, absent: false }
    }

    /// The value of a constant.
    fn constant(self) -> Option<i128> {
        self.lo.filter(|n| self.hi == Some(*n) && self.solid)
    }

    /// What one value adds to a sum, at most.
    pub fn magnitude(self) -> Option<u128> {
        match self {
            Self { absent: true, .. } => Some(0),
            Self { lo: Some(lo), hi: Some(hi), .. } => Some(lo.unsigned_abs().max(hi.unsigned_abs())),
            _ => None,
        }
    }

    fn shift(self, by: i128) -> Option<Self> {
        let end = |x: Option<i128>| x.map_or(Some(None), |x| x.checked_add(by).map(Some));
        Some(Self { lo: end(self.lo)?, hi: end(self.hi)?, ..self })
    }

    fn within(self, low: i128, high: i128) -> Self {
        let fits = self.lo.is_some_and(|x| x >= low) && self.hi.is_some_and(|x| x <= high);
        if fits || self.absent { self } else { Self { lo: None, hi: None, ..self } }
    }

    /// Either of the two.
    fn or(self, other: Self) -> Self {
        match (self.absent, other.absent) {
            (true, _) => Self { solid: false, ..other },
            (_, true) => Self { solid: false, ..self },
            _ => Self {
                lo: self.lo.zip(other.lo).map(|(a, b)| a.min(b)),
                hi: self.hi.zip(other.hi).map(|(a, b)| a.max(b)),
                solid: self.solid && other.solid,
                absent: false,
            },
        }
    }
}

/// The digits of an integer.
pub(crate) fn digits_of(n: &str) -> Option<i128> {
    let plain = !n.is_empty() && n.len() <= 36 && n.bytes().all(|b| b.is_ascii_digit());
    n.parse().ok().filter(|_| plain)
}

/// The range of a value that was allowed before.
pub(crate) fn of(e: &Expr, frame: &Frame<'_>) -> Range {
    let sub = |e: &Expr| of(e, frame);
    let found = match e {
        Expr::Nested(x) => Some(sub(x)),
        Expr::Value(v) => match &v.value {
            Value::Number(n, _) => digits_of(n).map(Range::of),
            Value::Null => Some(Range { absent: true, ..Range::default() }),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            sub(expr).constant().and_then(i128::checked_neg).map(Range::of)
        }
        Expr::BinaryOp { left, op: BinaryOperator::Minus, right } => {
            sub(right).constant().and_then(i128::checked_neg).and_then(|n| sub(left).shift(n))
        }
        Expr::BinaryOp { left, op: BinaryOperator::Plus, right } => {
            sub(right).constant().and_then(|n| sub(left).shift(n))
        }
        Expr::CompoundIdentifier(_) => column_of(e).and_then(|c| frame.column(&c)).map(|c| Range {
            lo: c.count.then_some(0),
            solid: c.count,
            ..Range::default()
        }),
        // Rounding to integers keeps integer ends.
        Expr::Cast { expr, data_type, .. } => {
            integer_type(data_type).map(|(lo, hi)| sub(expr).within(lo, hi))
        }
        Expr::Case { operand: None, conditions, else_result, .. } => {
            let absent = Range { absent: true, ..Range::default() };
            let last = else_result.as_deref().map_or(absent, sub);
            Some(conditions.iter().fold(last, |r, c| r.or(sub(&c.result))))
        }
        Expr::Function(f) => match (callee(f), arguments(f)) {
            (Ok(callee), Ok((args, false, false))) => {
                let args: Vec<Range> = args.into_iter().map(sub).collect();
                call(&callee, &args)
            }
            _ => None,
        },
        _ => None,
    };
    found.unwrap_or_default()
}

/// Ends of the integer types.
fn integer_type(ty: &DataType) -> Option<(i128, i128)> {
    let DataType::Custom(name, _) = ty else { return None };
    match catalog(name).ok()??.as_str() {
        "int2" => Some((i16::MIN.into(), i16::MAX.into())),
        "int4" => Some((i32::MIN.into(), i32::MAX.into())),
        "int8" => Some((i64::MIN.into(), i64::MAX.into())),
        _ => None,
    }
}

fn call(callee: &Callee, args: &[Range]) -> Option<Range> {
    let (name, ignores_null) = match callee {
        Callee::Keyword(name) => (name.as_str(), true),
        Callee::Pure(name) => (name.as_str(), false),
        Callee::Aggregate(_) | Callee::RowNumber => return None,
    };
    let smaller = match name {
        "least" | "int2smaller" | "int4smaller" | "int8smaller" | "numeric_smaller" => true,
        "greatest" | "int2larger" | "int4larger" | "int8larger" | "numeric_larger" => false,
        "coalesce" => return args.iter().copied().reduce(Range::or),
        _ => return None,
    };
    // With NULL among its arguments a function gives NULL, and a keyword what the others give.
    let counts = |r: &&Range| !ignores_null || r.solid;
    let all = |end: fn(&Range) -> Option<i128>| args.iter().map(end).collect::<Option<Vec<i128>>>();
    let (lo, hi) = if smaller {
        (
            all(|r| r.lo).and_then(|l| l.into_iter().min()),
            args.iter().filter(counts).filter_map(|r| r.hi).min(),
        )
    } else {
        (
            args.iter().filter(counts).filter_map(|r| r.lo).max(),
            all(|r| r.hi).and_then(|h| h.into_iter().max()),
        )
    };
    let solid = if ignores_null { args.iter().any(|r| r.solid) } else { args.iter().all(|r| r.solid) };
    Some(Range { lo, hi, solid, absent: false })
}
