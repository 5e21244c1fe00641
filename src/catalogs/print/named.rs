//! Values that are OIDs and are shown as names: casts to `regclass` and its kin, `pg_typeof`, columns of `regproc`.
//!
//! A literal beside a value of such a type would be looked up by the server: whether that fails tells which names there are.
//! So there are no such values but where they are shown (the select list of a statement, and of what it selects from) and
//! where they become text. Everywhere else they are OIDs, and what was written beside them is resolved here.

use super::{Printer, Result};
use crate::scope::Scope;
use crate::text::string;
use crate::types::{Named, Target, target};
use sql::names::last;
use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

impl Printer<'_> {
    /// Whether the value is shown by name.
    pub(super) fn is_named(&mut self, expr: &Expr, scope: &Scope<'_>) -> bool {
        self.kind(expr, scope).is_some()
    }

    fn kind(&mut self, expr: &Expr, scope: &Scope<'_>) -> Option<Target> {
        match expr {
            Expr::Nested(inner) => self.kind(inner, scope),
            Expr::Cast { data_type, format: None, .. } => {
                target(data_type).filter(|t| !matches!(t, Target::Plain(..)))
            }
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => self
                .column(expr, scope)
                .ok()
                .filter(|(_, named)| *named)
                .map(|_| Target::Named(Named::Function)),
            Expr::Function(f) if last(&f.name) == "pg_typeof" => Some(Target::Named(Named::Type)),
            Expr::Function(f) if looked_up(f).is_some() => looked_up(f).map(Target::Named),
            Expr::Function(f) if last(&f.name) == "coalesce" => {
                let args = arguments(f)?;
                let first = self.kind(args.first()?, scope)?;
                args.iter().all(|a| self.kind(a, scope).as_ref() == Some(&first)).then_some(first)
            }
            _ => None,
        }
    }

    /// The value as its OID; None where it is of another kind.
    pub(super) fn named(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<Option<String>> {
        if self.kind(expr, scope).is_none() {
            return Ok(None);
        }
        self.oid(expr, scope).map(Some)
    }

    fn oid(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<String> {
        match (expr, self.kind(expr, scope)) {
            (Expr::Nested(inner), _) => self.oid(inner, scope),
            (Expr::Cast { expr: inner, .. }, Some(Target::Named(kind))) => self.object(inner, kind, scope),
            (Expr::Cast { expr: inner, .. }, Some(Target::NamedArray(kind))) => {
                let inner = self.expr(inner, scope)?;
                let shown = self.visible("u.x", kind);
                Ok(format!(
                    "(SELECT pg_catalog.array_agg({shown} ORDER BY u.n)
                       FROM pg_catalog.unnest(CAST({inner} AS pg_catalog.oid[])) WITH ORDINALITY AS u(x, n))"
                ))
            }
            (Expr::Function(f), _) => {
                let args = arguments(f).unwrap_or_default();
                if last(&f.name) == "pg_typeof" {
                    let of = format!("pg_catalog.pg_typeof({})::pg_catalog.oid", self.list(args, scope)?);
                    let shown = self.visible("t.oid", Named::Type);
                    return Ok(format!("(SELECT {shown} FROM (SELECT {of}) AS t(oid))"));
                }
                if let (Some(kind), [name]) = (looked_up(f), args.as_slice()) {
                    let (name, found) = (self.expr(name, scope)?, self.lookup("o.x", kind)?);
                    return Ok(format!(
                        "(SELECT {found} FROM (SELECT CAST({name} AS pg_catalog.text)) AS o(x))"
                    ));
                }
                let args: Vec<String> = args.iter().map(|a| self.oid(a, scope)).collect::<Result<_>>()?;
                Ok(format!("COALESCE({})", args.join(", ")))
            }
            _ => Ok(format!("CAST({} AS pg_catalog.oid)", self.column(expr, scope)?.0)),
        }
    }

    /// The value as it is shown.
    pub(super) fn shown(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<String> {
        match (expr, self.kind(expr, scope)) {
            (Expr::Nested(inner), _) => self.shown(inner, scope),
            (Expr::Identifier(_) | Expr::CompoundIdentifier(_), _) => {
                self.column(expr, scope).map(|(text, _)| text)
            }
            (_, Some(Target::Named(Named::Schema))) => {
                let oid = self.oid(expr, scope)?;
                let schemas = self.base("pg_namespace")?;
                Ok(format!("(SELECT n.nspname FROM {schemas} AS n WHERE n.oid = {oid})"))
            }
            (_, Some(Target::Named(Named::Role))) => Err(self.refused("the type regrole", expr)),
            (_, Some(Target::Named(kind))) => {
                Ok(format!("CAST({} AS {})", self.oid(expr, scope)?, type_of(kind)))
            }
            (_, Some(Target::NamedArray(kind))) => {
                Ok(format!("CAST({} AS {}[])", self.oid(expr, scope)?, type_of(kind)))
            }
            _ => self.expr(expr, scope),
        }
    }

    /// The value as text, by name where it has one.
    pub(super) fn as_text(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<String> {
        if self.is_named(expr, scope) {
            return Ok(format!("CAST({} AS pg_catalog.text)", self.shown(expr, scope)?));
        }
        self.expr(expr, scope)
    }

    /// Text of a value beside another: a name beside one that is shown by name is resolved.
    pub(super) fn beside(&mut self, value: &Expr, written: &Expr, scope: &Scope<'_>) -> Result<String> {
        match (self.kind(value, scope), text_of(written)) {
            (Some(Target::Named(kind)), Some(_)) => self.object(written, kind, scope),
            _ => self.expr(written, scope),
        }
    }

    /// The OID of an object, NULL where it is not shown: of a constant, a parameter or a text by its name, or by its number.
    pub(super) fn object(&mut self, expr: &Expr, kind: Named, scope: &Scope<'_>) -> Result<String> {
        if let Some(text) = text_of(expr) {
            if let Ok(oid) = text.parse::<u32>() {
                return Ok(self.visible(&format!("{oid}::pg_catalog.oid"), kind));
            }
            if text == "-" {
                return Ok("0::pg_catalog.oid".into());
            }
            return self.constant(text, kind, expr);
        }
        let simple = match expr {
            Expr::Value(v) => matches!(v.value, Value::Number(..) | Value::Null),
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
            _ => false,
        };
        if simple || self.is_named(expr, scope) || is_oid_cast(expr) {
            let text = self.expr(expr, scope)?;
            let shown = self.visible("o.x", kind);
            return Ok(format!("(SELECT {shown} FROM (SELECT CAST({text} AS pg_catalog.oid)) AS o(x))"));
        }
        let text = self.expr(expr, scope)?;
        let by_number = self.visible("o.x::pg_catalog.oid", kind);
        let by_name = self.lookup("o.x", kind)?;
        Ok(format!(
            "(SELECT CASE WHEN o.x ~ '^[0-9]+$' THEN {by_number} ELSE {by_name} END
               FROM (SELECT CAST({text} AS pg_catalog.text)) AS o(x))"
        ))
    }

    /// The OID if its object is shown.
    fn visible(&self, oid: &str, kind: Named) -> String {
        let shown = match kind {
            Named::Relation => &self.catalogs.relations,
            Named::Type => &self.catalogs.types,
            Named::Function | Named::Role => return format!("CASE WHEN {oid} < 16384 THEN {oid} END"),
            Named::Schema => return oid.to_owned(),
        };
        format!("CASE WHEN {oid} < 16384 OR {oid} = ANY({shown}) THEN {oid} END")
    }

    /// The OID of the object that a constant names.
    fn constant(&mut self, name: &str, kind: Named, node: &Expr) -> Result<String> {
        match kind {
            Named::Relation => {
                let parts = name_parts(name)
                    .ok_or_else(|| self.error(b"42602", "invalid name syntax".into(), node))?;
                let (schema, own) = match parts.as_slice() {
                    [own] => (None, own),
                    [schema, own] => (Some(schema), own),
                    [database, schema, own] if *database == self.asker.database => (Some(schema), own),
                    [_, _, _] => {
                        let shown = parts.join(".");
                        let message = format!("{}: \"{shown}\"", sql::names::ELSEWHERE);
                        return Err(self.error(b"0A000", message, node));
                    }
                    _ => {
                        let message =
                            format!("improper relation name (too many dotted names): {}", parts.join("."));
                        return Err(self.error(b"42601", message, node));
                    }
                };
                let catalog = schema.is_none_or(|s| s == "pg_catalog");
                let system = ("pg_catalog".to_owned(), own.clone());
                if catalog && self.catalogs.system.contains_key(&system) {
                    return Ok(format!(
                        "(SELECT c.oid FROM pg_catalog.pg_class AS c WHERE c.relnamespace = 11 AND c.oid < 16384 AND c.relname = {})",
                        string(own)
                    ));
                }
                let places: Vec<&str> = match schema {
                    Some(schema) => vec![schema.as_str()],
                    None => self.asker.path.iter().map(String::as_str).collect(),
                };
                let found = places
                    .iter()
                    .find_map(|s| self.catalogs.names.iter().find(|n| n.schema == *s && n.name == *own));
                match found {
                    Some(named) => Ok(format!("{}::pg_catalog.oid", named.oid)),
                    None => Err(self.error(b"42P01", format!("relation \"{name}\" does not exist"), node)),
                }
            }
            Named::Type | Named::Function => self.lookup(&string(name), kind),
            Named::Schema => {
                let schemas = self.base("pg_namespace")?;
                Ok(format!("(SELECT n.oid FROM {schemas} AS n WHERE n.nspname = {})", string(name)))
            }
            Named::Role => Err(self.refused("the type regrole", node)),
        }
    }

    /// The OID of the object that a text names, NULL where there is none that is shown.
    fn lookup(&mut self, text: &str, kind: Named) -> Result<String> {
        Ok(match kind {
            Named::Relation => {
                let names = &self.catalogs.names;
                let place = |n: &crate::facts::Named| {
                    self.asker.path.iter().position(|s| *s == n.schema).map_or("NULL".into(), |p| p.to_string())
                };
                let lists = crate::text::table(&[
                    crate::text::numbers(names.iter().map(|n| n.oid), "oid"),
                    crate::text::texts(names.iter().map(|n| n.schema.as_str())),
                    crate::text::texts(names.iter().map(|n| n.name.as_str())),
                    crate::text::numbers(names.iter().map(place), "int4"),
                ]);
                format!(
                    "(SELECT f.oid FROM (SELECT c.oid, 'pg_catalog'::pg_catalog.text, c.relname::pg_catalog.text, -1
                        FROM pg_catalog.pg_class AS c WHERE c.relnamespace = 11 AND c.oid < 16384
                       UNION ALL SELECT * FROM {lists}) AS f(oid, s, r, place)
                      WHERE pg_catalog.parse_ident({text}) IN (ARRAY[f.s, f.r], ARRAY[{}, f.s, f.r])
                         OR (f.place IS NOT NULL AND pg_catalog.parse_ident({text}) = ARRAY[f.r])
                      ORDER BY f.place LIMIT 1)",
                    string(&self.asker.database)
                )
            }
            Named::Type => {
                let shown = self.visible("t.oid", kind);
                format!(
                    "(SELECT {shown} FROM (SELECT pg_catalog.to_regtype(CASE WHEN {text} ~ '^(\"?(pg_catalog|public)\"?\\.)?[A-Za-z0-9_ \"]+(\\[\\])?$'
                       THEN {text} END)::pg_catalog.oid) AS t(oid))"
                )
            }
            Named::Function => format!(
                "(SELECT p.oid FROM pg_catalog.pg_proc AS p WHERE p.oid < 16384 AND p.pronamespace = 11
                   AND {text} IN (p.proname::pg_catalog.text, pg_catalog.concat('pg_catalog.', p.proname)) LIMIT 1)"
            ),
            Named::Schema | Named::Role => {
                let schemas = self.base("pg_namespace")?;
                format!("(SELECT n.oid FROM {schemas} AS n WHERE n.nspname = {text})")
            }
        })
    }
}

