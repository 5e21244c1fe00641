//! Expressions of one row: whatever is not listed here is refused.
//!
//! Operators whose precedence two parsers could see differently stand in brackets, or the text is refused.

use super::classes::{Col, Term};
use super::names::{Callee, arguments, callee, cast_type, catalog, ident};
use super::rows::{Frame, strip, uncollated};
use super::shape::{plain_query, plain_select, select_of};
use super::types::{arithmetic, of as type_of};
use super::{Result, refuse};
use sqlparser::ast::*;

/// Levels of a tree; what is walked later was walked here before.
const LEVELS: usize = 700;

/// What may stand in an expression, here.
#[derive(Clone, Copy, Default)]
pub(crate) struct Allowed {
    /// EXISTS and IN.
    pub subqueries: bool,
    /// count and sum, outermost ones.
    pub aggregates: bool,
    /// `$1`.
    pub seed: bool,
}

/// The column that an expression is.
pub(crate) fn column_of(e: &Expr) -> Option<Col> {
    match strip(e) {
        Expr::CompoundIdentifier(names) => match names.as_slice() {
            [scan, column] => Some((ident(scan).ok()?, ident(column).ok()?)),
            _ => None,
        },
        _ => None,
    }
}

/// The term that an expression is: a column, or COALESCE of columns.
pub(crate) fn term_of(e: &Expr) -> Option<Term> {
    if let Expr::Function(f) = strip(e) {
        return match (callee(f), arguments(f)) {
            (Ok(Callee::Keyword(name)), Ok((args, false, false))) if name == "coalesce" => {
                // Which of them is there does not depend on the collation that they are shown under.
                let bare = |e| match strip(e) {
                    Expr::Collate { expr, .. } => column_of(expr),
                    e => column_of(e),
                };
                args.into_iter().map(bare).collect()
            }
            _ => None,
        };
    }
    column_of(e).map(|c| vec![c])
}

/// The conditions that AND joins.
pub(crate) fn conjuncts(e: Option<&Expr>) -> Vec<&Expr> {
    let mut out = Vec::new();
    let mut open: Vec<&Expr> = e.into_iter().collect();
    while let Some(e) = open.pop() {
        match strip(e) {
            Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
                open.extend([right, left].map(Box::as_ref))
            }
            _ => out.push(e),
        }
    }
    out
}

/// How loosely the outermost operator binds.
fn level(e: &Expr) -> u8 {
    match e {
        Expr::Collate { .. } => 1,
        Expr::UnaryOp { op: UnaryOperator::Minus, .. } => 2,
        Expr::BinaryOp { op, .. } if arithmetic(op) => 2,
        Expr::BinaryOp { op: BinaryOperator::And, .. } => 5,
        Expr::BinaryOp { op: BinaryOperator::Or, .. } => 6,
        Expr::UnaryOp { .. } | Expr::Exists { negated: true, .. } => 4,
        Expr::CompoundIdentifier(_)
        | Expr::Value(_)
        | Expr::Nested(_)
        | Expr::Function(_)
        | Expr::Case { .. }
        | Expr::Cast { .. }
        | Expr::Exists { .. }
        | Expr::Extract { .. } => 0,
        _ => 3,
    }
}

/// Checks an expression, and notes the columns that it looks at, those inside of subqueries left out.
pub(crate) fn walk(e: &Expr, frame: &Frame<'_>, allowed: Allowed, seen: &mut Vec<Col>) -> Result<()> {
    Walk { frame, allowed, seen, level: 0 }.expression(e)
}

struct Walk<'a, 'f> {
    frame: &'a Frame<'f>,
    allowed: Allowed,
    seen: &'a mut Vec<Col>,
    level: usize,
}

impl Walk<'_, '_> {
    fn within(&mut self, e: &Expr, most: u8) -> Result<()> {
        if level(e) > most {
            return refuse("operators without brackets", e);
        }
        self.expression(e)
    }

