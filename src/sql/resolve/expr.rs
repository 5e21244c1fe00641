//! Expressions: names to columns, functions through the allow-list, syntax to our own few kinds.

use super::Resolver;
use super::types::cast_type;
use crate::ast::*;
use crate::functions::{self, Class};
use crate::statement::fold;
use answer::{ClientError, SqlState};
use sqlparser::ast::{self as sp, Spanned};

type Result<T> = std::result::Result<T, ClientError>;

/// 42P02: no such parameter.
const UNDEFINED_PARAMETER: SqlState = SqlState(*b"42P02");

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
        let kind = match e {
            sp::Expr::Nested(inner) => return self.expr(inner),
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
            sp::Expr::IsDistinctFrom(l, r) => self.binary(BinaryOp::Distinct, l, r)?,
            sp::Expr::IsNotDistinctFrom(l, r) => self.binary(BinaryOp::NotDistinct, l, r)?,
            sp::Expr::InList { expr, list, negated } => {
                if list.len() > self.limits.max_in_list {
                    return Err(crate::parse::too_large(
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
                ExprKind::Exists { query: Box::new(self.query(subquery)?), negated: *negated }
            }
            sp::Expr::Subquery(q) => ExprKind::Subquery(Box::new(self.query(q)?)),
            sp::Expr::Between { expr, negated, low, high } => ExprKind::Between {
                expr: self.boxed(expr)?,
                low: self.boxed(low)?,
                high: self.boxed(high)?,
                negated: *negated,
            },
            sp::Expr::BinaryOp { left, op, right } => self.operator(left, op, right, pos)?,
            sp::Expr::UnaryOp { op, expr } => match op {
                sp::UnaryOperator::Minus => {
                    let inner = self.expr(expr)?;
                    match inner.kind {
                        // `-5` is a constant, in IN lists and domains too.
                        ExprKind::Literal(Literal::Number(n)) if !n.starts_with('-') => {
                            ExprKind::Literal(Literal::Number(format!("-{n}")))
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
            sp::Expr::Case { operand, conditions, else_result, .. } => {
                let before = self.nodes;
                let operand = operand.as_ref().map(|o| self.expr(o)).transpose()?;
                // Each branch has its own copy, and copies of copies grow fast: they count like what was written.
                let size = self.nodes - before;
                let mut branches = Vec::with_capacity(conditions.len());
                for c in conditions {
                    let when = self.expr(&c.condition)?;
                    let when = match &operand {
                        None => when,
                        Some(o) => {
                            self.nodes = self.nodes.saturating_add(size);
                            self.count_node()?;
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
            sp::Expr::Extract { field, expr, .. } => {
                ExprKind::Extract { field: field.to_string().to_lowercase(), expr: self.boxed(expr)? }
            }
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
            sp::Expr::Substring { expr, substring_from, substring_for, .. } => {
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
                ExprKind::Call { name: "substr", args }
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
                ExprKind::Call { name: "strpos", args: vec![self.expr(r#in)?, self.expr(expr)?] }
            }
            sp::Expr::Array(a) => ExprKind::Array(self.exprs(&a.elem)?),
            sp::Expr::Function(f) => return self.function(f),
            sp::Expr::GroupingSets(_) | sp::Expr::Cube(_) | sp::Expr::Rollup(_) => {
                return Err(self
                    .unsupported("GROUPING SETS, CUBE and ROLLUP", pos)
                    .hint("Write one SELECT for each grouping set and join them by UNION ALL."));
            }
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

    fn binary(&mut self, op: BinaryOp, left: &sp::Expr, right: &sp::Expr) -> Result<ExprKind> {
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
        let expr = self.boxed(left)?;
        let mut right = right;
        while let sp::Expr::Nested(inner) = right {
            right = inner;
        }
        match right {
            sp::Expr::Subquery(q) if member => {
                Ok(ExprKind::InQuery { expr, query: Box::new(self.query(q)?), negated: all })
            }
            sp::Expr::Subquery(_) => {
                Err(self.unsupported("a comparison with ANY or ALL of a query", pos).hint(
                    "= ANY and <> ALL are; for others compare with min or max: x > (SELECT min(y) FROM …).",
                ))
            }
            other => {
                let array = self.boxed(other)?;
                match array.kind {
                    ExprKind::Array(list) if member && !list.is_empty() => {
                        Ok(ExprKind::In { expr, list, negated: all })
                    }
                    _ => Ok(ExprKind::Any { op, expr, array, all }),
                }
            }
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
            return self.binary(op, left, right);
        }
        let op = match op {
            B::Plus => BinaryOp::Add,
            B::Minus => BinaryOp::Sub,
            B::Multiply => BinaryOp::Mul,
            B::Divide => BinaryOp::Div,
            B::Modulo => BinaryOp::Mod,
            B::StringConcat => BinaryOp::Concat,
            B::And => BinaryOp::And,
            B::Or => BinaryOp::Or,
            B::PGLikeMatch => return self.like(left, right, None, false, false, pos),
            B::PGNotLikeMatch => return self.like(left, right, None, false, true, pos),
            B::PGILikeMatch => return self.like(left, right, None, true, false, pos),
            B::PGNotILikeMatch => return self.like(left, right, None, true, true, pos),
            other => {
                let what = format!("operator {other}");
                let hint = "Arithmetic, comparison, logic, ||, LIKE, IN, BETWEEN and IS are supported.";
                return Err(self.unsupported(&what, pos).hint(hint));
            }
        };
        self.binary(op, left, right)
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

    fn value(&mut self, v: &sp::Value, pos: Pos) -> Result<ExprKind> {
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

    fn interval(&mut self, i: &sp::Interval, pos: Pos) -> Result<ExprKind> {
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

    fn function(&mut self, f: &sp::Function) -> Result<Expr> {
        let pos = self.lines.position(f.name.span().start);
        let name = self.function_name(&f.name, pos)?;
        if let Some(v) = session_value(&name, &f.args) {
            return Ok(Expr::new(ExprKind::Session(v), pos));
        }
        let Some((class, name)) = functions::lookup(&name) else {
            let hint = match functions::nearest(&name) {
                Some(n) => format!("The nearest allowed function is {n}. Functions are allowed by list, because others could read what they should not."),
                None => "Functions are allowed by list, because others could read what they should not; docs/sql.md has the list.".into(),
            };
            return Err(ClientError::unsupported(format!("function {name} is not allowed"))
                .hint(hint)
                .at(pos));
        };
        if !matches!(f.parameters, sp::FunctionArguments::None) || f.null_treatment.is_some() {
            return Err(self.unsupported("this form of a function call", pos));
        }
        let (args, distinct, order_by) =
            self.arguments(&f.args, class == Class::Aggregate && name == "count", pos)?;
        let filter = f.filter.as_ref().map(|e| self.expr(e)).transpose()?;
        let within_group = self.order_items(&f.within_group)?;
        let kind = if class == Class::Aggregate {
            ExprKind::Aggregate(Box::new(Aggregate { name, args, distinct, order_by, filter, within_group }))
        } else {
            if distinct || filter.is_some() || !order_by.is_empty() || !within_group.is_empty() {
                let m = format!(
                    "DISTINCT, FILTER or ORDER BY specified, but {name} is not an aggregate function"
                );
                return Err(ClientError::new(SqlState::DATATYPE_MISMATCH, m).at(pos));
            }
            ExprKind::Call { name, args }
        };
        let call = Expr::new(kind, pos);
        match &f.over {
            None if class == Class::Window => {
                let m = format!("window function {name} requires an OVER clause");
                Err(ClientError::new(SqlState::DATATYPE_MISMATCH, m).at(pos))
            }
            None => Ok(call),
            Some(_) if class == Class::Plain => {
                let m =
                    format!("OVER specified, but {name} is not a window function nor an aggregate function");
                Err(ClientError::new(SqlState::DATATYPE_MISMATCH, m).at(pos))
            }
            Some(over) => self.window(call, over, pos),
        }
    }

    fn function_name(&self, name: &sp::ObjectName, pos: Pos) -> Result<String> {
        let parts: Vec<String> = name
            .0
            .iter()
            .map(|p| match p {
                sp::ObjectNamePart::Identifier(i) => fold(i),
                sp::ObjectNamePart::Function(_) => String::new(),
            })
            .collect();
        match parts.as_slice() {
            [name] => Ok(name.clone()),
            [schema, name] if schema == "pg_catalog" => Ok(name.clone()),
            _ => Err(ClientError::unsupported(format!("function {name} is not allowed"))
                .hint("Only functions of pg_catalog are, by list.")
                .at(pos)),
        }
    }

    fn arguments(
        &mut self,
        args: &sp::FunctionArguments,
        star_allowed: bool,
        pos: Pos,
    ) -> Result<(Vec<Expr>, bool, Vec<OrderItem>)> {
        let list = match args {
            sp::FunctionArguments::None => return Ok((Vec::new(), false, Vec::new())),
            sp::FunctionArguments::Subquery(_) => {
                return Err(self.unsupported("a subquery as a function's argument list", pos));
            }
            sp::FunctionArguments::List(list) => list,
        };
        let mut out = Vec::with_capacity(list.args.len());
        for a in &list.args {
            match a {
                sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e)) => out.push(self.expr(e)?),
                sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Wildcard)
                    if star_allowed && list.args.len() == 1 => {}
                _ => return Err(self.unsupported("this form of an argument", pos)),
            }
        }
        if out.is_empty() && list.args.is_empty() && star_allowed {
            let m = "count(*) must be used to call a parameterless aggregate function";
            return Err(ClientError::new(SqlState::DATATYPE_MISMATCH, m).at(pos));
        }
        let mut order_by = Vec::new();
        for clause in &list.clauses {
            match clause {
                sp::FunctionArgumentClause::OrderBy(items) => order_by = self.order_items(items)?,
                _ => return Err(self.unsupported("this clause in a function call", pos)),
            }
        }
        let distinct = matches!(list.duplicate_treatment, Some(sp::DuplicateTreatment::Distinct));
        Ok((out, distinct, order_by))
    }

    fn window(&mut self, call: Expr, over: &sp::WindowType, pos: Pos) -> Result<Expr> {
        let spec = match over {
            sp::WindowType::WindowSpec(spec) => spec.clone(),
            sp::WindowType::NamedWindow(name) => self.named_window(name)?,
        };
        let base = spec.window_name.as_ref().map(|n| self.named_window(n)).transpose()?;
        let mut partition_by = self.exprs(&spec.partition_by)?;
        let mut order_by = self.order_items(&spec.order_by)?;
        if let Some(base) = base {
            partition_by = self.exprs(&base.partition_by)?;
            if order_by.is_empty() {
                order_by = self.order_items(&base.order_by)?;
            }
        }
        let frame = spec.window_frame.as_ref().map(|f| self.frame(f, pos)).transpose()?;
        let function = Box::new(call);
        Ok(Expr::new(ExprKind::Window { function, partition_by, order_by, frame }, pos))
    }

    fn named_window(&self, name: &sp::Ident) -> Result<sp::WindowSpec> {
        let wanted = fold(name);
        self.windows.iter().rev().find(|(n, _)| *n == wanted).map(|(_, s)| s.clone()).ok_or_else(|| {
            ClientError::new(SqlState::UNDEFINED_OBJECT, format!("window \"{wanted}\" does not exist"))
                .at(self.lines.position(name.span.start))
        })
    }

    /// The frame clause, from constants only.
    fn frame(&self, f: &sp::WindowFrame, pos: Pos) -> Result<String> {
        let bound = |b: &sp::WindowFrameBound| -> Result<String> {
            let offset = |e: &Option<Box<sp::Expr>>| match e.as_deref() {
                None => Ok("UNBOUNDED".to_owned()),
                Some(sp::Expr::Value(v)) => match &v.value {
                    sp::Value::Number(n, _) if n.chars().all(|c| c.is_ascii_digit()) && n.len() < 10 => {
                        Ok(n.clone())
                    }
                    _ => Err(self.unsupported("a frame offset that is not a small whole number", pos)),
                },
                Some(_) => Err(self.unsupported("a frame offset that is not a constant", pos)),
            };
            Ok(match b {
                sp::WindowFrameBound::CurrentRow => "CURRENT ROW".into(),
                sp::WindowFrameBound::Preceding(e) => format!("{} PRECEDING", offset(e)?),
                sp::WindowFrameBound::Following(e) => format!("{} FOLLOWING", offset(e)?),
            })
        };
        let units = match f.units {
            sp::WindowFrameUnits::Rows => "ROWS",
            sp::WindowFrameUnits::Range => "RANGE",
            sp::WindowFrameUnits::Groups => "GROUPS",
        };
        Ok(match &f.end_bound {
            Some(end) => format!("{units} BETWEEN {} AND {}", bound(&f.start_bound)?, bound(end)?),
            None => format!("{units} {}", bound(&f.start_bound)?),
        })
    }

    pub(super) fn order_items(&mut self, items: &[sp::OrderByExpr]) -> Result<Vec<OrderItem>> {
        items
            .iter()
            .map(|o| {
                let expr = self.expr(&o.expr)?;
                self.order_item(o, expr)
            })
            .collect()
    }

    pub(super) fn order_item(&self, o: &sp::OrderByExpr, expr: Expr) -> Result<OrderItem> {
        if o.with_fill.is_some() {
            return Err(self.unsupported("WITH FILL", expr.pos));
        }
        let desc = match &o.options.sort {
            None | Some(sp::OrderBySort::Asc) => false,
            Some(sp::OrderBySort::Desc) => true,
            Some(sp::OrderBySort::Using(_)) => return Err(self.unsupported("ORDER BY … USING", expr.pos)),
        };
        Ok(OrderItem { expr, desc, nulls_first: o.options.nulls_first })
    }

    fn identifier(&mut self, ident: &sp::Ident) -> Result<ExprKind> {
        let name = fold(ident);
        let pos = self.lines.position(ident.span.start);
        for scope in self.scopes.iter().rev() {
            if let Some(found) = scope.column(&self.bindings, &name, pos)? {
                return Ok(found);
            }
        }
        Err(self.no_column(&name, None, pos))
    }

    fn qualified(&mut self, parts: &[sp::Ident], pos: Pos) -> Result<ExprKind> {
        let names: Vec<String> = parts.iter().map(fold).collect();
        let (table, column) = match names.as_slice() {
            [table, column] | [_, table, column] => (table, column),
            _ => return Err(self.unsupported("a name of more than three parts", pos)),
        };
        for scope in self.scopes.iter().rev() {
            if let Some(binding) = scope.binding(&self.bindings, table) {
                let columns = self.bindings.get(binding).map(|b| b.columns.as_slice()).unwrap_or_default();
                return match columns.iter().position(|c| c == column) {
                    Some(column) => Ok(ExprKind::Column { binding, column }),
                    None => Err(self.no_column(column, Some((table, binding)), pos)),
                };
            }
        }
        Err(ClientError::new(
            SqlState::UNDEFINED_TABLE,
            format!("missing FROM-clause entry for table \"{table}\""),
        )
        .at(pos))
    }

    fn no_column(&self, name: &str, of: Option<(&String, usize)>, pos: Pos) -> ClientError {
        let visible: Vec<&str> = match of {
            Some((_, b)) => {
                self.bindings.get(b).into_iter().flat_map(|b| &b.columns).map(String::as_str).collect()
            }
            None => self
                .scopes
                .iter()
                .flat_map(|s| &s.bindings)
                .filter_map(|b| self.bindings.get(*b))
                .flat_map(|b| &b.columns)
                .map(String::as_str)
                .collect(),
        };
        let what = of.map_or_else(|| format!("\"{name}\""), |(table, _)| format!("{table}.{name}"));
        let e = ClientError::new(SqlState::UNDEFINED_COLUMN, format!("column {what} does not exist")).at(pos);
        match functions::nearest_of(name, visible.iter().copied()) {
            Some(near) => e.hint(format!("Perhaps you meant \"{near}\".")),
            None if visible.is_empty() => e,
            None => e.hint(format!("The columns here are {}.", visible.join(", "))),
        }
    }

    pub(super) fn unsupported(&self, what: &str, pos: Pos) -> ClientError {
        ClientError::unsupported(format!("{what} is not supported")).at(pos)
    }
}

/// `=`, `<` and their like.
fn comparison(op: &sp::BinaryOperator) -> Option<BinaryOp> {
    use sp::BinaryOperator as B;
    Some(match op {
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
        sp::Expr::Tuple(_) => "a row of values".into(),
        sp::Expr::Overlay { .. } => "OVERLAY".into(),
        sp::Expr::CompoundFieldAccess { .. } | sp::Expr::JsonAccess { .. } => {
            "access to a part of a value".into()
        }
        _ => "this expression".into(),
    }
}

fn session_value(name: &str, args: &sp::FunctionArguments) -> Option<SessionValue> {
    let none = matches!(args, sp::FunctionArguments::None);
    let empty = matches!(args, sp::FunctionArguments::List(l) if l.args.is_empty() && l.clauses.is_empty());
    match name {
        "now" | "transaction_timestamp" | "statement_timestamp" if empty => Some(SessionValue::Now),
        "current_timestamp" if none => Some(SessionValue::Now),
        "current_date" if none => Some(SessionValue::Date),
        "localtimestamp" if none => Some(SessionValue::LocalTimestamp),
        "current_user" | "session_user" | "user" if none => Some(SessionValue::User),
        "current_database" if empty => Some(SessionValue::Database),
        "current_catalog" if none => Some(SessionValue::Database),
        "current_schema" if none || empty => Some(SessionValue::Schema),
        _ => None,
    }
}
