//! Expressions: syntax to our own few kinds.

use super::arrays::{array_literal, cast_array, is_placeholder, row};
use super::{Resolver, Result};
use crate::ast::*;
use crate::types::cast_type;
use answer::ClientError;
use sqlparser::ast as sp;

impl Resolver<'_> {
    pub(super) fn exprs(&mut self, list: &[sp::Expr]) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.expr(e)).collect()
    }

    fn boxed(&mut self, e: &sp::Expr) -> Result<Box<Expr>> {
        Ok(Box::new(self.expr(e)?))
    }

    pub(super) fn expr(&mut self, e: &sp::Expr) -> Result<Expr> {
        self.count_node()?;
        let pos = self.lines.start(e);
        match e {
            sp::Expr::Nested(inner) => self.expr(inner),
            sp::Expr::BinaryOp { left, op, right } => {
                Ok(Expr::new(self.operator(left, op, right, pos)?, pos))
            }
            other => self.other(other, pos),
        }
    }

    /// What is no chain of operators: of those there may be very many in each other, and each takes its place on the stack.
    #[inline(never)]
    fn other(&mut self, e: &sp::Expr, pos: Pos) -> Result<Expr> {
        let kind = match e {
            sp::Expr::Identifier(ident) => self.identifier(ident)?,
            sp::Expr::CompoundIdentifier(parts) => self.qualified(parts, pos)?,
            sp::Expr::Value(v) => self.value(&v.value, pos)?,
            sp::Expr::IsNull(e) => self.is(e, Is::Null, false)?,
            sp::Expr::IsNotNull(e) => self.is(e, Is::Null, true)?,
            sp::Expr::IsTrue(e) => self.is(e, Is::True, false)?,
            sp::Expr::IsNotTrue(e) => self.is(e, Is::True, true)?,
            sp::Expr::IsFalse(e) => self.is(e, Is::False, false)?,
            sp::Expr::IsNotFalse(e) => self.is(e, Is::False, true)?,
            sp::Expr::IsUnknown(e) => self.is(e, Is::Unknown, false)?,
            sp::Expr::IsNotUnknown(e) => self.is(e, Is::Unknown, true)?,
            sp::Expr::IsDistinctFrom(l, r) => self.distinct(BinaryOp::Distinct, l, r, pos)?,
            sp::Expr::IsNotDistinctFrom(l, r) => self.distinct(BinaryOp::NotDistinct, l, r, pos)?,
            sp::Expr::InList { expr, list, negated } if row(expr).is_some() => {
                return self.row_in_list(expr, list, *negated, pos);
            }
            sp::Expr::InList { expr, list, negated } => {
                if list.len() > self.limits.max_in_list {
                    return Err(crate::spend::too_large(
                        "an IN list",
                        "max_in_list",
                        self.limits.max_in_list,
                    )
                    .at(pos));
                }
                ExprKind::In { expr: self.boxed(expr)?, list: self.exprs(list)?, negated: *negated }
            }
            sp::Expr::InSubquery { expr, subquery, negated } => ExprKind::InQuery {
                expr: self.boxed(expr)?,
                query: Box::new(self.query(subquery)?),
                negated: *negated,
            },
            sp::Expr::Exists { subquery, negated } => {
                let mut query = self.query(subquery)?;
                let one = |e: &Expr| matches!(&e.kind, ExprKind::Literal(Literal::Number(n)) if n.parse::<u32>().is_ok_and(|n| n > 0));
                // Whether there is a row hangs on neither.
                if query.offset.is_none() && query.limit.as_ref().is_none_or(one) {
                    (query.limit, query.order_by) = (None, Vec::new());
                }
                ExprKind::Exists { query: Box::new(query), negated: *negated }
            }
            sp::Expr::Subquery(q) => ExprKind::Subquery(Box::new(self.query(q)?)),
            sp::Expr::Between { expr, negated, low, high } => match &**low {
                // SYMMETRIC, as `parse` spells it.
                sp::Expr::UnaryOp { op: sp::UnaryOperator::Not, expr: low } => {
                    let between = |this: &mut Self, low, high| {
                        this.count_node()?;
                        let (expr, low, high) = (this.boxed(expr)?, this.boxed(low)?, this.boxed(high)?);
                        Ok(Box::new(Expr::new(ExprKind::Between { expr, low, high, negated: *negated }, pos)))
                    };
                    let (left, right) = (between(self, low, high)?, between(self, high, low)?);
                    let op = if *negated { BinaryOp::And } else { BinaryOp::Or };
                    ExprKind::Binary { op, left, right }
                }
                _ => ExprKind::Between {
                    expr: self.boxed(expr)?,
                    low: self.boxed(low)?,
                    high: self.boxed(high)?,
                    negated: *negated,
                },
            },
            sp::Expr::UnaryOp { op, expr } => match op {
                sp::UnaryOperator::Minus => {
                    let inner = self.expr(expr)?;
                    match inner.kind {
                        // `-5` is a constant, in IN lists and domains too, and so is `- -5`: PostgreSQL's parser makes
                        // them so before they have a type (2147483648 is a bigint, -2147483648 an integer).
                        ExprKind::Literal(Literal::Number(n)) => {
                            let negated = n.strip_prefix('-').map_or_else(|| format!("-{n}"), str::to_owned);
                            ExprKind::Literal(Literal::Number(negated))
                        }
                        _ => ExprKind::Negate(Box::new(inner)),
                    }
                }
                sp::UnaryOperator::Plus => return self.expr(expr),
                sp::UnaryOperator::Not => ExprKind::Not(self.boxed(expr)?),
                other => return Err(self.unsupported(&format!("operator {other}"), pos)),
            },
            sp::Expr::AnyOp { left, compare_op, right, .. } => {
                self.any(left, compare_op, right, false, pos)?
            }
            sp::Expr::AllOp { left, compare_op, right } => self.any(left, compare_op, right, true, pos)?,
            sp::Expr::Like { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), false, *negated, pos)?
            }
            sp::Expr::ILike { negated, any: false, expr, pattern, escape_char } => {
                self.like(expr, pattern, escape_char.as_deref(), true, *negated, pos)?
            }
            sp::Expr::Like { negated, any: true, expr, pattern, escape_char } => {
                self.like_any(pattern, pos, |this, p| {
                    this.like(expr, p, escape_char.as_deref(), false, *negated, pos)
                })?
            }
            sp::Expr::ILike { negated, any: true, expr, pattern, escape_char } => {
                self.like_any(pattern, pos, |this, p| {
                    this.like(expr, p, escape_char.as_deref(), true, *negated, pos)
                })?
            }
            sp::Expr::SimilarTo { negated, expr, pattern, escape_char: None } => {
                self.matches(expr, pattern, Pattern::Similar, *negated)?
            }
            sp::Expr::Tuple(_) => {
                return Err(self
                    .unsupported("a row of values in this place", pos)
                    .hint("Rows may be compared with rows: (a, b) = (1, 2), (a, b) IN ((1, 2), (3, 4))."));
            }
            sp::Expr::Case { operand, conditions, else_result, .. } => {
                let before = self.spend.taken();
                let operand = operand.as_ref().map(|o| self.expr(o)).transpose()?;
                // Each branch has its own copy, and copies of copies grow fast: they count like what was written.
                let size = self.spend.taken() - before;
                let mut branches = Vec::with_capacity(conditions.len());
                for c in conditions {
                    let when = self.expr(&c.condition)?;
                    let when = match &operand {
                        None => when,
                        Some(o) => {
                            self.count_nodes(size.saturating_add(1))?;
                            let pos = when.pos;
                            let (left, right) = (Box::new(o.clone()), Box::new(when));
                            Expr::new(ExprKind::Binary { op: BinaryOp::Eq, left, right }, pos)
                        }
                    };
                    branches.push((when, self.expr(&c.result)?));
                }
                let otherwise = else_result.as_ref().map(|e| self.boxed(e)).transpose()?;
                ExprKind::Case { branches, otherwise }
            }
            sp::Expr::Cast {
                kind: sp::CastKind::Cast | sp::CastKind::DoubleColon,
                expr,
                data_type,
                format: None,
            } => ExprKind::Cast { expr: self.boxed(expr)?, ty: cast_type(data_type, pos)? },
            sp::Expr::TypedString(t) => {
                let value = self.value(&t.value.value, pos)?;
                let ty = cast_type(&t.data_type, pos)?;
                ExprKind::Cast { expr: Box::new(Expr::new(value, pos)), ty }
            }
            sp::Expr::Interval(i) => self.interval(i, pos)?,
            sp::Expr::Extract { field, expr, .. } => ExprKind::Extract {
                field: field.to_string().trim_matches('\'').to_lowercase(),
                expr: self.boxed(expr)?,
            },
            sp::Expr::AtTimeZone { timestamp, time_zone } => {
                ExprKind::AtTimeZone { expr: self.boxed(timestamp)?, zone: self.boxed(time_zone)? }
            }
            sp::Expr::Ceil {
                expr,
                field: sp::CeilFloorKind::DateTimeField(sp::DateTimeField::NoDateTime),
            } => ExprKind::Call { name: "ceil", args: vec![self.expr(expr)?] },
            sp::Expr::Floor {
                expr,
                field: sp::CeilFloorKind::DateTimeField(sp::DateTimeField::NoDateTime),
            } => ExprKind::Call { name: "floor", args: vec![self.expr(expr)?] },
            sp::Expr::Ceil { expr, field: sp::CeilFloorKind::Scale(s) } => {
                return Err(self.unsupported(&format!("ceil(…, {s})"), self.lines.start(&**expr)));
            }
            sp::Expr::Substring { expr, substring_from, substring_for, shorthand, .. } => {
                let mut args = vec![self.expr(expr)?];
                match (substring_from, substring_for) {
                    (Some(from), to) => {
                        args.push(self.expr(from)?);
                        if let Some(to) = to {
                            args.push(self.expr(to)?);
                        }
                    }
                    (None, Some(to)) => {
                        args.push(Expr::new(ExprKind::Literal(Literal::Number("1".into())), pos));
                        args.push(self.expr(to)?);
                    }
                    (None, None) => {}
                }
                ExprKind::Call { name: if *shorthand { "substr" } else { "substring" }, args }
            }
            sp::Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                let name = match trim_where {
                    Some(sp::TrimWhereField::Leading) => "ltrim",
                    Some(sp::TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let mut args = vec![self.expr(expr)?];
                if let Some(what) = trim_what {
                    args.push(self.expr(what)?);
                }
                ExprKind::Call { name, args }
            }
            sp::Expr::Position { expr, r#in } => {
                ExprKind::Call { name: "position", args: vec![self.expr(r#in)?, self.expr(expr)?] }
            }
            sp::Expr::Array(a) => ExprKind::Array(self.exprs(&a.elem)?),
            sp::Expr::Function(f) => return self.function(f),
            sp::Expr::Collate { .. } => return Err(self.unsupported("COLLATE", pos)),
            other => {
                let name = describe(other);
                return Err(self.unsupported(&name, pos));
            }
        };
        Ok(Expr::new(kind, pos))
    }

    fn is(&mut self, e: &sp::Expr, what: Is, negated: bool) -> Result<ExprKind> {
        Ok(ExprKind::Is { expr: self.boxed(e)?, what, negated })
    }

    pub(super) fn binary(&mut self, op: BinaryOp, left: &sp::Expr, right: &sp::Expr) -> Result<ExprKind> {
        Ok(ExprKind::Binary { op, left: self.boxed(left)?, right: self.boxed(right)? })
    }

    /// `x op ANY (…)`, `x op ALL (…)`: over a query or a list these are IN and NOT IN.
    fn any(
        &mut self,
        left: &sp::Expr,
        op: &sp::BinaryOperator,
        right: &sp::Expr,
        all: bool,
        pos: Pos,
    ) -> Result<ExprKind> {
        let Some(op) = comparison(op) else {
            return Err(self.unsupported(&format!("operator {op} with ANY or ALL"), pos));
        };
        let member = matches!((op, all), (BinaryOp::Eq, false) | (BinaryOp::Ne, true));
        let before = self.spend.taken();
        let expr = self.boxed(left)?;
        let size = self.spend.taken() - before;
        let mut right = right;
        while let sp::Expr::Nested(inner) = right {
            right = inner;
        }
        match right {
            sp::Expr::Subquery(q) if member => {
                Ok(ExprKind::InQuery { expr, query: Box::new(self.query(q)?), negated: all })
            }
            sp::Expr::Subquery(_) => {
                Err(self.unsupported("a comparison with ANY or ALL of a query in this place", pos).hint(
                    "It may stand in WHERE, among AND and OR; elsewhere compare with min or max: x > (SELECT min(y) FROM …).",
                ))
            }
            other => {
                if let Some(elements) = array_literal(other) {
                    return self.any_of_texts(op, (expr, size), elements, all, pos);
                }
                // A parameter's type is that of what it is compared with.
                let parameter = match other {
                    sp::Expr::Cast { expr, data_type: sp::DataType::Array(_), .. }
                        if is_placeholder(expr) =>
                    {
                        &**expr
                    }
                    other => other,
                };
                let array = match cast_array(other) {
                    Some((list, of)) => Box::new(Expr::new(self.cast_elements(list, of, pos)?, pos)),
                    None => self.boxed(parameter)?,
                };
                match array.kind {
                    ExprKind::Array(list) if member && !list.is_empty() => {
                        Ok(ExprKind::In { expr, list, negated: all })
                    }
                    ExprKind::Array(list) if !list.is_empty() => {
                        self.compared_with_each(op, (expr, size), list, all, pos)
                    }
                    _ => Ok(ExprKind::Any { op, expr, array, all }),
                }
            }
        }
    }

    /// An array of which each element is cast.
    fn cast_elements(&mut self, list: &[sp::Expr], of: &sp::DataType, pos: Pos) -> Result<ExprKind> {
        let ty = cast_type(of, pos)?;
        let cast = |x| Expr::new(ExprKind::Cast { expr: Box::new(x), ty: ty.clone() }, pos);
        Ok(ExprKind::Array(self.exprs(list)?.into_iter().map(cast).collect()))
    }

    fn distinct(&mut self, op: BinaryOp, left: &sp::Expr, right: &sp::Expr, pos: Pos) -> Result<ExprKind> {
        match (row(left), row(right)) {
            (Some(a), Some(b)) => self.rows(op, &a, &b, pos),
            _ => self.binary(op, left, right),
        }
    }

    fn operator(
        &mut self,
        left: &sp::Expr,
        op: &sp::BinaryOperator,
        right: &sp::Expr,
        pos: Pos,
    ) -> Result<ExprKind> {
        use sp::BinaryOperator as B;
        if let Some(op) = comparison(op) {
            if let (Some(a), Some(b)) = (row(left), row(right)) {
                return self.rows(op, &a, &b, pos);
            }
            return self.binary(op, left, right);
        }
        let builtin = builtin(op);
        let op = match builtin.as_ref().unwrap_or(op) {
            B::Plus => BinaryOp::Add,
            B::Minus => BinaryOp::Sub,
            B::Multiply => BinaryOp::Mul,
            B::Divide => BinaryOp::Div,
            B::Modulo => BinaryOp::Mod,
            B::StringConcat => BinaryOp::Concat,
            B::And => BinaryOp::And,
            B::Or => BinaryOp::Or,
            B::PGExp => {
                return Ok(ExprKind::Call { name: "power", args: vec![self.expr(left)?, self.expr(right)?] });
            }
            B::AtArrow | B::PGOverlap => return self.contains(left, op, right, pos),
            B::ArrowAt => return self.contains(right, op, left, pos),
            B::Arrow => BinaryOp::Member,
            B::LongArrow => BinaryOp::MemberText,
            B::HashLongArrow => BinaryOp::PathText,
            B::PGRegexMatch => return self.matches(left, right, Pattern::Regex, false),
            B::PGRegexNotMatch => return self.matches(left, right, Pattern::Regex, true),
            B::PGRegexIMatch => return self.matches(left, right, Pattern::RegexAnyCase, false),
            B::PGRegexNotIMatch => return self.matches(left, right, Pattern::RegexAnyCase, true),
            B::PGLikeMatch => return self.like(left, right, None, false, false, pos),
            B::PGNotLikeMatch => return self.like(left, right, None, false, true, pos),
            B::PGILikeMatch => return self.like(left, right, None, true, false, pos),
            B::PGNotILikeMatch => return self.like(left, right, None, true, true, pos),
            other => return Err(self.no_operator(other, pos)),
        };
        self.binary(op, left, right)
    }

    pub(super) fn no_operator(&self, op: &sp::BinaryOperator, pos: Pos) -> ClientError {
        let hint = "Arithmetic, comparison, logic, ||, LIKE, IN, BETWEEN, IS, ->, ->> and #>> are supported.";
        self.unsupported(&format!("operator {op}"), pos).hint(hint)
    }

    fn like(
        &mut self,
        expr: &sp::Expr,
        pattern: &sp::Expr,
        escape: Option<&sp::Expr>,
        insensitive: bool,
        negated: bool,
        pos: Pos,
    ) -> Result<ExprKind> {
        let escape = match escape {
            None => None,
            Some(sp::Expr::Value(v)) => match &v.value {
                sp::Value::SingleQuotedString(s) if s.chars().count() <= 1 => Some(s.clone()),
                _ => return Err(self.unsupported("an ESCAPE of more than one character", pos)),
            },
            Some(_) => return Err(self.unsupported("an ESCAPE that is not a constant", pos)),
        };
        Ok(ExprKind::Like {
            expr: self.boxed(expr)?,
            pattern: self.boxed(pattern)?,
            escape,
            insensitive,
            negated,
        })
    }

    fn matches(
        &mut self,
        expr: &sp::Expr,
        pattern: &sp::Expr,
        how: Pattern,
        negated: bool,
    ) -> Result<ExprKind> {
        Ok(ExprKind::Matches { expr: self.boxed(expr)?, pattern: self.boxed(pattern)?, how, negated })
    }

    pub(super) fn unsupported(&self, what: &str, pos: Pos) -> ClientError {
        ClientError::unsupported(format!("{what} is not supported")).at(pos)
    }
}

/// `OPERATOR(pg_catalog.=)` as `=`: the server's own operators by their whole names.
fn builtin(op: &sp::BinaryOperator) -> Option<sp::BinaryOperator> {
    use sp::BinaryOperator as B;
    let B::PGCustomBinaryOperator(parts) = op else { return None };
    let name = match parts.as_slice() {
        [schema, name] if schema.eq_ignore_ascii_case("pg_catalog") => name,
        [name] => name,
        _ => return None,
    };
    Some(match name.as_str() {
        "=" => B::Eq,
        "<>" | "!=" => B::NotEq,
        "<" => B::Lt,
        "<=" => B::LtEq,
        ">" => B::Gt,
        ">=" => B::GtEq,
        "+" => B::Plus,
        "-" => B::Minus,
        "*" => B::Multiply,
        "/" => B::Divide,
        "%" => B::Modulo,
        "||" => B::StringConcat,
        "~" => B::PGRegexMatch,
        "!~" => B::PGRegexNotMatch,
        "~*" => B::PGRegexIMatch,
        "!~*" => B::PGRegexNotIMatch,
        "~~" => B::PGLikeMatch,
        "!~~" => B::PGNotLikeMatch,
        "~~*" => B::PGILikeMatch,
        "!~~*" => B::PGNotILikeMatch,
        _ => return None,
    })
}

/// `=`, `<` and their like.
pub(super) fn comparison(op: &sp::BinaryOperator) -> Option<BinaryOp> {
    use sp::BinaryOperator as B;
    let builtin = builtin(op);
    Some(match builtin.as_ref().unwrap_or(op) {
        B::Eq => BinaryOp::Eq,
        B::NotEq => BinaryOp::Ne,
        B::Lt => BinaryOp::Lt,
        B::LtEq => BinaryOp::Le,
        B::Gt => BinaryOp::Gt,
        B::GtEq => BinaryOp::Ge,
        _ => return None,
    })
}

/// What an expression that has no kind of ours is called.
fn describe(e: &sp::Expr) -> String {
    match e {
        sp::Expr::SimilarTo { .. } => "SIMILAR TO".into(),
        sp::Expr::AnyOp { .. } => "ANY".into(),
        sp::Expr::AllOp { .. } => "ALL".into(),
        sp::Expr::Overlay { .. } => "OVERLAY".into(),
        sp::Expr::CompoundFieldAccess { .. } | sp::Expr::JsonAccess { .. } => {
            "access to a part of a value".into()
        }
        _ => "this expression".into(),
    }
}
