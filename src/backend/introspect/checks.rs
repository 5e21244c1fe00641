//! CHECK constraints that bound one column, read from what `pg_get_constraintdef` prints.
//!
//! Only forms whose meaning is certain are read: `column <op> literal`, `column = ANY (ARRAY[literals])`, and
//! AND of these. A literal under a cast counts only where the cast cannot change it. A NULL anywhere makes a
//! comparison NULL, which a CHECK lets pass, so a list that holds one proves nothing.

use schema::{Check, Column, SqlType};
use sqlparser::ast::{
    Array, BinaryOperator, DataType, ExactNumberInfo, Expr, TimezoneInfo, UnaryOperator, Value,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

/// The bounds in one definition; empty where its form is not known.
pub(super) fn parse(definition: &str, columns: &[Column]) -> Vec<Check> {
    let Some(text) = definition.strip_prefix("CHECK ") else { return Vec::new() };
    let dialect = PostgreSqlDialect {};
    let Ok(mut parser) = Parser::new(&dialect).try_with_sql(text) else { return Vec::new() };
    let Ok(expr) = parser.parse_expr() else { return Vec::new() };
    // Anything behind the expression (NOT VALID, NO INHERIT, NOT ENFORCED) would weaken it.
    if parser.peek_token().token != sqlparser::tokenizer::Token::EOF {
        return Vec::new();
    }
    let mut checks = Vec::new();
    conjuncts(&expr, columns, &mut checks);
    checks
}

fn conjuncts(expr: &Expr, columns: &[Column], checks: &mut Vec<Check>) {
    match expr {
        Expr::Nested(inner) => conjuncts(inner, columns, checks),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjuncts(left, columns, checks);
            conjuncts(right, columns, checks);
        }
        _ => checks.extend(one(expr, columns)),
    }
}

fn one(expr: &Expr, columns: &[Column]) -> Option<Check> {
    match expr {
        Expr::BinaryOp { left, op, right } => match column(left, columns) {
            Some(c) => comparison(c, op, right),
            None => comparison(column(right, columns)?, &mirrored(op)?, left),
        },
        Expr::Between { expr, negated: false, low, high } => {
            let c = column(expr, columns)?;
            let (low, high) = (literal(low, &c.ty)?, literal(high, &c.ty)?);
            Some(Check { column: c.name.clone(), low: Some(low), high: Some(high), values: None })
        }
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } => {
            let c = column(left, columns)?;
            let values = array(right)?.elem.iter().map(|e| literal(e, &c.ty)).collect::<Option<Vec<_>>>()?;
            Some(Check { column: c.name.clone(), low: None, high: None, values: Some(distinct(values)) })
        }
        Expr::InList { expr, list, negated: false } => {
            let c = column(expr, columns)?;
            let values = list.iter().map(|e| literal(e, &c.ty)).collect::<Option<Vec<_>>>()?;
            Some(Check { column: c.name.clone(), low: None, high: None, values: Some(distinct(values)) })
        }
        _ => None,
    }
}

fn distinct(mut values: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    values.retain(|v| seen.insert(v.clone()));
    values
}

/// `op` with its sides exchanged.
fn mirrored(op: &BinaryOperator) -> Option<BinaryOperator> {
    Some(match op {
        BinaryOperator::Gt => BinaryOperator::Lt,
        BinaryOperator::GtEq => BinaryOperator::LtEq,
        BinaryOperator::Lt => BinaryOperator::Gt,
        BinaryOperator::LtEq => BinaryOperator::GtEq,
        BinaryOperator::Eq => BinaryOperator::Eq,
        _ => return None,
    })
}

fn comparison(c: &Column, op: &BinaryOperator, value: &Expr) -> Option<Check> {
    let value = literal(value, &c.ty)?;
    let mut check = Check { column: c.name.clone(), low: None, high: None, values: None };
    // A strict bound is one off for integers; elsewhere the closed interval is a safe superset.
    let integer = if c.ty.is_integer() { value.parse::<i64>().ok() } else { None };
    match op {
        BinaryOperator::GtEq => check.low = Some(value),
        BinaryOperator::LtEq => check.high = Some(value),
        BinaryOperator::Gt => {
            check.low = Some(integer.and_then(|n| n.checked_add(1)).map_or(value, |n| n.to_string()));
        }
        BinaryOperator::Lt => {
            check.high = Some(integer.and_then(|n| n.checked_sub(1)).map_or(value, |n| n.to_string()));
        }
        BinaryOperator::Eq => check.values = Some(vec![value]),
        _ => return None,
    }
    Some(check)
}