    fn each<'e>(&mut self, list: impl IntoIterator<Item = &'e Expr>, most: u8) -> Result<()> {
        list.into_iter().try_for_each(|e| self.within(e, most))
    }

    fn expression(&mut self, e: &Expr) -> Result<()> {
        self.level += 1;
        if self.level > LEVELS {
            return refuse("an expression nested too deeply", "");
        }
        self.node(e)?;
        self.level -= 1;
        Ok(())
    }

    fn node(&mut self, e: &Expr) -> Result<()> {
        match e {
            Expr::CompoundIdentifier(_) => match column_of(e) {
                Some(c) if self.frame.column(&c).is_some() => {
                    self.seen.push(c);
                    Ok(())
                }
                _ => refuse("a column that the policy does not show", e),
            },
            Expr::Value(v) => self.value(&v.value),
            Expr::Nested(x) => self.expression(x),
            Expr::IsNull(x)
            | Expr::IsNotNull(x)
            | Expr::IsTrue(x)
            | Expr::IsNotTrue(x)
            | Expr::IsFalse(x)
            | Expr::IsNotFalse(x)
            | Expr::IsUnknown(x)
            | Expr::IsNotUnknown(x) => self.within(x, 2),
            Expr::IsDistinctFrom(a, b) | Expr::IsNotDistinctFrom(a, b) => self.each([&**a, b], 2),
            Expr::InList { expr, list, .. } => {
                self.within(expr, 2)?;
                self.each(list, 6)
            }
            Expr::Between { expr, low, high, .. } => self.each([&**expr, low, high], 2),
            Expr::Like { any: false, expr, pattern, escape_char, .. }
            | Expr::ILike { any: false, expr, pattern, escape_char, .. } => {
                self.each([&**expr, pattern].into_iter().chain(escape_char.as_deref()), 2)
            }
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => self.within(expr, 0),
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => self.within(expr, 3),
            Expr::BinaryOp { .. } => self.binary(e),
            Expr::Cast { kind: CastKind::DoubleColon | CastKind::Cast, expr, data_type, format: None } => {
                cast_type(data_type, self.frame.context.policy)?;
                self.within(expr, 0)
            }
            Expr::Collate { expr, collation } => match catalog(collation)?.as_deref() {
                Some("default") => self.within(expr, 0),
                _ => refuse("a collation that is not the default", collation),
            },
            Expr::Extract { field, syntax: ExtractSyntax::From, expr }
                if !matches!(field, DateTimeField::Custom(_) | DateTimeField::Week(Some(_))) =>
            {
                self.within(expr, 2)
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                let parts = conditions.iter().flat_map(|c| [&c.condition, &c.result]);
                self.each(operand.as_deref().into_iter().chain(parts).chain(else_result.as_deref()), 6)
            }
            Expr::Function(f) => self.call(f, e),
            Expr::Exists { subquery, .. } => self.subquery(subquery, false),
            Expr::InSubquery { expr, subquery, .. } => {
                self.within(expr, 2)?;
                self.subquery(subquery, true)
            }
            _ => refuse("an expression of an unknown kind", e),
        }
    }

    fn value(&mut self, v: &Value) -> Result<()> {
        let digits = |n: &str| {
            let (mantissa, exponent) = n.split_once('e').unwrap_or((n, "0"));
            let plain = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
            let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
            plain(whole) && plain(part) && plain(exponent.trim_start_matches(['+', '-']))
        };
        match v {
            Value::Number(n, false) if digits(n) => Ok(()),
            Value::SingleQuotedString(_)
            | Value::EscapedStringLiteral(_)
            | Value::Boolean(_)
            | Value::Null => Ok(()),
            Value::Placeholder(p) if p == "$1" && self.allowed.seed => Ok(()),
            _ => refuse("a constant of an unknown kind", v),
        }
    }

    fn binary(&mut self, e: &Expr) -> Result<()> {
        use BinaryOperator::{And, Eq, Gt, GtEq, Lt, LtEq, NotEq, Or, StringConcat};
        // Chains lean to the left, and may be long.
        let mut e = e;
        while let Expr::BinaryOp { left, op, right } = e {
            let most = match op {
                op if arithmetic(op) => 2,
                Eq | NotEq | Lt | LtEq | Gt | GtEq => 2,
                StringConcat => 1,
                And => 5,
                Or => 6,
                _ => return refuse("an operator that is not listed", op),
            };
            self.within(right, most)?;
            if level(left) > most {
                return refuse("operators without brackets", e);
            }
            e = left;
        }
        self.expression(e)
    }

    fn call(&mut self, f: &Function, e: &Expr) -> Result<()> {
        let called = callee(f)?;
        let (args, star, distinct) = arguments(f)?;
        let aggregate = matches!(called, Callee::Aggregate(_));
        if f.over.is_some() || called == Callee::RowNumber {
            return refuse("a window", e);
        }
        if (star || distinct) && !aggregate {
            return refuse("* or DISTINCT in a call", e);
        }
        if let Callee::Pure(name) = &called
            && name == "age"
            && args.len() != 2
        {
            return refuse("a function of the clock", e);
        }
        // Aggregates of aggregates there are none.
        let outside = self.allowed.aggregates;
        self.allowed.aggregates &= !aggregate;
        self.each(args.iter().copied(), 6)?;
        self.allowed.aggregates = outside;
        if let Callee::Aggregate(name) = &called {
            let counts = name == "count" && (star || args.len() == 1);
            // Floats add up differently in another order, which the rows of others could bring about.
            let exact = |x: &&Expr| type_of(x, self.frame, self.frame.context.policy).is_exact();
            if !self.allowed.aggregates || !(counts || (args.len() == 1 && args.iter().all(exact))) {
                return refuse("an aggregate that has no place here", e);
            }
        }
        Ok(())
    }

    fn subquery(&mut self, query: &Query, column: bool) -> Result<()> {
        if !self.allowed.subqueries {
            return refuse("a subquery that has no place here", query);
        }
        let select = select_of(plain_query(query)?)?;
        plain_select(select)?;
        if !matches!(&select.group_by, GroupByExpr::Expressions(g, m) if g.is_empty() && m.is_empty()) {
            return refuse("a subquery that groups", query);
        }
        // What the subquery holds is nested here, too.
        let frame = Frame::of(select, Some(self.frame), self.frame.context)?;
        let [SelectItem::UnnamedExpr(item)] = select.projection.as_slice() else {
            return refuse("a subquery of several columns", query);
        };
        if !column && !matches!(uncollated(item).0, Expr::Value(_)) {
            return refuse("EXISTS of more than a constant", query);
        }
        walk(item, &frame, Allowed { subqueries: true, ..Allowed::default() }, &mut Vec::new())
    }
}
