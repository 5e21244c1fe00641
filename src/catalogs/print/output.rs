//! The names that PostgreSQL gives columns (its `FigureColname`).

use super::first_select;
use sql::names::{fold, last};
use sqlparser::ast::{AccessExpr, DataType, Expr, SelectItem, Value};

/// The name of an unnamed select item.
pub fn name(expr: &Expr) -> String {
    let (sure, name) = derive(expr);
    if sure == 0 || name.is_empty() { "?column?".into() } else { sql::names::truncate(name) }
}

fn derive(expr: &Expr) -> (u8, String) {
    match expr {
        Expr::Identifier(ident) => (2, fold(ident)),
        Expr::CompoundIdentifier(parts) => (2, parts.last().map(fold).unwrap_or_default()),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|a| match a {
                AccessExpr::Dot(Expr::Identifier(ident)) => Some(fold(ident)),
                _ => None,
            });
            field.map_or_else(|| derive(root), |name| (2, name))
        }
        Expr::Function(f) => (2, last(&f.name)),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => derive(inner),
        Expr::Cast { expr, data_type, .. } => {
            let inner = derive(expr);
            if inner.0 > 1 { inner } else { (1, type_name(data_type)) }
        }
        Expr::Case { else_result, .. } => {
            let inner = else_result.as_ref().map_or((0, String::new()), |e| derive(e));
            if inner.0 > 1 { inner } else { (1, "case".into()) }
        }
        Expr::Value(v) if matches!(v.value, Value::Boolean(_)) => (1, "bool".into()),
        Expr::TypedString(t) => (1, type_name(&t.data_type)),
        Expr::Interval(_) => (1, "interval".into()),
        Expr::Exists { negated: false, .. } => (2, "exists".into()),
        Expr::Array(_) => (2, "array".into()),
        Expr::Subquery(query) => match first_select(&query.body).and_then(|s| s.projection.first()) {
            Some(SelectItem::UnnamedExpr(e)) => derive(e),
            Some(SelectItem::ExprWithAlias { alias, .. }) => (2, fold(alias)),
            _ => (0, String::new()),
        },
        Expr::Substring { .. } => (2, "substring".into()),
        Expr::Trim { trim_where, .. } => {
            use sqlparser::ast::TrimWhereField::{Leading, Trailing};
            let name = match trim_where {
                Some(Leading) => "ltrim",
                Some(Trailing) => "rtrim",
                _ => "btrim",
            };
            (2, name.into())
        }
        Expr::Position { .. } => (2, "position".into()),
        Expr::Extract { .. } => (2, "extract".into()),
        _ => (0, String::new()),
    }
}

fn type_name(ty: &DataType) -> String {
    match ty {
        DataType::Array(sqlparser::ast::ArrayElemTypeDef::SquareBracket(element, _)) => type_name(element),
        DataType::Regclass => "regclass".into(),
        ty => match crate::types::target(ty) {
            Some(crate::types::Target::Plain(_, name)) => name.into(),
            _ => match ty {
                DataType::Custom(name, _) => last(name),
                _ => String::new(),
            },
        },
    }
}
