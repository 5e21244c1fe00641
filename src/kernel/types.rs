//! The type of an expression, as far as it is known, and whether equal values of it are the same bytes.

use super::facts::is_exact;
use super::forms::{Form, is_comparison};
use super::rows::{Column, Scans};
use grammar::tree::Expr;
use schema::SqlType;

pub(crate) const NUMERIC: SqlType = SqlType::Numeric { scale: None };

/// Of a text they give a text.
const OF_TEXT: &str =
    "|| btrim initcap left lower ltrim replace reverse right rtrim split_part substr translate upper";

/// Types of which equal values are the same bytes: 1.0 is not 1.00, nor is a day 24 hours.
fn is_of_bytes(ty: &SqlType) -> bool {
    use SqlType::{Bpchar, Float4, Float8, Interval, Numeric, Other};
    !matches!(ty, Bpchar | Float4 | Float8 | Interval | Numeric { scale: None } | Other { .. })
}

/// Values of it are compared under a collation.
fn is_collated(ty: &SqlType) -> bool {
    ty.is_text() || matches!(ty, SqlType::Bpchar | SqlType::Other { .. })
}

impl Column {
    /// Equal values are the same bytes.
    fn is_alone(&self) -> bool {
        let known = |t: &SqlType| is_of_bytes(t) && (!is_collated(t) || self.deterministic);
        self.trimmed || self.ty.as_ref().is_some_and(known)
    }

    /// The form of one of several that are equal.
    pub fn merged(&self) -> Form {
        use SqlType::{Bpchar, Float4, Float8, Interval, Numeric};
        let form = match self.ty {
            _ if self.is_alone() => Form::One,
            Some(Numeric { .. } | Float4 | Float8 | Interval) => Form::Several,
            Some(Bpchar) if self.deterministic => Form::Several,
            _ => Form::Open,
        };
        form.max(self.form)
    }
}

