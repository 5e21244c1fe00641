//! Calls: functions through the allow-list, aggregates, and windows.

use super::{Resolver, Result};
use crate::ast::*;
use crate::functions::{self, Class};
use crate::names::{fold, parts};
use answer::{ClientError, SqlState};
use sqlparser::ast as sp;

impl Resolver<'_> {
    pub(super) fn function(&mut self, f: &sp::Function) -> Result<Expr> {
        let pos = self.lines.start(&f.name);
        if let Some(what) = of_noisegate(&f.name) {
            return self.reach(f, what, pos);
        }
        let name = self.function_name(&f.name, pos)?;
        if let Some(v) = session_value(&name, &f.args) {
            return Ok(Expr::new(ExprKind::Session(v), pos));
        }
        if let Some(values) = self.unnest(f, &name)? {
            return Ok(values);
        }
        let Some((class, name)) = functions::lookup(&name) else {
            let hint = match functions::nearest(&name) {
                Some(n) => format!("The nearest allowed function is {n}; SELECT text FROM noisegate.help WHERE topic = 'functions' lists all."),
                None => "Functions are allowed by list, because others could read what they should not: SELECT text FROM noisegate.help WHERE topic = 'functions'.".into(),
            };
            return Err(ClientError::unsupported(format!("function {name} is not allowed"))
                .hint(hint)
                .at(pos));
        };
        if !matches!(f.parameters, sp::FunctionArguments::None) || f.null_treatment.is_some() {
            return Err(self.unsupported("this form of a function call", pos));
        }
        if name == "make_interval" && !matches!(f.args, sp::FunctionArguments::None) && f.over.is_none() {
            return self.make_interval(&f.args, pos);
        }
        let (args, distinct, order_by) =
            self.arguments(&f.args, class == Class::Aggregate && name == "count", pos)?;
        let filter = f.filter.as_ref().map(|e| self.expr(e)).transpose()?;
        let within_group = self.order_items(&f.within_group)?;
        let kind = if class == Class::Aggregate {
            let origin = Origin::Written;
            let call = Aggregate { name, args, distinct, order_by, filter, within_group, origin };
            ExprKind::Aggregate(Box::new(call))
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
        if name == "grouping" {
            return self.grouping(call, f.over.is_some());
        }
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

    /// `unnest(column)` of a collected set; whatever else is unnested stands in FROM.
    fn unnest(&mut self, f: &sp::Function, name: &str) -> Result<Option<Expr>> {
        let plain = matches!(f.parameters, sp::FunctionArguments::None)
            && f.null_treatment.is_none()
            && f.filter.is_none()
            && f.over.is_none()
            && f.within_group.is_empty();
        let sp::FunctionArguments::List(list) = &f.args else { return Ok(None) };
        match list.args.as_slice() {
            [sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e))]
                if name == "unnest" && plain && list.clauses.is_empty() =>
            {
                let e = self.expr(e)?;
                Ok(self.listed(&e))
            }
            _ => Ok(None),
        }
    }

    /// `noisegate.low(x)` and its like.
    fn reach(&mut self, f: &sp::Function, what: Option<Reach>, pos: Pos) -> Result<Expr> {
        let Some(what) = what else {
            return Err(ClientError::unsupported(format!("function {} is not allowed", f.name))
                .hint("noisegate.low(x), noisegate.high(x) and noisegate.stddev(x) are there, of numbers above aggregates.")
                .at(pos));
        };
        let plain = matches!(f.parameters, sp::FunctionArguments::None)
            && f.null_treatment.is_none()
            && f.filter.is_none()
            && f.over.is_none()
            && f.within_group.is_empty();
        let (args, distinct, order_by) = self.arguments(&f.args, false, pos)?;
        let mut args = args.into_iter();
        match (args.next(), args.next()) {
            (Some(x), None) if plain && !distinct && order_by.is_empty() => {
                let kind = ExprKind::Reach { what, expr: Box::new(x), confidence: Reach::USUAL };
                Ok(Expr::new(kind, pos))
            }
            _ => {
                let name = what.name();
                let m = format!("noisegate.{name} takes one number: noisegate.{name}(count(*))");
                Err(ClientError::new(SqlState::UNDEFINED_FUNCTION, m).at(pos))
            }
        }
    }

    /// GROUPING(k, …) is of keys alone.
    fn grouping(&self, call: Expr, over: bool) -> Result<Expr> {
        let plain = match &call.kind {
            ExprKind::Aggregate(a) => {
                !a.args.is_empty()
                    && !a.distinct
                    && a.order_by.is_empty()
                    && a.within_group.is_empty()
                    && a.filter.is_none()
            }
            _ => false,
        };
        if plain && !over {
            return Ok(call);
        }
        Err(self
            .unsupported("this form of GROUPING", call.pos)
            .hint("Write GROUPING(a, b), of keys of GROUP BY."))
    }

    fn function_name(&self, name: &sp::ObjectName, pos: Pos) -> Result<String> {
        match parts(name).as_slice() {
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

    /// `make_interval(days => 10, hours => 2)`: the arguments in their places.
    fn make_interval(&mut self, args: &sp::FunctionArguments, pos: Pos) -> Result<Expr> {
        const NAMES: [&str; 7] = ["years", "months", "weeks", "days", "hours", "mins", "secs"];
        let sp::FunctionArguments::List(list) = args else {
            return Err(self.unsupported("this form of make_interval", pos));
        };
        let zero = Expr::new(ExprKind::Literal(Literal::Number("0".into())), pos);
        let mut out: Vec<Expr> = Vec::new();
        for (i, a) in list.args.iter().enumerate() {
            let (place, e) = match a {
                sp::FunctionArg::Unnamed(sp::FunctionArgExpr::Expr(e)) => (Some(i), e),
                sp::FunctionArg::ExprNamed {
                    name: sp::Expr::Identifier(name),
                    arg: sp::FunctionArgExpr::Expr(e),
                    ..
                } => {
                    let name = fold(name);
                    (NAMES.iter().position(|n| *n == name), e)
                }
                _ => return Err(self.unsupported("this form of an argument", pos)),
            };
            let Some(place) = place.filter(|p| *p < NAMES.len()) else {
                return Err(self
                    .unsupported("this argument of make_interval", pos)
                    .hint(format!("Its arguments are {}.", NAMES.join(", "))));
            };
            let e = self.expr(e)?;
            if out.len() <= place {
                out.resize(place + 1, zero.clone());
            }
            if let Some(at) = out.get_mut(place) {
                *at = e;
            }
        }
        Ok(Expr::new(ExprKind::Call { name: "make_interval", args: out }, pos))
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
    fn frame(&self, f: &sp::WindowFrame, pos: Pos) -> Result<Frame> {
        let small =
            |n: &str| n.parse().ok().filter(|_| n.len() < 10 && n.chars().all(|c| c.is_ascii_digit()));
        let offset = |e: &Option<Box<sp::Expr>>| match e.as_deref() {
            None => Ok(None),
            Some(sp::Expr::Value(v)) => match &v.value {
                sp::Value::Number(n, _) if let Some(n) = small(n) => Ok(Some(n)),
                _ => Err(self.unsupported("a frame offset that is not a small whole number", pos)),
            },
            Some(_) => Err(self.unsupported("a frame offset that is not a constant", pos)),
        };
        let end = |b: &sp::WindowFrameBound| -> Result<FrameEnd> {
            Ok(match b {
                sp::WindowFrameBound::CurrentRow => FrameEnd::Current,
                sp::WindowFrameBound::Preceding(e) => FrameEnd::Preceding(offset(e)?),
                sp::WindowFrameBound::Following(e) => FrameEnd::Following(offset(e)?),
            })
        };
        let units = match f.units {
            sp::WindowFrameUnits::Rows => FrameUnits::Rows,
            sp::WindowFrameUnits::Range => FrameUnits::Range,
            sp::WindowFrameUnits::Groups => FrameUnits::Groups,
        };
        Ok(Frame { units, start: end(&f.start_bound)?, end: f.end_bound.as_ref().map(end).transpose()? })
    }
}

fn session_value(name: &str, args: &sp::FunctionArguments) -> Option<SessionValue> {
    use SessionValue as V;
    let none = matches!(args, sp::FunctionArguments::None);
    let empty = matches!(args, sp::FunctionArguments::List(l) if l.args.is_empty() && l.clauses.is_empty());
    Some(match name {
        "now" if empty => V::Now("now"),
        "transaction_timestamp" if empty => V::Now("transaction_timestamp"),
        "statement_timestamp" if empty => V::Now("statement_timestamp"),
        "current_timestamp" if none => V::Now("current_timestamp"),
        "current_date" if none => V::Date,
        "localtimestamp" if none => V::LocalTimestamp,
        "current_user" if none => V::User("current_user"),
        "current_role" if none => V::User("current_role"),
        "session_user" if none => V::User("session_user"),
        "user" if none => V::User("user"),
        "current_database" if empty => V::Database("current_database"),
        "current_catalog" if none => V::Database("current_catalog"),
        "current_schema" if none || empty => V::Schema,
        _ => return None,
    })
}

/// The function of schema `noisegate` that is called, if it is of that schema; None inside where there is no such.
fn of_noisegate(name: &sp::ObjectName) -> Option<Option<Reach>> {
    match parts(name).as_slice() {
        [schema, name] => (schema == "noisegate").then(|| Reach::named(name)),
        _ => None,
    }
}
