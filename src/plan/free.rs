//! Statements over private tables whose answers follow from text and policy alone: nothing is read, and nothing is paid.
//!
//! Clients ask for columns with `WHERE 1 = 0` and `LIMIT 0`: whatever the rows are, none comes back. Where the policy says
//! so (`answers.range_for_min_max`), the least and the greatest value of a column are those that it declares.

use crate::syntax::grouping::has_aggregate;
use crate::{Free, Plan};
use bigdecimal::BigDecimal;
use policy::{Column, Policy, Privacy, Range, Table};
use schema::{SqlType, time};
use sql::ast::*;
use std::collections::{BTreeSet, HashMap};

/// The plan of a statement that is free though it names private tables. No table is left in it.
pub(crate) fn plan(statement: &Statement, policy: &Policy) -> Option<Plan> {
    let private = |b: &Binding| {
        b.table().is_some_and(|t| policy.tables.get(t).is_none_or(|t| t.privacy != Privacy::Public))
    };
    if !statement.bindings.iter().any(|(_, b)| private(b)) {
        return None;
    }
    let (free, query) = match no_rows(&statement.query) {
        true => (Free::NoRows, nothing()),
        false => ranges(statement, policy)?,
    };
    Some(Plan {
        statement: Statement {
            query,
            bindings: Bindings::default(),
            types: HashMap::new(),
            spend: Default::default(),
        },
        releases: Vec::new(),
        stages: Vec::new(),
        grouping_sets: Vec::new(),
        private_ctes: BTreeSet::new(),
        charge: None,
        noise: String::new(),
        accuracy: None,
        rounded: BTreeSet::new(),
        unsure: None,
        tables: Vec::new(),
        question: None,
        free: Some(free),
    })
}

/// `SELECT WHERE false`.
fn nothing() -> Query {
    let filter = Expr::new(ExprKind::Literal(Literal::Bool(false)), None);
    top(Select { id: Some(SelectId::new(0)), filter: Some(filter), ..Select::of(Vec::new(), None) })
}

fn top(select: Select) -> Query {
    Query::of(Body::Select(Box::new(select)))
}

/// The query of a probe with rows: without the limit of 0, or the condition that is false, of the query itself. None of what is no
/// probe.
pub fn with_rows(q: &Query) -> Option<Query> {
    if !no_rows(q) {
        return None;
    }
    let mut query = q.clone();
    query.limit = query.limit.filter(|l| !is_zero(l));
    if let Body::Select(s) = &mut query.body {
        s.filter = s.filter.take().filter(|f| !is_never(f));
    }
    Some(query)
}

/// Whether a query has no rows over any tables. What is not surely so counts as having some, and so does a CTE's name.
fn no_rows(q: &Query) -> bool {
    if q.limit.as_ref().is_some_and(is_zero) {
        return true;
    }
    match &q.body {
        Body::Select(s) => selects_none(s, &q.order_by),
        body => no_rows_of(body),
    }
}

fn no_rows_of(body: &Body) -> bool {
    match body {
        Body::Select(s) => selects_none(s, &[]),
        Body::Query(q) => no_rows(q),
        Body::SetOp { op, left, right, .. } => match op {
            SetOp::Union => no_rows_of(left) && no_rows_of(right),
            SetOp::Intersect => no_rows_of(left) || no_rows_of(right),
            SetOp::Except => no_rows_of(left),
        },
        Body::Values(_) | Body::Rows { .. } => false,
    }
}

fn selects_none(s: &Select, order_by: &[OrderItem]) -> bool {
    let mut above = s.items.iter().map(|i| &i.expr).chain(order_by.iter().map(|o| &o.expr));
    // Without keys the aggregates of no rows are one row; and so is the empty grouping set.
    let passes = match s.has_group_by() {
        true => !s.group_by.is_empty() && s.grouping_sets.is_empty(),
        false => s.having.is_none() && !above.any(has_aggregate),
    };
    passes && (s.filter.as_ref().is_some_and(is_never) || s.from.iter().any(joins_none))
}

fn joins_none(from: &From) -> bool {
    match from {
        From::Relation { query, .. } => query.as_ref().is_some_and(|q| no_rows(q)),
        From::Join { left, right, kind, on, .. } => {
            let (left, right) = (joins_none(left), joins_none(right));
            match kind {
                JoinKind::Inner => left || right || on.as_ref().is_some_and(is_never),
                JoinKind::Left => left,
                JoinKind::Right => right,
                JoinKind::Full => left && right,
            }
        }
    }
}

