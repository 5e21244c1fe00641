//! Expressions. Every operator is printed with its schema and in brackets.

use super::{Printer, Result};
use crate::operators::operator;
use crate::scope::{Relation, Scope};
use crate::text::{ident, string};
use crate::types::{Target, target};
use sql::names::{fold, last};
use sqlparser::ast::{
    AccessExpr, Array, BinaryOperator, CaseWhen, DateTimeField, Expr, Ident, Interval, Subscript,
    TrimWhereField, UnaryOperator, Value,
};

/// Fields of composite values, all of `information_schema._pg_expandarray` and `aclexplode`: none is the name of a function,
/// which PostgreSQL would call.
const FIELDS: [&str; 6] = ["x", "n", "grantor", "grantee", "privilege_type", "is_grantable"];

/// Words that are values of the session, and no columns.
const SESSION: [&str; 6] =
    ["current_user", "session_user", "user", "current_role", "current_catalog", "current_schema"];

/// The one system column that there is: it says which catalog a row stands in, and clients join comments by it.
const TABLE_OID: &str = "tableoid";

impl Printer<'_> {
    pub(super) fn expr(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<String> {
        if let Some(text) = self.named(expr, scope)? {
            return Ok(text);
        }
        Ok(match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => self.column(expr, scope)?.0,
            Expr::Nested(inner) => format!("({})", self.expr(inner, scope)?),
            Expr::Value(value) => self.value(&value.value, expr)?,
            Expr::IsTrue(e) => self.postfix(e, "IS TRUE", scope)?,
            Expr::IsNotTrue(e) => self.postfix(e, "IS NOT TRUE", scope)?,
            Expr::IsFalse(e) => self.postfix(e, "IS FALSE", scope)?,
            Expr::IsNotFalse(e) => self.postfix(e, "IS NOT FALSE", scope)?,
            Expr::IsNull(e) => self.postfix(e, "IS NULL", scope)?,
            Expr::IsNotNull(e) => self.postfix(e, "IS NOT NULL", scope)?,
            Expr::IsUnknown(e) => self.postfix(e, "IS UNKNOWN", scope)?,
            Expr::IsNotUnknown(e) => self.postfix(e, "IS NOT UNKNOWN", scope)?,
            Expr::IsDistinctFrom(a, b) => {
                format!("({} IS DISTINCT FROM {})", self.expr(a, scope)?, self.expr(b, scope)?)
            }
            Expr::IsNotDistinctFrom(a, b) => {
                format!("({} IS NOT DISTINCT FROM {})", self.expr(a, scope)?, self.expr(b, scope)?)
            }
            Expr::InList { expr, list, negated } => {
                let items: Vec<String> =
                    list.iter().map(|e| self.beside(expr, e, scope)).collect::<Result<_>>()?;
                format!("({} {}IN ({}))", self.expr(expr, scope)?, not(*negated), items.join(", "))
            }
            Expr::InSubquery { expr, subquery, negated } => {
                let left = self.expr(expr, scope)?;
                format!("({left} {}IN ({}))", not(*negated), self.subquery(subquery, scope)?)
            }
            Expr::Between { expr, negated, low, high } => {
                let (low, high) = (self.expr(low, scope)?, self.expr(high, scope)?);
                format!("({} {}BETWEEN {low} AND {high})", self.expr(expr, scope)?, not(*negated))
            }
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, scope, expr)?,
            Expr::Like { negated, any: false, expr: left, pattern, escape_char }
            | Expr::ILike { negated, any: false, expr: left, pattern, escape_char } => {
                let escape = escape_char.as_deref().map(|e| self.expr(e, scope)).transpose()?;
                let escape = escape.map(|e| format!(" ESCAPE {e}")).unwrap_or_default();
                let word = if matches!(expr, Expr::Like { .. }) { "LIKE" } else { "ILIKE" };
                let (left, pattern) = (self.expr(left, scope)?, self.expr(pattern, scope)?);
                format!("({left} {}{word} {pattern}{escape})", not(*negated))
            }
            Expr::AnyOp { left, compare_op, right, is_some: _ } => {
                self.quantified(left, compare_op, "ANY", right, scope, expr)?
            }
            Expr::AllOp { left, compare_op, right } => {
                self.quantified(left, compare_op, "ALL", right, scope, expr)?
            }
            Expr::UnaryOp { op, expr: inner } => {
                let op = match op {
                    UnaryOperator::Not => "NOT ",
                    UnaryOperator::Minus => "OPERATOR(pg_catalog.-) ",
                    UnaryOperator::Plus => "OPERATOR(pg_catalog.+) ",
                    _ => return Err(self.refused("this operator", expr)),
                };
                format!("({op}{})", self.expr(inner, scope)?)
            }
            Expr::Cast { expr: inner, data_type, format: None, kind: _ } => match target(data_type) {
                Some(Target::Plain(ty, _)) => {
                    let inner = if self.is_named(inner, scope) && is_text(&ty) {
                        self.shown(inner, scope)?
                    } else {
                        self.expr(inner, scope)?
                    };
                    format!("CAST({inner} AS {ty})")
                }
                _ => return Err(self.refused(format!("the type {data_type}"), expr)),
            },
            Expr::TypedString(t) if !t.uses_odbc_syntax => match target(&t.data_type) {
                Some(Target::Plain(ty, _)) => format!("CAST({} AS {ty})", self.value(&t.value.value, expr)?),
                _ => return Err(self.refused(format!("the type {}", t.data_type), expr)),
            },
            Expr::Interval(interval) => self.interval(interval, expr)?,
            Expr::Collate { expr: inner, collation } => {
                let name = last(collation);
                if !["default", "C", "POSIX", "ucs_basic"].contains(&name.as_str()) {
                    return Err(self.refused(format!("the collation {name}"), expr));
                }
                format!("({} COLLATE pg_catalog.{})", self.expr(inner, scope)?, ident(&name))
            }
            Expr::Case { case_token: _, end_token: _, operand, conditions, else_result } => {
                let mut text = String::from("CASE");
                if let Some(operand) = operand {
                    text.push_str(&format!(" {}", self.expr(operand, scope)?));
                }
                for CaseWhen { condition, result } in conditions {
                    let condition = match operand {
                        Some(operand) => self.beside(operand, condition, scope)?,
                        None => self.expr(condition, scope)?,
                    };
                    text.push_str(&format!(" WHEN {condition} THEN {}", self.expr(result, scope)?));
                }
                if let Some(otherwise) = else_result {
                    text.push_str(&format!(" ELSE {}", self.expr(otherwise, scope)?));
                }
                text.push_str(" END");
                format!("({text})")
            }
            Expr::Exists { subquery, negated } => {
                format!("({}EXISTS ({}))", not(*negated), self.subquery(subquery, scope)?)
            }
            Expr::Subquery(query) => format!("({})", self.subquery(query, scope)?),
            Expr::Array(Array { elem, named: _ }) => {
                format!("ARRAY[{}]", self.list(elem, scope)?)
            }
            Expr::Tuple(items) => format!("ROW({})", self.list(items, scope)?),
            Expr::Substring { expr: inner, substring_from, substring_for, special: _, shorthand: _ } => {
                let args = [Some(inner), substring_from.as_ref(), substring_for.as_ref()];
                let args = args.into_iter().flatten().map(|arg| &**arg);
                format!("pg_catalog.substring({})", self.list(args, scope)?)
            }
            Expr::Trim { trim_where, trim_what, expr: inner, trim_characters: None } => {
                let name = match trim_where {
                    Some(TrimWhereField::Leading) => "ltrim",
                    Some(TrimWhereField::Trailing) => "rtrim",
                    Some(TrimWhereField::Both) | None => "btrim",
                };
                let args = [Some(inner), trim_what.as_ref()].into_iter().flatten().map(|arg| &**arg);
                format!("pg_catalog.{name}({})", self.list(args, scope)?)
            }
            Expr::Position { expr: inner, r#in } => {
                format!("pg_catalog.strpos({}, {})", self.expr(r#in, scope)?, self.expr(inner, scope)?)
            }
            Expr::CompoundFieldAccess { root, access_chain } => self.access(root, access_chain, scope)?,
            Expr::Function(function) => self.function(function, scope)?,
            _ => return Err(self.refused("this expression", expr)),
        })
    }

    /// Expressions side by side.
    pub(super) fn list<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e Expr>,
        scope: &Scope<'_>,
    ) -> Result<String> {
        let texts: Vec<String> = exprs.into_iter().map(|e| self.expr(e, scope)).collect::<Result<_>>()?;
        Ok(texts.join(", "))
    }

    /// A query within an expression: its columns meet what is written around it.
    pub(super) fn subquery(&mut self, query: &sqlparser::ast::Query, scope: &Scope<'_>) -> Result<String> {
        let top = std::mem::replace(&mut self.top, false);
        let text = self.query(query, scope, false);
        self.top = top;
        Ok(text?.0)
    }

    fn postfix(&mut self, expr: &Expr, words: &str, scope: &Scope<'_>) -> Result<String> {
        Ok(format!("({} {words})", self.expr(expr, scope)?))
    }

    fn binary(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        scope: &Scope<'_>,
        node: &Expr,
    ) -> Result<String> {
        let word = match op {
            BinaryOperator::And => "AND".to_owned(),
            BinaryOperator::Or => "OR".to_owned(),
            op => match operator(op) {
                Some(name) => format!("OPERATOR(pg_catalog.{name})"),
                None => return Err(self.refused(format!("the operator {op}"), node)),
            },
        };
        let (a, b) = if *op == BinaryOperator::StringConcat {
            (self.as_text(left, scope)?, self.as_text(right, scope)?)
        } else {
            (self.beside(right, left, scope)?, self.beside(left, right, scope)?)
        };
        Ok(format!("({a} {word} {b})"))
    }

    fn quantified(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        word: &str,
        right: &Expr,
        scope: &Scope<'_>,
        node: &Expr,
    ) -> Result<String> {
        let Some(op) = operator(op) else {
            return Err(self.refused(format!("the operator {op}"), node));
        };
        let right = match right {
            Expr::Subquery(query) => self.subquery(query, scope)?,
            right => self.expr(right, scope)?,
        };
        Ok(format!("({} OPERATOR(pg_catalog.{op}) {word} ({right}))", self.expr(left, scope)?))
    }

    /// A column, and whether its values are shown by name.
    pub(super) fn column(&mut self, expr: &Expr, scope: &Scope<'_>) -> Result<(String, bool)> {
        let idents: &[Ident] = match expr {
            Expr::Identifier(ident) => std::slice::from_ref(ident),
            Expr::CompoundIdentifier(idents) => idents,
            _ => &[],
        };
        let mut names: Vec<String> = idents.iter().map(fold).collect();
        if names.len() == 4 && names.first() == Some(&self.asker.database) {
            names.remove(0);
        }
        match names.as_slice() {
            [name] => {
                let bare = idents.first().is_some_and(|i| i.quote_style.is_none());
                let column = scope.column(name);
                if column.is_none() && bare && SESSION.contains(&name.as_str()) {
                    return Ok((self.template(name, &[], scope, expr)?, false));
                }
                if column.is_none() && name == TABLE_OID {
                    match scope.tables().as_slice() {
                        [] => {}
                        [relation] => return Ok((table_oid(relation), false)),
                        _ => {
                            let message = format!("column reference \"{name}\" is ambiguous");
                            return Err(self.error(b"42702", message, expr));
                        }
                    }
                }
                Ok((ident(name), column.is_some_and(|c| c.named)))
            }
            // PostgreSQL would call a function of that name where there is no such column.
            [table, name] | [_, table, name] if names.len() == 2 || is_catalog(&names) => {
                let Some(relation) = scope.relation(table) else {
                    let message = format!("missing FROM-clause entry for table \"{table}\"");
                    return Err(self.error(b"42P01", message, expr));
                };
                let Some(column) = relation.columns.iter().find(|c| c.name == *name) else {
                    if name == TABLE_OID && relation.table.is_some() {
                        return Ok((table_oid(relation), false));
                    }
                    return Err(self.error(b"42703", format!("column {table}.{name} does not exist"), expr));
                };
                Ok((format!("{}.{}", ident(table), ident(name)), column.named))
            }
            _ => Err(self.refused("this name", expr)),
        }
    }

    fn value(&self, value: &Value, node: &Expr) -> Result<String> {
        Ok(match value {
            Value::Number(digits, false)
                if digits.bytes().all(|b| b.is_ascii_digit() || b".eE+-".contains(&b)) =>
            {
                digits.clone()
            }
            Value::SingleQuotedString(s)
            | Value::EscapedStringLiteral(s)
            | Value::UnicodeStringLiteral(s) => string(s),
            Value::DollarQuotedString(s) => string(&s.value),
            Value::Boolean(true) => "true".into(),
            Value::Boolean(false) => "false".into(),
            Value::Null => "NULL".into(),
            Value::Placeholder(p)
                if p.strip_prefix('$').is_some_and(|n| n.parse::<u16>().is_ok_and(|n| n > 0)) =>
            {
                p.clone()
            }
            _ => return Err(self.refused("this constant", node)),
        })
    }

    /// `INTERVAL '5' DAY`, of a constant.
    fn interval(&self, interval: &Interval, node: &Expr) -> Result<String> {
        use DateTimeField as F;
        let Interval {
            value,
            leading_field,
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        } = interval
        else {
            return Err(self.refused("this form of INTERVAL", node));
        };
        let Expr::Value(text) = &**value else {
            return Err(self.refused("an INTERVAL that is not a constant", node));
        };
        let field = match leading_field {
            None => "",
            Some(F::Year) => " YEAR",
            Some(F::Month) => " MONTH",
            Some(F::Day) => " DAY",
            Some(F::Hour) => " HOUR",
            Some(F::Minute) => " MINUTE",
            Some(F::Second) => " SECOND",
            Some(_) => return Err(self.refused("this form of INTERVAL", node)),
        };
        Ok(format!("CAST({} AS INTERVAL{field})", self.value(&text.value, node)?))
    }

    fn access(&mut self, root: &Expr, chain: &[AccessExpr], scope: &Scope<'_>) -> Result<String> {
        // `a.b[1]` is a column and its subscript.
        let dots = chain.iter().map_while(|a| match a {
            AccessExpr::Dot(Expr::Identifier(ident)) => Some(ident.clone()),
            _ => None,
        });
        // `(d).field` is a column of the relation d.
        let whole = match root {
            Expr::Nested(inner) => match &**inner {
                Expr::Identifier(of) if scope.column(&fold(of)).is_none() => {
                    scope.relation(&fold(of)).map(|_| &**inner)
                }
                _ => None,
            },
            _ => None,
        };
        let names: Vec<Ident> = match whole.unwrap_or(root) {
            Expr::Identifier(first) => std::iter::once(first.clone()).chain(dots).collect(),
            _ => Vec::new(),
        };
        let (root, chain) = match names.len() {
            0 | 1 => (root.clone(), chain),
            n => (Expr::CompoundIdentifier(names), chain.get(n - 1..).unwrap_or_default()),
        };
        let root = &root;
        let mut text = format!("({})", self.expr(root, scope)?);
        for access in chain {
            match access {
                AccessExpr::Dot(Expr::Identifier(field)) if FIELDS.contains(&fold(field).as_str()) => {
                    text = format!("({text}.{})", ident(&fold(field)));
                }
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    text = format!("({text}[{}])", self.expr(index, scope)?);
                }
                AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None }) => {
                    let bound = |p: &mut Self, b: &Option<Expr>| {
                        b.as_ref().map_or(Ok(String::new()), |b| p.expr(b, scope))
                    };
                    let (low, high) = (bound(self, lower_bound)?, bound(self, upper_bound)?);
                    text = format!("({text}[{low}:{high}])");
                }
                _ => return Err(self.refused("this field", root)),
            }
        }
        Ok(text)
    }
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

/// `pg_catalog.pg_class.relname`, or with information_schema.
fn is_catalog(names: &[String]) -> bool {
    names.first().is_some_and(|s| s == "pg_catalog" || s == "information_schema")
}

/// Types that OIDs become names in.
pub(super) fn is_text(ty: &str) -> bool {
    ["text", "name", "varchar", "bpchar"]
        .iter()
        .any(|t| ty.strip_prefix("pg_catalog.").is_some_and(|ty| ty.split(['(', '[']).next() == Some(*t)))
}

/// The OID of the catalog that a row stands in, NULL where an outer join found none: a first column never is.
fn table_oid(relation: &Relation) -> String {
    let first = relation.columns.first().map(|c| c.name.as_str()).unwrap_or_default();
    format!(
        "(CASE WHEN {}.{} IS NOT NULL THEN (SELECT t.oid FROM pg_catalog.pg_class AS t WHERE t.relname = {}
          AND t.relnamespace = 11) END)",
        ident(&relation.alias),
        ident(first),
        string(relation.table.as_deref().unwrap_or_default())
    )
}
