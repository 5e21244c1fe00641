//! Expressions.

use super::printer::Printer;
use super::released::Row;
use crate::{alias, ident, string};
use schema::SqlType;
use sql::ast::*;

impl Printer<'_> {
    pub(super) fn expr(&mut self, e: &Expr) {
        if let Some(pos) = e.pos {
            self.marks.push((self.out.len(), pos));
        }
        if let Some(index) = self.release
            && let Some(r) = self.plan.and_then(|p| p.releases.get(index))
        {
            if let Some(sets) = self.sets_of(index) {
                if let Some(text) = self.of_sets(index, sets, e) {
                    self.put(&text);
                    return;
                }
            } else if matches!(&e.kind, ExprKind::Aggregate(a) if a.name == "grouping") {
                self.put("0::pg_catalog.int4");
                return;
            }
            if let Some(k) = r.group_keys().iter().position(|k| k.expr == *e) {
                self.put(&format!("r{index}.k{k}"));
                return;
            }
            if let ExprKind::Aggregate(a) = &e.kind
                && let Some(text) = self.of_select(index).find_map(|(from, r)| {
                    let (_, output) = r.outputs.iter().find(|(have, _)| *have == **a)?;
                    Some(output.text(&Row::of(index, from).released(r)))
                })
            {
                self.put(&text);
                return;
            }
        }
        self.kind(&e.kind);
    }

    fn kind(&mut self, kind: &ExprKind) {
        match kind {
            ExprKind::Column { binding, column } => self.column(*binding, *column),
            ExprKind::Output(i) => self.put(&(i + 1).to_string()),
            ExprKind::Literal(l) => self.put(&match l {
                Literal::Number(n) if n.starts_with('-') => format!("({n})"),
                Literal::Number(n) => n.clone(),
                Literal::String(s) => string(s),
                Literal::Bool(b) => b.to_string(),
                Literal::Null => "NULL".into(),
            }),
            ExprKind::Param(n) => self.put(&format!("${n}")),
            ExprKind::Any { op, expr, array, all } => {
                self.wrapped("(", expr, " ");
                self.put(plan::expr::operator(*op));
                self.wrapped(if *all { " ALL (" } else { " ANY (" }, array, "))");
            }
            ExprKind::Negate(x) => self.wrapped("(- ", x, ")"),
            ExprKind::Not(x) => self.wrapped("(NOT ", x, ")"),
            ExprKind::Binary { op, left, right } => {
                self.put("(");
                self.expr(left);
                self.put(&format!(" {} ", plan::expr::operator(*op)));
                self.expr(right);
                self.put(")");
            }
            ExprKind::Is { expr, what, negated } => {
                self.wrapped("(", expr, if *negated { " IS NOT " } else { " IS " });
                self.put(match what {
                    Is::Null => "NULL)",
                    Is::True => "TRUE)",
                    Is::False => "FALSE)",
                    Is::Unknown => "UNKNOWN)",
                });
            }
            ExprKind::Like { expr, pattern, escape, insensitive, negated } => {
                self.wrapped("(", expr, if *negated { " NOT" } else { "" });
                self.wrapped(if *insensitive { " ILIKE " } else { " LIKE " }, pattern, "");
                if let Some(e) = escape {
                    self.put(&format!(" ESCAPE {}", string(e)));
                }
                self.put(")");
            }
            ExprKind::Matches { expr, pattern, how, negated } => {
                self.wrapped(
                    "(",
                    expr,
                    match (how, negated) {
                        (Pattern::Similar, false) => " SIMILAR TO ",
                        (Pattern::Similar, true) => " NOT SIMILAR TO ",
                        (Pattern::Regex, false) => " OPERATOR(pg_catalog.~) ",
                        (Pattern::Regex, true) => " OPERATOR(pg_catalog.!~) ",
                        (Pattern::RegexAnyCase, false) => " OPERATOR(pg_catalog.~*) ",
                        (Pattern::RegexAnyCase, true) => " OPERATOR(pg_catalog.!~*) ",
                    },
                );
                self.wrapped("", pattern, ")");
            }
            ExprKind::In { expr, list, negated } => {
                self.wrapped("(", expr, if *negated { " NOT IN (" } else { " IN (" });
                self.list(list, Self::expr);
                self.put("))");
            }
            ExprKind::Between { expr, low, high, negated } => {
                self.wrapped("(", expr, if *negated { " NOT BETWEEN " } else { " BETWEEN " });
                self.expr(low);
                self.wrapped(" AND ", high, ")");
            }
            ExprKind::Case { branches, otherwise } => {
                self.put("(CASE");
                for (when, then) in branches {
                    self.wrapped(" WHEN ", when, " THEN ");
                    self.expr(then);
                }
                if let Some(e) = otherwise {
                    self.wrapped(" ELSE ", e, "");
                }
                self.put(" END)");
            }
            ExprKind::Cast { expr, ty } => {
                self.wrapped("(", expr, ")::");
                self.put(&format!("{}{}", ty.ty.sql_name(), ty.modifier));
            }
            ExprKind::Extract { field, expr } => {
                // The field came from a parsed name; only letters and underscores are printed.
                let field: String = field.chars().filter(|c| c.is_ascii_alphabetic() || *c == '_').collect();
                self.wrapped(&format!("EXTRACT({} FROM ", ident(&field)), expr, ")");
            }
            ExprKind::AtTimeZone { expr, zone } => {
                self.wrapped("(", expr, " AT TIME ZONE ");
                self.wrapped("", zone, ")");
            }
            ExprKind::Interval(text) => self.put(&format!("{}::pg_catalog.interval", string(text))),
            ExprKind::Call { name, args } => {
                let name = match *name {
                    // Syntax, not functions of pg_catalog.
                    n @ ("coalesce" | "nullif" | "greatest" | "least") => n.to_uppercase(),
                    n => format!("pg_catalog.{}", ident(n)),
                };
                self.put(&format!("{name}("));
                self.list(args, Self::expr);
                self.put(")");
            }
            ExprKind::Session(v) => {
                self.lasting = false;
                let text = self.session(*v);
                self.put(&text);
            }
            ExprKind::Aggregate(a) => self.aggregate(a),
            ExprKind::Window { function, partition_by, order_by, frame } => {
                // The function itself is printed, even where an equal aggregate was released.
                match &function.kind {
                    ExprKind::Aggregate(a) => self.aggregate(a),
                    other => self.kind(other),
                }
                self.put(" OVER (");
                if !partition_by.is_empty() {
                    self.put("PARTITION BY ");
                    self.list(partition_by, Self::expr);
                }
                if !order_by.is_empty() {
                    self.put(" ORDER BY ");
                    self.list(order_by, Self::order_item);
                }
                if let Some(f) = frame {
                    self.put(&format!(" {f}"));
                }
                self.put(")");
            }
            ExprKind::Subquery(q) => self.nested("(", q),
            ExprKind::Exists { query, negated } => {
                self.nested(if *negated { "(NOT EXISTS (" } else { "(EXISTS (" }, query);
                self.put(")");
            }
            ExprKind::InQuery { expr, query, negated } => {
                self.wrapped("(", expr, if *negated { " NOT IN " } else { " IN " });
                self.nested("(", query);
                self.put(")");
            }
            ExprKind::Reach { what, expr, confidence } => self.reach(*what, expr, *confidence),
            ExprKind::Array(list) => {
                self.put("ARRAY[");
                self.list(list, Self::expr);
                self.put("]");
            }
        }
    }

    fn aggregate(&mut self, a: &Aggregate) {
        if let ("median", [x], []) = (a.name, a.args.as_slice(), a.within_group.as_slice()) {
            let by = OrderItem { expr: x.clone(), desc: false, nulls_first: None };
            let half = Expr::new(ExprKind::Literal(Literal::Number("0.5".into())), None);
            let (name, args, within_group) = ("percentile_cont", vec![half], vec![by]);
            return self.aggregate(&Aggregate { name, args, within_group, ..a.clone() });
        }
        match a.name {
            // Syntax.
            "grouping" => self.put("GROUPING("),
            name => self.put(&format!("pg_catalog.{}(", ident(name))),
        }
        if a.distinct {
            self.put("DISTINCT ");
        }
        if a.args.is_empty() && a.within_group.is_empty() {
            self.put("*");
        }
        self.list(&a.args, Self::expr);
        if !a.order_by.is_empty() {
            self.put(" ORDER BY ");
            self.list(&a.order_by, Self::order_item);
        }
        self.put(")");
        if !a.within_group.is_empty() {
            self.put(" WITHIN GROUP (ORDER BY ");
            self.list(&a.within_group, Self::order_item);
            self.put(")");
        }
        if let Some(f) = &a.filter {
            self.wrapped(" FILTER (WHERE ", f, ")");
        }
    }

    fn column(&mut self, binding: BindingId, column: usize) {
        let of_table = match self.statement.bindings.get(binding) {
            Some(Binding { source: Source::Table(t), .. }) => {
                Some(self.policy.tables.get(*t).and_then(|t| t.columns.get(column)))
            }
            _ => None,
        };
        let alias = alias(binding);
        self.put(&match of_table {
            // Beside private rows a char(n) is its text, without the blanks at the end, which is what is released of it.
            Some(Some(c)) if c.ty == SqlType::Bpchar && self.private => {
                format!("({alias}.{})::pg_catalog.text", ident(&c.name))
            }
            // A table's columns keep their names, whatever the alias calls them.
            Some(c) => format!("{alias}.{}", c.map(|c| ident(&c.name)).unwrap_or_default()),
            None => format!("{alias}.c{column}"),
        });
    }
}
