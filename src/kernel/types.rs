//! Types of expressions, as far as proofs need them: whether a sum depends on the order of its rows, whether a value is
//! an integer, whether equality is that of the values themselves.

use super::expression::column_of;
use super::names::{Callee, arguments, callee, cast_type};
use super::range::digits_of;
use super::rows::Frame;
use policy::Policy;
use schema::SqlType;
use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

/// What is known of a value. Numbers without rounding come in order: each contains those before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ty {
    /// int2, int4: their sum is an int8.
    Narrow,
    /// int8.
    Wide,
    /// A numeric that is an integer.
    Integral,
    /// numeric.
    Exact,
    /// real.
    Float4,
    /// double precision.
    Float8,
    /// boolean.
    Bool,
    /// text, varchar.
    Text,
    /// char(n): blanks at the end do not count.
    Padded,
    /// date.
    Date,
    /// timestamp.
    Timestamp,
    /// timestamptz.
    Timestamptz,
    /// time.
    Time,
    /// interval: equal ones may look different.
    Interval,
    /// uuid.
    Uuid,
    /// An enum of the policy.
    Enum(String),
    /// NULL, of the type of what stands beside it.
    Null,
    /// Not known.
    Unknown,
}

impl Ty {
    /// Of a column.
    pub fn of(ty: &SqlType) -> Self {
        match ty {
            SqlType::Bool => Self::Bool,
            SqlType::Int2 | SqlType::Int4 => Self::Narrow,
            SqlType::Int8 => Self::Wide,
            SqlType::Numeric { .. } => Self::Exact,
            SqlType::Float4 => Self::Float4,
            SqlType::Float8 => Self::Float8,
            SqlType::Text | SqlType::Varchar => Self::Text,
            SqlType::Bpchar => Self::Padded,
            SqlType::Date => Self::Date,
            SqlType::Timestamp => Self::Timestamp,
            SqlType::Timestamptz => Self::Timestamptz,
            SqlType::Time => Self::Time,
            SqlType::Interval => Self::Interval,
            SqlType::Uuid => Self::Uuid,
            SqlType::Enum { name, .. } => Self::Enum(name.clone()),
            SqlType::Other { .. } => Self::Unknown,
        }
    }

    /// A sum of such numbers is the same in every order.
    pub fn is_exact(&self) -> bool {
        *self <= Self::Exact
    }

    /// An integer, of whatever type.
    pub fn is_integral(&self) -> bool {
        *self <= Self::Integral
    }

    /// Whether `=` between the two compares the values themselves: neither is converted to a type in which different
    /// values of it are one.
    pub fn compares_exactly(&self, other: &Self) -> bool {
        let known = !matches!(self, Self::Unknown | Self::Null);
        known && (self == other || (self.is_exact() && other.is_exact()))
    }

    /// The type of a choice between two.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Null, t) | (t, Self::Null) => t,
            (a, b) if a == b => a,
            (a, b) if a <= Self::Float8 && b <= Self::Float8 => match a.max(b) {
                Self::Float4 => Self::Float8,
                t => t,
            },
            _ => Self::Unknown,
        }
    }
}

