//! The type of an expression, as far as it is known, and whether equal values of it are the same bytes.

use super::facts::{Column, Form, Scans, is_exact};
use grammar::tree::Expr;
use schema::SqlType;

pub(crate) const NUMERIC: SqlType = SqlType::Numeric { scale: None };

/// What is of one type, whatever it is of.
const GIVES: &[(SqlType, &str)] = &[
    (SqlType::Bool, "AND OR NOT EXISTS bool_and bool_or every starts_with texticregexeq textregexeq"),
    (SqlType::Int4, "ntile octet_length pg_column_size strpos width_bucket"),
    (SqlType::Int8, "count dense_rank int8larger int8smaller rank row_number"),
    (NUMERIC, "div numeric_larger numeric_smaller trim_scale"),
    (
        SqlType::Float8,
        "atan atan2 cbrt cos cume_dist degrees float8larger float8smaller percent_rank radians sin tan",
    ),
    (SqlType::Text, "jsonb_extract_path_text jsonb_typeof md5 to_char"),
    (SqlType::Date, "date_larger date_smaller make_date"),
    (SqlType::Timestamp, "timestamp_larger timestamp_smaller"),
    (SqlType::Timestamptz, "timestamptz_larger timestamptz_smaller to_timestamp"),
    (SqlType::Interval, "age"),
];
/// Of texts they give a text, but for the length of one; there are others by these names.
const OF_TEXT: &str =
    "|| btrim initcap left length lower ltrim replace reverse right rtrim split_part substr translate upper";
/// Of numerics they give a numeric, and of other numbers one in double precision.
const ROUGHLY: &str = "ceil exp floor ln log power round sign sqrt trunc";
/// Functions that choose among values, which are brought to one type.
pub(crate) const CHOICES: &str = "COALESCE GREATEST LEAST NULLIF";

/// What looks at nothing of a value but what it equals, and gives one form.
const COMPARE: &str =
    "=,<>,<,<=,>,>=,BETWEEN,NOT BETWEEN,IN,NOT IN,IS NULL,IS NOT NULL,IS DISTINCT FROM,IS NOT DISTINCT FROM";

/// Whether a list has this name.
pub(crate) fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|n| n == name)
}

/// Whether a function compares, and looks at nothing but what values equal.
pub(crate) fn is_comparison(name: &str) -> bool {
    COMPARE.split(',').any(|n| n == name)
}

/// Whether a name is an operator of arithmetic: which of several binds first is not known.
pub(crate) fn is_arithmetic(name: &str) -> bool {
    name.split(' ').all(|o| is_in("+ - * / %", o))
}

