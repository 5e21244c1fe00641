//! Constants: numbers, strings, intervals, and parameters that Bind brings a value for.

use super::{Resolver, Result};
use crate::ast::*;
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;

/// 42P02: no such parameter.
const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");

impl Resolver<'_> {
    pub(super) fn value(&mut self, v: &sp::Value, pos: Pos) -> Result<ExprKind> {
        use sp::Value as V;
        Ok(ExprKind::Literal(match v {
            V::Number(n, _) => Literal::Number(self.number(n, pos)?),
            V::SingleQuotedString(s) | V::EscapedStringLiteral(s) | V::UnicodeStringLiteral(s) => {
                Literal::String(s.clone())
            }
            V::DollarQuotedString(s) => Literal::String(s.value.clone()),
            V::Boolean(b) => Literal::Bool(*b),
            V::Null => Literal::Null,
            V::Placeholder(p) => return self.param(p, pos),
            other => return Err(self.unsupported(&format!("the constant {other}"), pos)),
        }))
    }

    /// `$1` to `$65535`: as many as Bind can bring.
    fn param(&self, name: &str, pos: Pos) -> Result<ExprKind> {
        let number = name.strip_prefix('$').and_then(|n| n.parse::<u16>().ok()).filter(|n| *n > 0);
        match number {
            Some(n) => Ok(ExprKind::Param(usize::from(n))),
            None if name.starts_with('$') => {
                Err(ClientError::new(UNDEFINED_PARAMETER, format!("there is no parameter {name}")).at(pos))
            }
            None => {
                let m = format!("syntax error at or near \"{name}\"");
                Err(ClientError::new(SqlState::SYNTAX_ERROR, m)
                    .hint("Parameters are written $1, $2, ….")
                    .at(pos))
            }
        }
    }

    /// Decimal digits, one point, an exponent of at most three digits.
    fn number(&self, n: &str, pos: Pos) -> Result<String> {
        let (mantissa, exponent) = n.split_once(['e', 'E']).unwrap_or((n, "0"));
        let digits = mantissa.chars().all(|c| c.is_ascii_digit() || c == '.') && mantissa.len() <= 1000;
        let small = exponent.parse::<i32>().is_ok_and(|e| e.abs() <= 300);
        if digits && small && mantissa.chars().any(|c| c.is_ascii_digit()) {
            Ok(n.to_owned())
        } else {
            Err(ClientError::new(SqlState::SYNTAX_ERROR, "a numeric constant is out of range").at(pos))
        }
    }

    pub(super) fn interval(&mut self, i: &sp::Interval, pos: Pos) -> Result<ExprKind> {
        let sp::Expr::Value(v) = &*i.value else {
            return Err(self.unsupported("an INTERVAL that is not a constant", pos));
        };
        let (sp::Value::SingleQuotedString(text), None, None, None) =
            (&v.value, &i.last_field, &i.leading_precision, &i.fractional_seconds_precision)
        else {
            return Err(self.unsupported("this form of INTERVAL", pos).hint("Write INTERVAL '90 minutes'."));
        };
        Ok(ExprKind::Interval(match &i.leading_field {
            None => text.clone(),
            // INTERVAL '5' DAY
            Some(field) if text.trim().parse::<f64>().is_ok() => {
                format!("{} {field}", text.trim()).to_lowercase()
            }
            Some(_) => {
                return Err(self.unsupported("this form of INTERVAL", pos).hint("Write INTERVAL '5 days'."));
            }
        }))
    }
}
