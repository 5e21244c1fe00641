//! Calls of functions, from the list.

use super::{Given, Printer, Result, SetConfig};
use crate::functions::{Arg, PLAIN, known, template};
use crate::scope::Scope;
use crate::text::string;
use crate::types::Named;
use answer::ClientError;
use sql::names::{last, parts};
use sql::place::Place;
use sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, ObjectName, Value, WindowSpec, WindowType,
};

/// Elements that one series may have: what clients count are columns of a table.
const SERIES: i32 = 10_000;

impl Printer<'_> {
    pub(super) fn function(&mut self, function: &Function, scope: &Scope<'_>) -> Result<String> {
        let Function {
            name,
            uses_odbc_syntax: false,
            parameters: FunctionArguments::None,
            args,
            within_group,
            filter,
            null_treatment: None,
            over,
        } = function
        else {
            return Err(self.refused("this call", function));
        };
        if !within_group.is_empty() {
            return Err(self.refused("WITHIN GROUP", function));
        }
        let own = last(name);
        let list = match args {
            FunctionArguments::None => return self.template(&own, &[], scope, function),
            FunctionArguments::Subquery(query) if own == "array" => {
                return Ok(format!("ARRAY({})", self.subquery(query, scope)?));
            }
            FunctionArguments::Subquery(_) => return Err(self.refused("this call", function)),
            FunctionArguments::List(list) => list,
        };
        let FunctionArgumentList { duplicate_treatment, args, clauses } = list;
        let mut plain = Vec::new();
        let mut star = false;
        for arg in args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => plain.push(e),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if own == "count" && args.len() == 1 => {
                    star = true
                }
                _ => return Err(self.refused("this argument", function)),
            }
        }
        let simple = duplicate_treatment.is_none()
            && clauses.is_empty()
            && filter.is_none()
            && over.is_none()
            && !star;
        if simple {
            return self.called(name, &plain, scope, function);
        }
        self.is_in_catalog(name, function)?;
        if !PLAIN.contains(&own.as_str()) {
            return Err(self.unknown(&own, function));
        }
        let args = self.list(plain, scope)?;
        let distinct = match duplicate_treatment {
            Some(DuplicateTreatment::Distinct) => "DISTINCT ",
            Some(DuplicateTreatment::All) | None => "",
        };
        let mut text = if star { "*".to_owned() } else { args };
        for clause in clauses {
            match clause {
                FunctionArgumentClause::OrderBy(items) => {
                    text.push_str(&format!(" ORDER BY {}", self.order(items, scope)?));
                }
                _ => return Err(self.refused("this clause of a call", function)),
            }
        }
        let mut text = format!("pg_catalog.{own}({distinct}{text})");
        if let Some(filter) = filter {
            text.push_str(&format!(" FILTER (WHERE {})", self.expr(filter, scope)?));
        }
        if let Some(over) = over {
            let WindowType::WindowSpec(WindowSpec {
                window_name: None,
                partition_by,
                order_by,
                window_frame: None,
            }) = over
            else {
                return Err(self.refused("this window", function));
            };
            let mut parts = Vec::new();
            if !partition_by.is_empty() {
                parts.push(format!("PARTITION BY {}", self.list(partition_by, scope)?));
            }
            if !order_by.is_empty() {
                parts.push(format!("ORDER BY {}", self.order(order_by, scope)?));
            }
            text.push_str(&format!(" OVER ({})", parts.join(" ")));
        }
        Ok(text)
    }

    /// A call with plain arguments.
    pub(super) fn called(
        &mut self,
        name: &ObjectName,
        args: &[&Expr],
        scope: &Scope<'_>,
        node: &impl Place,
    ) -> Result<String> {
        let own = last(name);
        if own == "_pg_expandarray" {
            let args = self.list(args.iter().copied(), scope)?;
            return Ok(format!("information_schema._pg_expandarray({args})"));
        }
        self.is_in_catalog(name, node)?;
        match (own.as_str(), args) {
            ("generate_series", [from, to]) => {
                let (from, to) = (self.expr(from, scope)?, self.expr(to, scope)?);
                return Ok(format!(
                    "pg_catalog.generate_series(GREATEST({from}, -{SERIES}), LEAST({to}, {SERIES}))"
                ));
            }
            ("current_setting", [name, ..]) => {
                if let Some(text) = self.known_setting(name, args.len() > 1, node)? {
                    return Ok(text);
                }
            }
            ("set_config", [name, value, local]) => return self.set_config(name, value, local, scope, node),
            ("coalesce" | "nullif" | "greatest" | "least", _) => {
                let args = self.list(args.iter().copied(), scope)?;
                return Ok(format!("{}({args})", own.to_uppercase()));
            }
            ("format" | "concat" | "concat_ws", _) => {
                let args: Vec<String> = args.iter().map(|e| self.as_text(e, scope)).collect::<Result<_>>()?;
                return Ok(format!("pg_catalog.{own}({})", args.join(", ")));
            }
            ("now", []) => return Ok("pg_catalog.now()".into()),
            _ => {}
        }
        if PLAIN.contains(&own.as_str()) {
            let args = self.list(args.iter().copied(), scope)?;
            return Ok(format!("pg_catalog.{own}({args})"));
        }
        // Whose rights are asked is who asks.
        let args = match args {
            [_, rest @ ..] if own.starts_with("has_") && template(&own, args.len()).is_none() => rest,
            args if own == "has_column_privilege" && args.len() == 4 => args.get(1..).unwrap_or(args),
            args => args,
        };
        self.template(&own, args, scope, node)
    }

    /// A function that is a template over its arguments.
    pub(super) fn template(
        &mut self,
        name: &str,
        args: &[&Expr],
        scope: &Scope<'_>,
        node: &impl Place,
    ) -> Result<String> {
        let Some(template) = template(name, args.len()) else { return Err(self.unknown(name, node)) };
        let mut texts = Vec::new();
        for (arg, kind) in args.iter().zip(template.args) {
            texts.push(match kind {
                Arg::Relation => self.object(arg, Named::Relation, scope)?,
                Arg::Type => {
                    format!("COALESCE({}, 1::pg_catalog.oid)", self.object(arg, Named::Type, scope)?)
                }
                Arg::Schema => format!("({})::pg_catalog.text", self.expr(arg, scope)?),
                Arg::Any => self.expr(arg, scope)?,
            });
        }
        // Each argument is computed once; what is only written stays where it is, where it may take its type from.
        let mut computed = Vec::new();
        for ((n, text), arg) in texts.iter_mut().enumerate().zip(args) {
            if !matches!(arg, Expr::Value(_)) || template.args.get(n) != Some(&Arg::Any) {
                let name = format!("noisegate.a{}", n + 1);
                computed.push(format!("{} AS a{}", std::mem::replace(text, name), n + 1));
            }
        }
        let text = self.filled(template.text, &texts)?;
        Ok(match computed.as_slice() {
            // A series of rows stays one.
            _ if template.text.starts_with("pg_catalog.unnest") => text,
            [] => format!("({text})"),
            computed => format!("(SELECT {text} FROM (SELECT {}) AS noisegate)", computed.join(", ")),
        })
    }

    /// `pg_catalog.f` or `f`.
    fn is_in_catalog(&self, name: &ObjectName, node: &impl Place) -> Result<()> {
        match parts(name).as_slice() {
            [_] => Ok(()),
            [schema, _] if schema == "pg_catalog" => Ok(()),
            _ => Err(self.unknown(&name.to_string(), node)),
        }
    }

    /// 42883 as PostgreSQL says it, whether there is such a function or not.
    fn unknown(&self, name: &str, node: &impl Place) -> ClientError {
        if known(name) {
            return self.refused(format!("this call of {name}"), node);
        }
        let hint = "Functions over system catalogs are taken from a list: those that psql and drivers use to look around.";
        self.error(b"42883", format!("function {name} does not exist"), node).hint(hint)
    }

    /// `current_setting('name')` where the session knows the value, or knows that there is no such setting.
    fn known_setting(&self, name: &Expr, missing_ok: bool, node: &impl Place) -> Result<Option<String>> {
        let Some(Given::Text(Some(name))) = given(name) else { return Ok(None) };
        let lower = name.to_lowercase();
        if let Some((_, value)) = self.asker.settings.iter().find(|(n, _)| *n == lower) {
            return Ok(Some(format!("{}::pg_catalog.text", string(value))));
        }
        if self.asker.readable.iter().any(|n| n.to_lowercase() == lower) {
            return Ok(Some(format!("pg_catalog.current_setting({})", string(&lower))));
        }
        if missing_ok {
            return Ok(Some("NULL::pg_catalog.text".into()));
        }
        Err(self.error(b"42704", format!("unrecognized configuration parameter \"{name}\""), node))
    }

    fn set_config(
        &mut self,
        name: &Expr,
        value: &Expr,
        local: &Expr,
        scope: &Scope<'_>,
        node: &impl Place,
    ) -> Result<String> {
        let written = |e: &Expr| matches!(e, Expr::Value(v) if matches!(v.value, Value::Boolean(true)));
        let no = matches!(local, Expr::Value(v) if matches!(v.value, Value::Boolean(false)));
        let (Some(name), Some(given), true) = (given(name), given(value), self.top && (written(local) || no))
        else {
            return Err(self
                .refused("set_config of anything but constants, at the head of a statement,", node)
                .hint("Write SELECT set_config('name', 'value', false), or SET."));
        };
        self.set.push(SetConfig { name, value: given, local: written(local) });
        Ok(format!("CAST({} AS pg_catalog.text)", self.expr(value, scope)?))
    }
}

/// A text that is known when the statement runs.
fn given(expr: &Expr) -> Option<Given> {
    match expr {
        Expr::Nested(inner) => given(inner),
        Expr::Cast { expr, data_type, .. } => match crate::types::target(data_type)? {
            crate::types::Target::Plain(ty, _) if super::expr::is_text(&ty) => given(expr),
            _ => None,
        },
        Expr::Value(v) => match &v.value {
            Value::SingleQuotedString(s) | Value::EscapedStringLiteral(s) => {
                Some(Given::Text(Some(s.clone())))
            }
            Value::Null => Some(Given::Text(None)),
            Value::Placeholder(p) => p.strip_prefix('$')?.parse().ok().map(Given::Parameter),
            _ => None,
        },
        _ => None,
    }
}