/// The type of an expression.
pub(crate) fn of(e: &Expr, frame: &Frame<'_>, policy: &Policy) -> Ty {
    let sub = |e: &Expr| of(e, frame, policy);
    match e {
        Expr::CompoundIdentifier(_) => match column_of(e).and_then(|c| frame.column(&c)) {
            Some(found) => found.ty,
            None => Ty::Unknown,
        },
        Expr::Nested(x) => sub(x),
        Expr::Collate { .. } => Ty::Text,
        Expr::Cast { data_type, expr, .. } => match cast_type(data_type, policy) {
            // A cast of an integer leaves it one.
            Ok(Ty::Exact) if sub(expr).is_integral() => Ty::Integral,
            Ok(t) => t,
            Err(_) => Ty::Unknown,
        },
        Expr::Value(v) => match &v.value {
            Value::Boolean(_) => Ty::Bool,
            Value::Null => Ty::Null,
            Value::Number(n, _) => match digits_of(n) {
                Some(n) if i32::try_from(n).is_ok() => Ty::Narrow,
                Some(n) if i64::try_from(n).is_ok() => Ty::Wide,
                Some(_) => Ty::Integral,
                None => Ty::Exact,
            },
            _ => Ty::Unknown,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => number(sub(expr)),
        Expr::BinaryOp { op, .. } if arithmetic(op) => {
            // Chains lean to the left, and may be long.
            let (mut chain, mut first) = (Vec::new(), e);
            while let Expr::BinaryOp { left, op, right } = first
                && arithmetic(op)
            {
                chain.push((op, right));
                first = left;
            }
            chain.into_iter().rev().fold(number(sub(first)), |t, (op, right)| {
                match (op, number(number(t).or(number(sub(right))))) {
                    (BinaryOperator::Divide, Ty::Integral) => Ty::Exact,
                    (_, t) => t,
                }
            })
        }
        Expr::BinaryOp { op: BinaryOperator::StringConcat, .. } => Ty::Text,
        Expr::BinaryOp { .. } => Ty::Bool,
        Expr::Case { conditions, else_result, .. } => {
            let last = else_result.as_deref().map_or(Ty::Null, sub);
            conditions.iter().fold(last, |t, c| t.or(sub(&c.result)))
        }
        Expr::Function(f) => match (callee(f), arguments(f)) {
            (Ok(callee), Ok((args, star, _))) => {
                let args: Vec<Ty> = args.into_iter().map(sub).collect();
                if star { Ty::Wide } else { call(&callee, &args) }
            }
            _ => Ty::Unknown,
        },
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsNotTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotUnknown(_)
        | Expr::IsDistinctFrom(..)
        | Expr::IsNotDistinctFrom(..)
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Between { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. }
        | Expr::Exists { .. }
        | Expr::UnaryOp { op: UnaryOperator::Not, .. } => Ty::Bool,
        _ => Ty::Unknown,
    }
}

/// `+ - * / %`
pub(crate) fn arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Divide, Minus, Modulo, Multiply, Plus};
    matches!(op, Plus | Minus | Multiply | Divide | Modulo)
}

/// Arithmetic is known of numbers only.
fn number(t: Ty) -> Ty {
    if t <= Ty::Float8 || t == Ty::Null { t } else { Ty::Unknown }
}

fn call(callee: &Callee, args: &[Ty]) -> Ty {
    let merged = || args.iter().cloned().fold(Ty::Null, Ty::or);
    let first = args.first().cloned().unwrap_or(Ty::Unknown);
    let name = match callee {
        Callee::Keyword(name) if name == "nullif" => return first,
        Callee::Keyword(_) => return merged(),
        Callee::Aggregate(name) if name == "count" => return Ty::Wide,
        Callee::Aggregate(_) => {
            return match first {
                Ty::Narrow => Ty::Wide,
                Ty::Wide => Ty::Integral,
                t => number(t),
            };
        }
        Callee::RowNumber => return Ty::Wide,
        Callee::Pure(name) => name.as_str(),
    };
    // Of an integer, these are computed as double precision.
    let of_numeric = |t: Ty| if matches!(first, Ty::Integral | Ty::Exact) { t } else { Ty::Float8 };
    match name {
        "int2larger" | "int2smaller" | "int4larger" | "int4smaller" | "length" | "char_length" | "strpos"
        | "width_bucket" => Ty::Narrow,
        "int8larger" | "int8smaller" | "hashtextextended" => Ty::Wide,
        "numeric_larger" | "numeric_smaller" if merged().is_integral() => Ty::Integral,
        "numeric_larger" | "numeric_smaller" => Ty::Exact,
        "float4larger" | "float4smaller" => Ty::Float4,
        "float8larger" | "float8smaller" | "date_part" => Ty::Float8,
        "date_larger" | "date_smaller" | "make_date" => Ty::Date,
        "timestamp_larger" | "timestamp_smaller" => Ty::Timestamp,
        "timestamptz_larger" | "timestamptz_smaller" => Ty::Timestamptz,
        "floor" | "ceil" | "ceiling" | "sign" => of_numeric(Ty::Integral),
        "round" | "trunc" if args.len() == 1 => of_numeric(Ty::Integral),
        "round" | "trunc" => Ty::Exact,
        "div" => Ty::Integral,
        "mod" => number(merged()),
        "abs" => number(first),
        "trim_scale" if first.is_integral() => Ty::Integral,
        "trim_scale" => Ty::Exact,
        "exp" | "ln" | "log" | "power" | "sqrt" => of_numeric(Ty::Exact),
        "date_trunc" => match args.get(1) {
            Some(Ty::Date) => Ty::Timestamptz,
            Some(t) => t.clone(),
            None => Ty::Unknown,
        },
        "btrim" | "concat" | "initcap" | "left" | "lower" | "ltrim" | "md5" | "replace" | "right"
        | "rtrim" | "split_part" | "substr" | "substring" | "text_larger" | "text_smaller" | "to_char"
        | "translate" | "upper" => Ty::Text,
        "starts_with" => Ty::Bool,
        _ => Ty::Unknown,
    }
}