/// The column that stands alone here, or under the cast to text that PostgreSQL adds to a varchar.
fn column<'a>(expr: &Expr, columns: &'a [Column]) -> Option<&'a Column> {
    match expr {
        Expr::Nested(inner) => column(inner, columns),
        Expr::Identifier(ident) => columns.iter().find(|c| c.name == ident.value),
        Expr::Cast { expr, data_type: DataType::Text, .. } => {
            column(expr, columns).filter(|c| matches!(c.ty, SqlType::Varchar))
        }
        _ => None,
    }
}

/// The array of `= ANY (…)`, under the casts of varchar lists to `text[]`.
fn array(expr: &Expr) -> Option<&Array> {
    match expr {
        Expr::Nested(inner) => array(inner),
        Expr::Array(array) => Some(array),
        Expr::Cast { expr, data_type: DataType::Array(of), .. } => match of {
            sqlparser::ast::ArrayElemTypeDef::SquareBracket(element, None)
                if matches!(**element, DataType::Text) =>
            {
                array(expr)
            }
            _ => None,
        },
        _ => None,
    }
}

/// A literal for a column of type `ty`, as plain text; None where a cast might change it.
fn literal(expr: &Expr, ty: &SqlType) -> Option<String> {
    match expr {
        Expr::Nested(inner) => literal(inner, ty),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(v) => match &v.value {
                Value::Number(n, _) => plain(&format!("-{n}"), ty),
                _ => None,
            },
            Expr::Nested(inner) => {
                literal(inner, ty).filter(|n| ty.is_number() && !n.starts_with('-')).map(|n| format!("-{n}"))
            }
            _ => None,
        },
        Expr::Value(v) => match &v.value {
            Value::Number(n, _) => plain(n, ty),
            Value::SingleQuotedString(s) => plain(s, ty),
            Value::Boolean(b) if *ty == SqlType::Bool => Some(b.to_string()),
            _ => None,
        },
        Expr::Cast { expr, data_type, .. } => {
            let value = literal(expr, ty)?;
            keeps(data_type, &value, ty).then_some(value)
        }
        _ => None,
    }
}

/// The literal is of the column's kind, in the one notation that the rest of the program reads.
fn plain(text: &str, ty: &SqlType) -> Option<String> {
    let ok = if ty.is_number() {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        let all_digits = |s: &str| !s.is_empty() && s.len() <= 60 && s.bytes().all(|b| b.is_ascii_digit());
        all_digits(whole) && all_digits(fraction)
    } else if ty.is_datetime() {
        // ISO only: year, month, day. What follows is read where it is used.
        text.len() <= 40 && text.as_bytes().get(4) == Some(&b'-') && text.as_bytes().get(7) == Some(&b'-')
    } else {
        ty.is_text() || matches!(ty, SqlType::Enum { .. } | SqlType::Bool)
    };
    ok.then(|| text.to_owned())
}

