//! Private relations as text: scans, joins, set operations, subqueries of WHERE.

use super::{alias, table_name};
use plan::expr::print::in_collation;
use plan::expr::{Node, Phys, Scalar};
use plan::source::{Branch, Kind, Leaf, Scan, SetRows, SetTree, Tree};
use sql::ast::SetOp;

/// The text of a scalar, in its physical type, with the relations of its subqueries.
pub(super) fn text(s: &Scalar) -> String {
    s.text(&subquery)
}

/// ` FROM … WHERE …`
pub(super) fn from_where(tree: &Tree, scans: &[Scan], first: Option<String>, filter: &[Scalar]) -> String {
    let conditions: Vec<String> = first.into_iter().chain(filter.iter().map(text)).collect();
    let filter =
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    format!(" FROM {}{filter}", joins(tree, scans))
}

fn joins(tree: &Tree, scans: &[Scan]) -> String {
    match tree {
        Tree::Scan(place) => scans.get(*place).map(scan).unwrap_or_default(),
        Tree::Join { left, right, kind, on } => {
            let (l, r) = (joins(left, scans), joins(right, scans));
            let r = if matches!(**right, Tree::Join { .. }) { format!("({r})") } else { r };
            let word = match kind {
                Kind::Inner if on.is_empty() => return format!("{l} CROSS JOIN {r}"),
                Kind::Inner => "JOIN",
                Kind::Left => "LEFT JOIN",
                Kind::Full => "FULL JOIN",
            };
            let on: Vec<String> = on.iter().map(text).collect();
            let on = if on.is_empty() { "true".to_owned() } else { on.join(" AND ") };
            format!("{l} {word} {r} ON {on}")
        }
    }
}

fn scan(s: &Scan) -> String {
    match &s.leaf {
        Leaf::Table(_, name) => format!("{} AS {}", table_name(name), alias(s.binding)),
        Leaf::Set(rows) => {
            let names: Vec<String> = (0..rows.columns.len()).map(|i| format!("c{i}")).collect();
            format!("({}) AS {}({})", set(&rows.tree, rows), alias(s.binding), names.join(", "))
        }
    }
}

fn set(tree: &SetTree, rows: &SetRows) -> String {
    match tree {
        SetTree::Branch(b) => {
            let items: Vec<String> =
                b.items.iter().zip(&rows.columns).map(|(item, column)| typed(item, column)).collect();
            format!("SELECT {}{}", items.join(", "), from_where(&b.tree, &b.scans, None, &b.filter))
        }
        SetTree::Op { op, all, left, right } => {
            let word = match op {
                SetOp::Union => "UNION",
                SetOp::Intersect => "INTERSECT",
                SetOp::Except => "EXCEPT",
            };
            let all = if *all { " ALL" } else { "" };
            format!("({}) {word}{all} ({})", set(left, rows), set(right, rows))
        }
    }
}

/// An item of a branch in the type that all branches give.
fn typed(item: &Scalar, column: &Scalar) -> String {
    match (column.node(), column.phys()) {
        (Node::Cast(_), Phys::Int | Phys::Num) => item.operand_text(column.phys(), &subquery),
        _ if matches!(item.node(), Node::Null) => format!("NULL::{}", column.ty().sql_name()),
        _ if column.ty().is_text() => in_collation(item, &known(item)),
        _ => known(item),
    }
}

/// A scalar whose text shows its type: the kernel believes columns, constants and casts.
fn known(item: &Scalar) -> String {
    match item.node() {
        Node::Column { .. } | Node::Text(_) | Node::Number(_) | Node::Bool(_) => text(item),
        _ => format!("({})::{}", text(item), item.ty().sql_name()),
    }
}

/// A subquery's text, of the branch's items or, without any, of a constant.
pub(super) fn subquery(b: &Branch) -> String {
    let items: Vec<String> = b.items.iter().map(text).collect();
    let items = if items.is_empty() { "1".to_owned() } else { items.join(", ") };
    format!("SELECT {items}{}", from_where(&b.tree, &b.scans, None, &b.filter))
}