impl Scans<'_> {
    /// What is known of an expression as a column; its form aside.
    pub fn known(&self, e: &Expr) -> Column {
        let (deterministic, trimmed) = (self.is_deterministic(e), self.is_trimmed(e));
        Column { deterministic, trimmed, ..Column::of(self.type_of(e)) }
    }

    /// None where it is not known. Of integers it may be a wider one.
    pub fn type_of(&self, e: &Expr) -> Option<SqlType> {
        match e {
            Expr::Column(c) => self.column(c)?.ty,
            Expr::Cast(_, ty) => Some(ty.clone()),
            Expr::Number(n) if n.parse::<i64>().is_ok() => Some(SqlType::Int8),
            Expr::Number(_) => Some(NUMERIC),
            Expr::Bool(_) => Some(SqlType::Bool),
            Expr::Call(name, args) => self.type_of_call(name, args),
            _ => None,
        }
    }

    fn type_of_call(&self, name: &str, args: &[Expr]) -> Option<SqlType> {
        let first = || self.type_of(args.first()?);
        match name {
            "COLLATE" | "OVER" | "ROWS" | "DISTINCT" | "min" | "max" | "lag" | "lead" | "first_value"
            | "last_value" | "nth_value" => first(),
            "count" | "row_number" | "int8larger" | "int8smaller" => Some(SqlType::Int8),
            "trim_scale" | "div" | "numeric_larger" | "numeric_smaller" => Some(NUMERIC),
            "float8larger" | "float8smaller" => Some(SqlType::Float8),
            "EXISTS" | "AND" | "OR" | "NOT" => Some(SqlType::Bool),
            _ if is_comparison(name) => Some(SqlType::Bool),
            "jsonb_extract_path_text" | "jsonb_typeof" => Some(SqlType::Text),
            "timezone" => match self.type_of(args.get(1)?)? {
                SqlType::Timestamptz => Some(SqlType::Timestamp),
                SqlType::Timestamp => Some(SqlType::Timestamptz),
                _ => None,
            },
            "date_trunc" => match (self.type_of(args.get(1)?)?, args.len()) {
                (SqlType::Timestamp, 2) => Some(SqlType::Timestamp),
                (SqlType::Timestamptz, 3) => Some(SqlType::Timestamptz),
                _ => None,
            },
            "COALESCE" | "GREATEST" | "LEAST" | "NULLIF" => self.common(args.iter()),
            "CASE" => self.common(results(args)),
            // With digits, for numerics alone.
            "round" | "trunc" if args.len() == 2 => Some(NUMERIC),
            // Of whole numbers, in double precision.
            "ceil" | "floor" | "round" | "sign" | "trunc" => match first()? {
                SqlType::Numeric { .. } => Some(NUMERIC),
                t if t.is_integer() || t == SqlType::Float8 => Some(SqlType::Float8),
                _ => None,
            },
            "sum" => match args.first()? {
                Expr::Cast(_, ty) => sum_of(ty),
                Expr::Column(c) => sum_of(&self.column(c)?.ty?),
                _ => first().filter(|t| *t == NUMERIC),
            },
            "abs" => self.common(args.iter()).filter(SqlType::is_number),
            _ if name.split(' ').all(|o| ["+", "-", "*", "/", "%"].contains(&o)) => {
                let computed = |t: &SqlType| is_exact(t) || *t == SqlType::Float8;
                match self.common(args.iter()).filter(computed)? {
                    SqlType::Numeric { .. } => Some(NUMERIC),
                    t if t.is_integer() => Some(SqlType::Int8),
                    t => Some(t),
                }
            }
            _ if OF_TEXT.split(' ').any(|f| f == name) => {
                let text =
                    |a: &Expr| matches!(a, Expr::Text(_)) || self.type_of(a).is_some_and(|t| t.is_text());
                let all = if name == "||" { args } else { args.get(..1)? };
                all.iter().all(text).then_some(SqlType::Text)
            }
            _ => None,
        }
    }

    /// The type that values of these are brought to. Strings and NULL take that of the others.
    fn common<'e>(&self, list: impl Iterator<Item = &'e Expr>) -> Option<SqlType> {
        let typed = list.filter(|e| !matches!(e, Expr::Text(_) | Expr::Null));
        let types: Option<Vec<SqlType>> = typed.map(|e| self.type_of(e)).collect();
        let types = types?;
        let first = types.first()?;
        match types.iter().all(|t| t == first) {
            true => Some(first.clone()),
            false if types.iter().all(SqlType::is_integer) => Some(SqlType::Int8),
            false if types.iter().all(is_exact) => Some(NUMERIC),
            false if types.contains(&SqlType::Float8) && types.iter().all(SqlType::is_number) => {
                Some(SqlType::Float8)
            }
            false => None,
        }
    }

    /// Texts that are equal under the collation of this expression are the same.
    pub fn is_deterministic(&self, e: &Expr) -> bool {
        match e {
            Expr::Column(c) => self.column(c).is_some_and(|c| c.deterministic),
            Expr::Cast(x, ty) => !is_collated(ty) || self.is_deterministic(x),
            // The default collation is deterministic.
            Expr::Call(name, _) if name == "COLLATE" => true,
            // Truth values have no collation, nor does what a CASE chooses by reach what it gives.
            Expr::Call(..) if self.type_of(e) == Some(SqlType::Bool) => true,
            Expr::Call(name, args) if name == "CASE" => results(args).all(|a| self.is_deterministic(a)),
            Expr::Call(_, args) => args.iter().all(|a| self.is_deterministic(a)),
            _ => true,
        }
    }

    /// Numbers without zeros behind the last digit.
    pub fn is_trimmed(&self, e: &Expr) -> bool {
        match e {
            Expr::Column(c) if self.column(c).is_some_and(|c| c.trimmed) => true,
            Expr::Cast(x, ty) if *ty == NUMERIC => self.is_trimmed(x),
            Expr::Call(name, args) if ["min", "max", "OVER", "DISTINCT"].contains(&name.as_str()) => {
                args.first().is_some_and(|x| self.is_trimmed(x))
            }
            e => e.call("trim_scale").is_some() || self.type_of(e).is_some_and(|t| t.is_integer()),
        }
    }

    /// Equal values of it are the same bytes.
    pub fn is_alone(&self, e: &Expr) -> bool {
        self.known(e).is_alone()
    }

    /// Different values of it have different texts, under whatever settings. Texts of floats have as many digits as a session
    /// wants, and those of character(n) no blanks at the end.
    pub fn is_told_by_text(&self, e: &Expr) -> bool {
        use SqlType::{Cidr, Enum, Inet, Interval, Numeric, Uuid};
        self.type_of(e).is_some_and(|t| match t {
            Numeric { .. } | Interval | Uuid | Inet | Cidr | Enum { .. } => true,
            t => t.is_integer() || t.is_text() && self.is_deterministic(e),
        })
    }
}

/// The type of a sum of such.
pub(crate) fn sum_of(ty: &SqlType) -> Option<SqlType> {
    match ty {
        SqlType::Int2 | SqlType::Int4 => Some(SqlType::Int8),
        SqlType::Int8 | SqlType::Numeric { .. } => Some(NUMERIC),
        _ => None,
    }
}

/// What a CASE can give.
pub(crate) fn results(args: &[Expr]) -> impl Iterator<Item = &Expr> {
    args.iter().enumerate().filter(|(i, _)| i % 2 == 1 || i + 1 == args.len()).map(|(_, e)| e)
}
