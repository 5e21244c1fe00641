//! Private relations as text: scans, joins, set operations, subqueries of WHERE.

use super::{alias, table_name};
use plan::algebra::source::{Branch, Kind, Leaf, Over, Scan, SetRows, SetTree, Tree};
use plan::algebra::windows::{Call, Sort, Sorted, Window};
use plan::expr::print::in_collation;
use plan::expr::{Node, Phys, Scalar};
use sql::ast::SetOp;

/// The text of a scalar, in its physical type, with the relations of its subqueries.
pub(super) fn text(s: &Scalar) -> String {
    s.text(&subquery)
}

/// A text that is NULL where a scalar is.
pub(super) fn presence(s: &Scalar) -> String {
    s.presence(&subquery)
}

/// ` FROM … WHERE …`. `beside`: what is joined to all of it.
pub(super) fn from_where(
    tree: &Tree,
    scans: &[Scan],
    beside: &str,
    first: Option<String>,
    filter: &[Scalar],
) -> String {
    let conditions: Vec<String> = first.into_iter().chain(filter.iter().map(text)).collect();
    let filter =
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
    match scans {
        [] => filter,
        _ => format!(" FROM {}{beside}{filter}", joins(tree, scans)),
    }
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
            let mut columns = rows.columns.iter();
            let mut items: Vec<String> =
                b.items.iter().zip(columns.by_ref()).map(|(item, column)| typed(item, column)).collect();
            let mut groups = String::new();
            match &b.over {
                Over::Rows => {}
                Over::Groups(calls) => {
                    let places: Vec<String> = (1..=items.len()).map(|i| i.to_string()).collect();
                    groups = format!(" GROUP BY {}", places.join(", "));
                    items.extend(
                        calls.iter().zip(columns).map(|(c, column)| as_column(&call(c, column), column)),
                    );
                }
                Over::Windows(windows) => {
                    let unit = b.items.first().map(text).unwrap_or_default();
                    items.extend(windows.iter().zip(columns).map(|(w, column)| window(w, &unit, column)));
                }
            }
            format!(
                "SELECT {}{}{groups}",
                items.join(", "),
                from_where(&b.tree, &b.scans, "", None, &b.filter)
            )
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

/// What is computed over several rows, in the type of its column.
fn as_column(text: &str, column: &Scalar) -> String {
    let ty = match (column.node(), column.phys()) {
        (Node::Cast(_), Phys::Int) => "pg_catalog.int8".to_owned(),
        (Node::Cast(_), Phys::Num) => "pg_catalog.numeric".to_owned(),
        _ => column.ty().sql_name(),
    };
    format!("({text})::{ty}")
}

fn call(c: &Call, column: &Scalar) -> String {
    let arg = c.arg.as_ref().map(|x| match c.name {
        // As numerics: no sum overflows.
        name if name == "sum" || name == "avg" || name.starts_with("var") || name.starts_with("stddev") => {
            x.operand_text(Phys::Num, &subquery)
        }
        "min" | "max" | "lag" | "lead" | "first_value" | "last_value" | "nth_value" => typed(x, column),
        _ => text(x),
    });
    let distinct = if c.distinct { "DISTINCT " } else { "" };
    match (c.name, arg, c.offset) {
        ("count", None, _) => "pg_catalog.count(*)".to_owned(),
        (name, None, Some(n)) => format!("pg_catalog.{name}({n})"),
        (name, None, None) => format!("pg_catalog.{name}()"),
        (name, Some(arg), None) => format!("pg_catalog.{name}({distinct}{arg})"),
        (name, Some(arg), Some(n)) => format!("pg_catalog.{name}({arg}, {n})"),
    }
}

fn window(w: &Window, unit: &str, column: &Scalar) -> String {
    let mut over = format!("PARTITION BY {unit}");
    w.partition.iter().for_each(|p| over += &format!(", {}", text(p)));
    let order: Vec<String> = w.order.iter().map(sorted).collect();
    if !order.is_empty() {
        over += &format!(" ORDER BY {}", order.join(", "));
    }
    over.extend(w.frame.iter().map(|f| format!(" {f}")));
    as_column(&format!("{} OVER ({over})", call(&w.call, column)), column)
}

fn sorted(o: &Sorted) -> String {
    let desc = if o.desc { " DESC" } else { "" };
    let nulls = match o.nulls_first {
        Some(true) => " NULLS FIRST",
        Some(false) => " NULLS LAST",
        None => "",
    };
    let by = match o.of {
        Sort::Value => text(&o.by),
        Sort::Text => format!("{}::pg_catalog.text", text(&o.by)),
        Sort::Bytes => in_collation(&o.by, &text(&o.by)),
    };
    format!("{by}{desc}{nulls}")
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
        Node::Column { .. } | Node::Given(_) | Node::Text(_) | Node::Number(_) | Node::Bool(_) => text(item),
        _ => format!("({})::{}", text(item), item.ty().sql_name()),
    }
}

/// A subquery's text, of the branch's items or, without any, of a constant.
pub(super) fn subquery(b: &Branch) -> String {
    let items: Vec<String> = b.items.iter().map(text).collect();
    let items = if items.is_empty() { "1".to_owned() } else { items.join(", ") };
    format!("SELECT {items}{}", from_where(&b.tree, &b.scans, "", None, &b.filter))
}