/// What `to_regclass` and `to_regtype` look for: NULL where a cast would fail.
fn looked_up(f: &Function) -> Option<Named> {
    match last(&f.name).as_str() {
        "to_regclass" => Some(Named::Relation),
        "to_regtype" => Some(Named::Type),
        _ => None,
    }
    .filter(|_| arguments(f).is_some_and(|args| args.len() == 1))
}

fn type_of(kind: Named) -> &'static str {
    match kind {
        Named::Relation => "pg_catalog.regclass",
        Named::Type => "pg_catalog.regtype",
        Named::Function => "pg_catalog.regproc",
        Named::Schema | Named::Role => "pg_catalog.oid",
    }
}

fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    let plain = |arg| match arg {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref e)) => Some(e),
        _ => None,
    };
    list.args.iter().map(plain).collect()
}

/// A constant text.
fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => text_of(inner),
        Expr::Value(v) => match &v.value {
            Value::SingleQuotedString(s) | Value::EscapedStringLiteral(s) => Some(s),
            _ => None,
        },
        _ => None,
    }
}

fn is_oid_cast(expr: &Expr) -> bool {
    matches!(expr, Expr::Cast { data_type, .. } if matches!(target(data_type), Some(Target::Plain(_, "oid" | "int4" | "int8"))))
}

