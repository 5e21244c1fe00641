//! What PostgreSQL makes of a statement, counted from the resolved tree: each column of a subquery is what it stands for.

use noisegate::sql::ast::{
    BindingId, Body, CteId, Distinct, Expr, ExprKind, From, Query, Select, Source, Statement,
};
use std::collections::HashMap;

/// Sizes of the columns of relations, by binding, and of CTEs, by number.
#[derive(Default)]
struct Known {
    columns: HashMap<BindingId, Vec<u64>>,
    ctes: HashMap<CteId, Vec<u64>>,
    total: u64,
}

/// Expressions of the statement, with the subqueries in the queries around them.
pub fn pulled_up(statement: &Statement) -> u64 {
    let mut known = Known::default();
    known.query(&statement.query, statement);
    known.total
}

impl Known {
    fn query(&mut self, q: &Query, of: &Statement) -> Vec<u64> {
        for cte in &q.with {
            let columns = self.query(&cte.query, of);
            self.ctes.insert(cte.id, columns);
        }
        let columns = self.body(&q.body, of);
        q.order_by.iter().map(|o| &o.expr).for_each(|e| self.count(e, of));
        columns
    }

    fn body(&mut self, body: &Body, of: &Statement) -> Vec<u64> {
        match body {
            Body::Select(s) => self.select(s, of),
            Body::SetOp { left, right, .. } => {
                let (left, right) = (self.body(left, of), self.body(right, of));
                left.into_iter().zip(right).map(|(a, b)| a.max(b)).collect()
            }
            Body::Values(rows) => rows.iter().flatten().map(|e| self.counted(e, of)).collect(),
            Body::Rows { args, .. } => {
                vec![args.iter().map(|e| self.counted(e, of)).fold(1, u64::saturating_add)]
            }
            Body::Query(q) => self.query(q, of),
        }
    }

    fn select(&mut self, s: &Select, of: &Statement) -> Vec<u64> {
        s.from.iter().for_each(|f| self.from(f, of));
        let on = match &s.distinct {
            Distinct::On(on) => on.as_slice(),
            _ => &[],
        };
        s.filter.iter().chain(&s.having).chain(&s.group_by).chain(on).for_each(|e| self.count(e, of));
        s.items.iter().map(|i| self.counted(&i.expr, of)).collect()
    }

    fn from(&mut self, from: &From, of: &Statement) {
        match from {
            From::Join { left, right, on, .. } => {
                self.from(left, of);
                self.from(right, of);
                on.iter().for_each(|e| self.count(e, of));
            }
            From::Relation { binding, query, .. } => {
                let columns = match (query, of.bindings.get(*binding).map(|b| &b.source)) {
                    (Some(query), _) => self.query(query, of),
                    (None, Some(Source::Cte(id))) => self.ctes.get(id).cloned().unwrap_or_default(),
                    _ => Vec::new(),
                };
                self.columns.insert(*binding, columns);
            }
        }
    }

    fn count(&mut self, e: &Expr, of: &Statement) {
        self.counted(e, of);
    }

    fn counted(&mut self, e: &Expr, of: &Statement) -> u64 {
        let size = self.size(e, of);
        self.total = self.total.saturating_add(size);
        size
    }

    fn size(&mut self, e: &Expr, of: &Statement) -> u64 {
        let own = match &e.kind {
            ExprKind::Column { binding, column } => {
                self.columns.get(binding).and_then(|c| c.get(*column)).copied().unwrap_or(1)
            }
            ExprKind::Subquery(query) | ExprKind::Exists { query, .. } | ExprKind::InQuery { query, .. } => {
                let before = self.total;
                self.query(query, of);
                std::mem::replace(&mut self.total, before).saturating_sub(before)
            }
            _ => 1,
        };
        e.children().into_iter().fold(own, |sum, c| sum.saturating_add(self.size(c, of)))
    }
}
