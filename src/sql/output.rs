//! The output name that PostgreSQL derives for an unnamed select item (its `FigureColname`).

use super::ast::{ExprKind, SessionValue, Statement};
use super::names::truncate;
use schema::SqlType;

/// The name, and how sure PostgreSQL is of it (2: a name of its own, 1: a type's name, 0: none).
pub fn derive(expr: &super::ast::Expr, bindings: &super::ast::Bindings) -> (u8, String) {
    match &expr.kind {
        ExprKind::Column { binding, column } => {
            let name = bindings.get(*binding).and_then(|b| b.columns.get(*column));
            (2, name.cloned().unwrap_or_default())
        }
        ExprKind::Call { name, .. } => (2, (*name).to_owned()),
        ExprKind::Aggregate(a) => (2, a.name.to_owned()),
        ExprKind::Window { function, .. } => derive(function, bindings),
        ExprKind::Extract { .. } => (2, "extract".into()),
        ExprKind::AtTimeZone { .. } => (2, "timezone".into()),
        ExprKind::Session(v) => (2, session_name(*v).into()),
        ExprKind::Case { otherwise, .. } => {
            let inner = otherwise.as_ref().map_or((0, String::new()), |e| derive(e, bindings));
            if inner.0 > 1 { inner } else { (1, "case".into()) }
        }
        ExprKind::Cast { expr, ty } => {
            let inner = derive(expr, bindings);
            if inner.0 > 1 { inner } else { (1, type_name(&ty.ty)) }
        }
        ExprKind::Interval(_) => (1, "interval".into()),
        ExprKind::Literal(super::ast::Literal::Bool(_)) => (1, "bool".into()),
        ExprKind::Subquery(q) => (2, q.body.names().into_iter().next().unwrap_or_default()),
        ExprKind::Exists { negated: false, .. } => (2, "exists".into()),
        ExprKind::Array(_) => (2, "array".into()),
        ExprKind::Reach { what, .. } => (2, what.name().into()),
        _ => (0, "?column?".into()),
    }
}

/// The name, cut to PostgreSQL's 63 bytes.
pub fn output_name(expr: &super::ast::Expr, bindings: &super::ast::Bindings) -> String {
    let (sure, name) = derive(expr, bindings);
    if sure == 0 || name.is_empty() { "?column?".into() } else { truncate(name) }
}

fn session_name(v: SessionValue) -> &'static str {
    match v {
        SessionValue::Now(name) | SessionValue::User(name) | SessionValue::Database(name) => name,
        SessionValue::Date => "current_date",
        SessionValue::LocalTimestamp => "localtimestamp",
        SessionValue::Schema => "current_schema",
    }
}

fn type_name(ty: &SqlType) -> String {
    let qualified = ty.sql_name();
    qualified.rsplit('.').next().unwrap_or_default().trim_matches('"').to_owned()
}

impl Statement {
    /// Output names of the statement.
    pub fn output_names(&self) -> Vec<String> {
        self.query.body.names()
    }
}