/// The cast returns the very value that the text names.
fn keeps(to: &DataType, value: &str, ty: &SqlType) -> bool {
    match to {
        DataType::SmallInt(None) | DataType::Integer(None) | DataType::BigInt(None) | DataType::Int(None) => {
            ty.is_number() && !value.contains('.')
        }
        DataType::Numeric(ExactNumberInfo::None) => ty.is_number(),
        DataType::DoublePrecision => ty.is_number(),
        DataType::Text | DataType::CharacterVarying(None) | DataType::Varchar(None) => {
            ty.is_text() || matches!(ty, SqlType::Enum { .. })
        }
        // Between timestamptz and the others a comparison depends on the session's time zone.
        DataType::Date => matches!(ty, SqlType::Date | SqlType::Timestamp) && value.len() == 10,
        DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            matches!(ty, SqlType::Date | SqlType::Timestamp)
        }
        DataType::Timestamp(None, TimezoneInfo::WithTimeZone) => *ty == SqlType::Timestamptz,
        DataType::Boolean => *ty == SqlType::Bool,
        // An enum's literal is cast to the enum itself; only a literal of that type compares with the column.
        DataType::Custom(_, modifiers) => modifiers.is_empty() && matches!(ty, SqlType::Enum { .. }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    fn columns() -> Vec<Column> {
        let types = [
            ("i", SqlType::Int4),
            ("n", SqlType::Numeric { scale: Some(2) }),
            ("f", SqlType::Float8),
            ("t", SqlType::Text),
            ("v", SqlType::Varchar),
            ("d", SqlType::Date),
            ("ts", SqlType::Timestamp),
            ("e", SqlType::Enum { oid: 9, name: "public.mood".into() }),
        ];
        types
            .into_iter()
            .zip(1..)
            .map(|((name, ty), attnum)| Column {
                name: name.into(),
                attnum,
                ty,
                numeric_precision: None,
                virtual_expression: false,
                not_null: true,
                deterministic_collation: true,
                enum_labels: None,
            })
            .collect()
    }

    fn read(definition: &str) -> Vec<String> {
        parse(definition, &columns())
            .into_iter()
            .map(|c| match c.values {
                Some(v) => format!("{} in {}", c.column, v.join("|")),
                None => format!("{} {}..{}", c.column, c.low.unwrap_or_default(), c.high.unwrap_or_default()),
            })
            .collect()
    }

    #[test]
    fn forms_that_postgresql_prints() {
        for (definition, expected) in [
            ("CHECK ((i >= 0))", vec!["i 0.."]),
            ("CHECK ((i > 0))", vec!["i 1.."]),
            ("CHECK ((0 < i))", vec!["i 1.."]),
            ("CHECK ((i <= '-5'::integer))", vec!["i ..-5"]),
            ("CHECK ((i <= (- 5)))", vec!["i ..-5"]),
            ("CHECK (((i >= 0) AND (i <= 10)))", vec!["i 0..", "i ..10"]),
            ("CHECK (((i >= 0) AND (n < 10.5)))", vec!["i 0..", "n ..10.5"]),
            ("CHECK ((n >= (0)::numeric))", vec!["n 0.."]),
            ("CHECK ((f <= (100)::double precision))", vec!["f ..100"]),
            ("CHECK ((f <= '-0.5'::numeric))", vec!["f ..-0.5"]),
            ("CHECK ((t = ANY (ARRAY['a'::text, 'it''s'::text])))", vec!["t in a|it's"]),
            (
                "CHECK (((v)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[])))",
                vec!["v in a|b"],
            ),
            ("CHECK ((i = ANY (ARRAY[1, 2, '-3'::integer])))", vec!["i in 1|2|-3"]),
            ("CHECK ((d >= '2020-01-01'::date))", vec!["d 2020-01-01.."]),
            (
                "CHECK ((ts < '2020-01-01 00:00:00'::timestamp without time zone))",
                vec!["ts ..2020-01-01 00:00:00"],
            ),
            ("CHECK ((e = ANY (ARRAY['sad'::public.mood, 'ok'::public.mood])))", vec!["e in sad|ok"]),
        ] {
            assert_eq!(read(definition), expected, "{definition}");
        }
    }

    #[test]
    fn rule_07_what_is_not_certain_bounds_nothing() {
        for definition in [
            "CHECK ((i >= 0)) NO INHERIT",
            "CHECK ((i >= 0)) NOT VALID",
            "CHECK (((i >= 0) OR (n > 1)))",
            "CHECK ((NOT (i >= 0)))",
            // NULL in the list lets every value pass.
            "CHECK ((i = ANY (ARRAY[1, NULL::integer])))",
            "CHECK ((i >= NULL::integer))",
            // The cast rounds.
            "CHECK ((n <= (5.6)::integer))",
            "CHECK ((n <= (5.66)::numeric(3,1)))",
            "CHECK ((t = ('abc'::character varying(2))::text))",
            // Another value than the column's.
            "CHECK (((n)::integer <= 5))",
            "CHECK ((abs(i) <= 5))",
            "CHECK ((i OPERATOR(public.<=) 5))",
            "CHECK ((n <= 'NaN'::numeric))",
            "CHECK ((f <= 'Infinity'::double precision))",
            "CHECK ((i <> 0))",
            "CHECK ((i <> ALL (ARRAY[1, 2])))",
            "CHECK ((i <= n))",
            "CHECK ((d >= '01/02/2020'::date))",
            "CHECK ((ts >= '2020-01-01 00:00:00+00'::timestamp with time zone))",
            "CHECK ((",
            "",
        ] {
            assert_eq!(read(definition), Vec::<String>::new(), "{definition}");
        }
    }
}
