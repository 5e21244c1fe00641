//! Clauses: WITH, SELECT, FROM, ORDER BY.

use super::printer::Printer;
use super::shown::Shown;
use crate::{alias, ident, table};
use sql::ast::*;
use std::collections::BTreeMap;

impl Printer<'_> {
    pub(super) fn query(&mut self, q: &Query) {
        // What is shown is of this query, and of none in it.
        let shown = std::mem::take(&mut self.shown);
        let ctes: Vec<&Cte> =
            q.with.iter().filter(|c| !self.plan.is_some_and(|p| p.private_ctes.contains(&c.id))).collect();
        if !ctes.is_empty() {
            self.put("WITH ");
            self.list(&ctes, |p, c| {
                p.put(&format!("q{}", c.id));
                p.columns(c.query.body.names().len());
                p.put(" AS (");
                p.query(&c.query);
                p.put(")");
            });
            self.put(" ");
        }
        let outer = (self.release, self.place);
        match &q.body {
            Body::Select(s) => {
                self.stand(s);
                self.select(s, &shown);
            }
            body => self.body(body),
        }
        if !q.order_by.is_empty() {
            self.put(" ORDER BY ");
            let items = match &q.body {
                Body::Select(s) => s.items.as_slice(),
                _ => &[],
            };
            self.list(&q.order_by, |p, o| match &o.expr.kind {
                // Rows are sorted by the number itself, not by what is shown of it.
                ExprKind::Output(i)
                    if shown.contains_key(i)
                        && let Some(item) = items.get(*i) =>
                {
                    p.order_item(&OrderItem { expr: item.expr.clone(), ..o.clone() });
                }
                _ => p.order_item(o),
            });
        }
        (self.release, self.place) = outer;
        for (word, e) in [(" LIMIT ", &q.limit), (" OFFSET ", &q.offset)] {
            if let Some(e) = e {
                self.put(word);
                self.expr(e);
            }
        }
    }

    /// `(c0, c1, …)`
    pub(super) fn columns(&mut self, n: usize) {
        let names: Vec<String> = (0..n).map(|i| format!("c{i}")).collect();
        self.put(&format!("({})", names.join(", ")));
    }

    /// Makes a SELECT the place of all that is printed next.
    pub(super) fn stand(&mut self, s: &Select) {
        self.place = self.queries.as_ref().map(|q| q.place(s));
        self.release = self.place.and_then(|p| p.release);
    }

    fn body(&mut self, body: &Body) {
        match body {
            Body::Select(s) => {
                let outer = (self.release, self.place);
                self.stand(s);
                self.select(s, &BTreeMap::new());
                (self.release, self.place) = outer;
            }
            Body::Query(q) => {
                self.put("(");
                self.query(q);
                self.put(")");
            }
            Body::SetOp { op, all, left, right } => {
                self.operand(left);
                self.put(match op {
                    SetOp::Union => " UNION ",
                    SetOp::Intersect => " INTERSECT ",
                    SetOp::Except => " EXCEPT ",
                });
                if *all {
                    self.put("ALL ");
                }
                self.operand(right);
            }
            Body::Rows { function, args } => {
                self.put(&format!("SELECT pg_catalog.{function}("));
                self.list(args, Self::expr);
                self.put(")");
            }
            Body::Values(rows) => {
                self.put("VALUES ");
                self.list(rows, |p, row| {
                    p.put("(");
                    p.list(row, Self::expr);
                    p.put(")");
                });
            }
        }
    }

    fn operand(&mut self, body: &Body) {
        let wrap = matches!(body, Body::SetOp { .. });
        if wrap {
            self.put("(");
        }
        self.body(body);
        if wrap {
            self.put(")");
        }
    }

    fn select(&mut self, s: &Select, shown: &BTreeMap<usize, Shown>) {
        self.put("SELECT ");
        match &s.distinct {
            Distinct::No => {}
            Distinct::All => self.put("DISTINCT "),
            Distinct::On(list) => {
                self.put("DISTINCT ON (");
                self.list(list, Self::expr);
                self.put(") ");
            }
        }
        let items: Vec<(Option<&Shown>, &Item)> =
            s.items.iter().enumerate().map(|(i, item)| (shown.get(&i), item)).collect();
        self.list(&items, |p, (shown, item)| {
            match shown {
                Some(shown) => p.shown(&item.expr, shown),
                None => p.expr(&item.expr),
            }
            p.put(" AS ");
            p.put(&ident(&item.name));
        });
        if let Some(r) = self.release {
            match self.sets_of(r) {
                Some(sets) => self.sets(r, sets),
                None => self.released(r),
            }
            // Aggregates are columns now: HAVING is a filter over rows.
            self.clause(" WHERE ", s.having.as_ref());
            return;
        }
        if !s.from.is_empty() {
            self.put(" FROM ");
            self.list(&s.from, Self::from);
        }
        self.clause(" WHERE ", s.filter.as_ref());
        self.group_by(s);
        self.clause(" HAVING ", s.having.as_ref());
    }

    fn group_by(&mut self, s: &Select) {
        // PostgreSQL takes a constant for a column's number, parentheses or not: give it the number.
        let key = |p: &mut Self, e: &Expr| {
            let item = matches!(e.kind, ExprKind::Literal(_))
                .then(|| s.items.iter().position(|i| i.expr == *e))
                .flatten();
            match item {
                Some(i) => p.put(&(i + 1).to_string()),
                None => p.expr(e),
            }
        };
        if s.grouping_sets.is_empty() {
            if !s.group_by.is_empty() {
                self.put(" GROUP BY ");
                self.list(&s.group_by, key);
            }
            return;
        }
        self.put(" GROUP BY GROUPING SETS (");
        self.list(&s.grouping_sets, |p, set| {
            p.put("(");
            let keys: Vec<&Expr> = set.iter().filter_map(|i| s.group_by.get(*i)).collect();
            p.list(&keys, |p, e| key(p, e));
            p.put(")");
        });
        self.put(")");
    }

    fn clause(&mut self, word: &str, e: Option<&Expr>) {
        if let Some(e) = e {
            self.put(word);
            self.expr(e);
        }
    }

    fn from(&mut self, f: &From) {
        match f {
            From::Relation { binding, query, lateral, .. } => {
                let Some(b) = self.statement.bindings.get(*binding) else { return };
                match (&b.source, query) {
                    (Source::Table(t), _) => {
                        let name = self.policy.tables.get(*t).map(table).unwrap_or_default();
                        self.put(&format!("{name} AS {}", alias(*binding)));
                    }
                    (Source::Cte(id), _) => {
                        self.put(&format!("q{id} AS {}", alias(*binding)));
                    }
                    (Source::Own(own), _) => {
                        self.lasting = false;
                        let rows = self.own_rows(*own);
                        self.put(&format!("({rows}) AS {}", alias(*binding)));
                        self.columns(own.columns().len());
                    }
                    (Source::Derived | Source::Capped { .. }, Some(q)) => {
                        self.put(if *lateral { "LATERAL (" } else { "(" });
                        // A derived table is printed on its own terms.
                        let outer = self.release.take();
                        self.query(q);
                        self.release = outer;
                        self.put(&format!(") AS {}", alias(*binding)));
                        self.columns(q.body.names().len());
                    }
                    (Source::Derived | Source::Capped { .. }, None) => {}
                }
            }
            From::Join { left, right, kind, on, .. } => {
                self.from(left);
                self.put(match (kind, on) {
                    (JoinKind::Inner, None) => " CROSS JOIN ",
                    (JoinKind::Inner, _) => " JOIN ",
                    (JoinKind::Left, _) => " LEFT JOIN ",
                    (JoinKind::Right, _) => " RIGHT JOIN ",
                    (JoinKind::Full, _) => " FULL JOIN ",
                });
                let nested = matches!(**right, From::Join { .. });
                if nested {
                    self.put("(");
                }
                self.from(right);
                if nested {
                    self.put(")");
                }
                match on {
                    Some(on) => self.clause(" ON ", Some(on)),
                    None if *kind != JoinKind::Inner => self.put(" ON true"),
                    None => {}
                }
            }
        }
    }

    pub(super) fn nested(&mut self, open: &str, q: &Query) {
        self.put(open);
        let outer = self.release.take();
        self.query(q);
        self.release = outer;
        self.put(")");
    }

    pub(super) fn order_item(&mut self, o: &OrderItem) {
        self.expr(&o.expr);
        if o.desc {
            self.put(" DESC");
        }
        match o.nulls_first {
            Some(true) => self.put(" NULLS FIRST"),
            Some(false) => self.put(" NULLS LAST"),
            None => {}
        }
    }
}