/// What operators make of times.
fn computed(op: &str, a: &SqlType, b: &SqlType) -> Option<SqlType> {
    use SqlType::{Date, Int4, Interval, Time, Timestamp, Timestamptz};
    match (op, a, b) {
        ("-", Date, Date) => Some(Int4),
        ("-", Timestamp | Date, Timestamp | Date) | ("-", Timestamptz, Timestamptz) | ("-", Time, Time) => {
            Some(Interval)
        }
        ("+" | "-", Interval, Interval) => Some(Interval),
        ("+" | "-", Date, Interval) | ("+", Interval, Date) => Some(Timestamp),
        ("+" | "-", t @ (Timestamp | Timestamptz | Time), Interval)
        | ("+", Interval, t @ (Timestamp | Timestamptz | Time)) => Some(t.clone()),
        ("+" | "-", Date, n) | ("+", n, Date) if n.is_integer() => Some(Date),
        ("*" | "/", Interval, n) | ("*", n, Interval) if n.is_number() => Some(Interval),
        _ => None,
    }
}

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
    pub fn is_alone(&self) -> bool {
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
    /// Facts about an expression as a column; its form aside.
    pub fn known(&self, e: &Expr) -> Column {
        let (deterministic, trimmed) = (self.is_deterministic(e), self.is_trimmed(e));
        Column { deterministic, trimmed, ..Column::of(self.type_of(e)) }
    }

    /// Type of an expression; None where it is not known. Of integers it may be a wider one.
    pub fn type_of(&self, e: &Expr) -> Option<SqlType> {
        match e {
            Expr::Column(c) => self.column(c)?.ty,
            Expr::Cast(_, ty) => Some(ty.clone()),
            Expr::Number(n) if n.parse::<i64>().is_ok() => Some(SqlType::Int8),
            Expr::Number(_) => Some(NUMERIC),
            Expr::Bool(_) => Some(SqlType::Bool),
            Expr::Call(name, args) => self.type_of_call(name, args),
            Expr::Text(_) | Expr::Null | Expr::Rows(_) => None,
        }
    }

    pub fn type_of_call(&self, name: &str, args: &[Expr]) -> Option<SqlType> {
        if let Some((ty, _)) = GIVES.iter().find(|(_, names)| is_in(names, name)) {
            return Some(ty.clone());
        }
        let type_at = |at: usize| self.type_of(args.get(at)?);
        match name {
            "COLLATE" | "OVER" | "ROWS" | "DISTINCT" | "min" | "max" | "lag" | "lead" | "first_value"
            | "last_value" | "nth_value" => type_at(0),
            _ if is_comparison(name) => Some(SqlType::Bool),
            "timezone" => match type_at(1)? {
                SqlType::Timestamptz => Some(SqlType::Timestamp),
                SqlType::Timestamp => Some(SqlType::Timestamptz),
                _ => None,
            },
            "date_trunc" => match (type_at(1)?, args.len()) {
                (ty @ SqlType::Timestamp, 2) | (ty @ SqlType::Timestamptz, 3) => Some(ty),
                _ => None,
            },
            "CASE" => self.common(results(args)),
            _ if is_in(CHOICES, name) => self.common(args.iter()),
            "round" | "trunc" | "log" if args.len() == 2 => Some(NUMERIC),
            _ if is_in(ROUGHLY, name) => match self.common(args.iter())? {
                SqlType::Numeric { .. } => Some(NUMERIC),
                t => t.is_number().then_some(SqlType::Float8),
            },
            "sum" => match args.first()? {
                Expr::Call(name, args) if name == "DISTINCT" => self.type_of_call("sum", args),
                Expr::Cast(..) | Expr::Column(_) => match type_at(0)? {
                    SqlType::Int2 | SqlType::Int4 => Some(SqlType::Int8),
                    t => is_exact(&t).then_some(NUMERIC),
                },
                // What is computed of integers may be of a narrower type than is known.
                _ => type_at(0).filter(|t| *t == NUMERIC),
            },
            "abs" => self.common(args.iter()).filter(SqlType::is_number),
            _ if is_arithmetic(name) => {
                let types = self.types(args.iter())?;
                match (common(&types), types.as_slice()) {
                    (Some(SqlType::Numeric { .. }), _) => Some(NUMERIC),
                    (Some(SqlType::Float8), _) => Some(SqlType::Float8),
                    (Some(t), _) if t.is_integer() => Some(SqlType::Int8),
                    (_, [a, b]) if args.len() == 2 => computed(name, a, b),
                    _ => None,
                }
            }
            _ if is_in(OF_TEXT, name) => {
                let all = if name == "||" { args } else { args.get(..1)? };
                let ty = if name == "length" { SqlType::Int4 } else { SqlType::Text };
                self.types(all.iter())?.iter().all(SqlType::is_text).then_some(ty)
            }
            _ => None,
        }
    }

    /// The type that values of these are brought to.
    fn common<'e>(&self, list: impl Iterator<Item = &'e Expr>) -> Option<SqlType> {
        common(&self.types(list)?)
    }

    /// Types of a list. Strings and NULL take that of the others.
    pub fn types<'e>(&self, list: impl Iterator<Item = &'e Expr>) -> Option<Vec<SqlType>> {
        list.filter(|e| !matches!(e, Expr::Text(_) | Expr::Null)).map(|e| self.type_of(e)).collect()
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

/// The type that values of these types are brought to.
fn common(types: &[SqlType]) -> Option<SqlType> {
    let all = |is: fn(&SqlType) -> bool| types.iter().all(is);
    match types.first()? {
        first if types.iter().all(|t| t == first) => Some(first.clone()),
        _ if all(SqlType::is_integer) => Some(SqlType::Int8),
        _ if all(is_exact) => Some(NUMERIC),
        _ if all(SqlType::is_number) && types.contains(&SqlType::Float8) => Some(SqlType::Float8),
        _ => None,
    }
}

/// Results that a CASE can give.
pub(crate) fn results(args: &[Expr]) -> impl Iterator<Item = &Expr> + Clone {
    args.iter().enumerate().filter(|(i, _)| i % 2 == 1 || i + 1 == args.len()).map(|(_, e)| e)
}