/// Whether a condition lets no row pass: it is false, or NULL.
fn is_never(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Binary { op: BinaryOp::And, left, right } => is_never(left) || is_never(right),
        ExprKind::Binary { op: BinaryOp::Or, left, right } => is_never(left) && is_never(right),
        ExprKind::Cast { expr, ty } => ty.ty == SqlType::Bool && is_never(expr),
        ExprKind::Literal(Literal::Bool(false) | Literal::Null) => true,
        ExprKind::Binary { op, left, right } => {
            let (Some(l), Some(r)) = (number(left), number(right)) else { return false };
            match op {
                BinaryOp::Eq | BinaryOp::NotDistinct => l != r,
                BinaryOp::Ne | BinaryOp::Distinct => l == r,
                BinaryOp::Lt => l >= r,
                BinaryOp::Le => l > r,
                BinaryOp::Gt => l <= r,
                BinaryOp::Ge => l < r,
                _ => false,
            }
        }
        _ => false,
    }
}

fn is_zero(e: &Expr) -> bool {
    number(e) == Some(BigDecimal::from(0))
}

/// A number that is written down, or that a parameter brought.
fn number(e: &Expr) -> Option<BigDecimal> {
    match &e.kind {
        // With an exponent it may have any number of digits.
        ExprKind::Literal(Literal::Number(n)) if n.bytes().all(|b| b.is_ascii_digit() || b == b'.') => {
            n.parse().ok()
        }
        ExprKind::Cast { expr, ty } if ty.ty.is_integer() => match &expr.kind {
            ExprKind::Literal(Literal::String(n) | Literal::Number(n)) => {
                Some(BigDecimal::from(n.parse::<i64>().ok()?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// `SELECT min(x), max(y) FROM t`, and nothing else: the ends of the ranges of its columns.
fn ranges(statement: &Statement, policy: &Policy) -> Option<(Free, Query)> {
    let Query { with, body: Body::Select(s), order_by, limit: None, offset: None } = &statement.query else {
        return None;
    };
    let [From::Relation { binding, query: None, lateral: false, .. }] = s.from.as_slice() else {
        return None;
    };
    let bare = s.filter.is_none() && s.having.is_none() && !s.has_group_by() && s.distinct == Distinct::No;
    if !policy.answers.range_for_min_max || !bare || !with.is_empty() || !order_by.is_empty() {
        return None;
    }
    let table = policy.tables.get(statement.bindings.get(*binding)?.table()?)?;
    let mut columns: Vec<String> = Vec::new();
    let mut item = |i: &Item| {
        let (column, end) = end(&i.expr, *binding, table)?;
        if !columns.contains(&column.name) {
            columns.push(column.name.clone());
        }
        Some(Item { expr: end, name: i.name.clone() })
    };
    let items = s.items.iter().map(&mut item).collect::<Option<Vec<_>>>()?;
    let select = Select { items, from: Vec::new(), ..(**s).clone() };
    (!columns.is_empty()).then(|| (Free::Ranges(columns), top(select)))
}

/// The column of `min(x)` or `max(x)`, and the end of its range.
fn end<'t>(e: &Expr, of: BindingId, table: &'t Table) -> Option<(&'t Column, Expr)> {
    let ExprKind::Aggregate(a) = &e.kind else { return None };
    let least = match a.name {
        "min" => true,
        "max" => false,
        _ => return None,
    };
    let [Expr { kind: ExprKind::Column { binding, column }, .. }] = a.args.as_slice() else { return None };
    if *binding != of || a.filter.is_some() {
        return None;
    }
    let column = table.columns.get(*column)?;
    let text = match (column.range.as_ref()?, &column.ty) {
        (Range::Number { low, high }, _) => if least { low } else { high }.normalized().to_plain_string(),
        (Range::Time { low, high }, ty) => {
            let at = if least { *low } else { *high };
            match ty {
                SqlType::Date => time::date(at),
                SqlType::Timestamptz => format!("{}+00", time::timestamp(at)),
                _ => time::timestamp(at),
            }
        }
    };
    let text = Box::new(Expr::new(ExprKind::Literal(Literal::String(text)), e.pos));
    let ty = CastType { ty: column.ty.clone(), modifier: String::new() };
    Some((column, Expr::new(ExprKind::Cast { expr: text, ty }, e.pos)))
}