/// The parts of a name as PostgreSQL reads them in a text: `a."B"`.
fn name_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut part = String::new();
                let mut chars = quoted.char_indices().peekable();
                let end = loop {
                    let (at, c) = chars.next()?;
                    if c != '"' {
                        part.push(c);
                    } else if chars.next_if(|(_, c)| *c == '"').is_some() {
                        part.push('"');
                    } else {
                        break at + 1;
                    }
                };
                (part, quoted.get(end..)?)
            }
            None => {
                let end = rest.find(['.', '"', ' ']).unwrap_or(rest.len());
                let (part, after) = rest.split_at_checked(end)?;
                (part.to_lowercase(), after)
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(sql::names::truncate(part));
        rest = after.trim();
        match rest.strip_prefix('.') {
            Some(more) => rest = more.trim(),
            None => return rest.is_empty().then_some(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_postgresql_reads_them() {
        let parts = |t: &str| name_parts(t).map(|p| p.join("|"));
        assert_eq!(parts("Trips").as_deref(), Some("trips"));
        assert_eq!(parts("public . \"Tr\"\"ips\"").as_deref(), Some("public|Tr\"ips"));
        assert_eq!(parts("a.b.c").as_deref(), Some("a|b|c"));
        for wrong in ["", "a b", "a.", "\"a", "a\"b\""] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}
