//! Scalar subqueries that are tied to the row around them by something else than its unit: `fare > (SELECT avg(u.fare) FROM
//! trips u WHERE u.station = t.station)`.
//!
//! Such a one looks at rows of other units, so that it is a release: grouped by what ties it, and joined. The statement is
//! written anew, as `LEFT JOIN (SELECT u.station, avg(u.fare) FROM trips u GROUP BY u.station) x ON x.station = t.station`, and
//! planned as if that had been asked: its rows are released first, and are constants of what is read next (`stages`).

use super::rule::{Around, Entry, Rewrite, Site};
use crate::facts::Facts;
use crate::refusals::Refusal;
use crate::refusals::subquery::Subquery;
use crate::syntax::conditions::{conjuncts, single};
use crate::syntax::grouping::has_aggregate;
use crate::syntax::grouping::is_over_several;
use crate::syntax::subqueries::refers_outside;
use policy::{Policy, Privacy};
use sql::ast::*;
use sql::functions::Nulls;
use std::collections::BTreeSet;

/// The rule.
pub(super) const RULE: Entry = Entry {
    adds: Rule::ByGroup,
    example: "SELECT count(*) FROM trips t WHERE fare > (SELECT avg(u.fare) FROM trips u WHERE u.station = t.station)",
    may: |part| matches!(part, Part::Expr(Expr { kind: ExprKind::Subquery(_), .. })),
    matched,
};

fn matched(site: &Site<'_>, around: &dyn Around) -> Option<Box<dyn Rewrite>> {
    let Site::Subquery(q, pos) = site else { return None };
    let groups = ByGroup::of(q, *pos).filter(|g| around.is_of_several_units(&g.grouped))?;
    Some(Box::new(groups))
}

/// A subquery that is to become groups in FROM.
struct ByGroup {
    /// The subquery, grouped.
    grouped: Select,
    /// What ties it, of the row around.
    outer: Vec<Expr>,
    /// It counts: of no rows 0.
    counts: bool,
    pos: Pos,
}

impl ByGroup {
    /// A subquery of one aggregate, tied by equalities. None for what is not, or of which a group that is missing would not
    /// be NULL.
    fn of(q: &Query, pos: Pos) -> Option<Self> {
        let Ok(Some((s, []))) = single(q, pos) else { return None };
        let [item] = s.items.as_slice() else { return None };
        let alone = Select { items: Vec::new(), ..s.clone() };
        let counts = matches!(&item.expr.kind, ExprKind::Aggregate(a) if a.name == "count");
        if !q.with.is_empty()
            || is_over_several(&alone)
            || !has_aggregate(&item.expr)
            || !(counts || is_strict(&item.expr))
        {
            return None;
        }
        let own = q.defined();
        let within = |e: &Expr| refers_outside(e, &own).is_none();
        let without = |e: &Expr| {
            !e.any(&mut |e| match &e.kind {
                ExprKind::Column { binding, .. } => own.contains(binding),
                ExprKind::Subquery(_) | ExprKind::Exists { .. } | ExprKind::InQuery { .. } => true,
                _ => false,
            })
        };
        let (mut keys, mut outer, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for c in conjuncts(s.filter.as_slice()) {
            match &c.kind {
                ExprKind::Binary { op: BinaryOp::Eq, left, right } if within(left) && without(right) => {
                    keys.push((**left).clone());
                    outer.push((**right).clone());
                }
                ExprKind::Binary { op: BinaryOp::Eq, left, right } if within(right) && without(left) => {
                    keys.push((**right).clone());
                    outer.push((**left).clone());
                }
                _ => rest.push(c),
            }
        }
        if keys.is_empty() || !rest.iter().chain([&item.expr]).all(within) {
            return None;
        }
        let name = |(i, expr): (usize, &Expr)| Item { expr: expr.clone(), name: format!("k{i}") };
        let mut items: Vec<Item> = keys.iter().enumerate().map(name).collect();
        items.push(item.clone());
        let filter = rest.into_iter().reduce(sql::resolve::and);
        let grouped = Select { items, group_by: keys, filter, ..s.clone() };
        Some(Self { grouped, outer, counts, pos })
    }

    /// The groups without those that no row of this SELECT meets: where a key of a public table ties them, and WHERE chooses rows
    /// of that table by conditions on them alone, those of the rows that it chooses.
    fn narrowed(&self, s: &Select, bindings: &Bindings, policy: &Policy) -> Select {
        let mut grouped = self.grouped.clone();
        let conditions = conjuncts(s.filter.as_slice());
        for (inner, outer) in self.grouped.group_by.iter().zip(&self.outer) {
            let ExprKind::Column { binding, column } = outer.kind else { continue };
            let Some(of) = bindings.get(binding) else { continue };
            let table = of.table().and_then(|t| policy.tables.get(t));
            let Some(table) = table.filter(|t| t.privacy == Privacy::Public) else { continue };
            let is_key = |key: &Vec<String>| key.len() == 1 && key.first() == of.columns.get(column);
            let chosen: Vec<Expr> =
                conditions.iter().filter(|c| looks_at(c, binding) == Some(true)).cloned().collect();
            let there = grouped.from.iter().any(|f| keeps(f, binding));
            let kept = s.from.iter().any(|f| keeps(f, binding));
            if there || !kept || chosen.is_empty() || !table.keys.iter().any(is_key) {
                continue;
            }
            // Under its own number: the groups are a query of their own.
            grouped.from.push(From::Relation { binding, query: None, lateral: false, pos: self.pos });
            let (left, right) = (Box::new(inner.clone()), Box::new(outer.clone()));
            let tied = Expr::new(ExprKind::Binary { op: BinaryOp::Eq, left, right }, self.pos);
            let all = grouped.filter.take().into_iter().chain([tied]).chain(chosen);
            grouped.filter = all.reduce(sql::resolve::and);
        }
        grouped
    }

    fn replace(&self, e: &mut Expr, value: &Expr, done: &mut bool) {
        match &e.kind {
            ExprKind::Subquery(q) if q.body.first_select() == self.grouped.id => {
                *e = value.clone();
                *done = true;
            }
            _ => e.children_mut().into_iter().for_each(|c| self.replace(c, value, done)),
        }
    }
}

impl Rewrite for ByGroup {
    /// Puts the groups into the FROM of the SELECT in which the subquery stands, and a column of theirs in its place: if there
    /// is such a SELECT, and all that ties the subquery is of its rows.
    fn put(&self, statement: &mut Statement, policy: &Policy, _: &Facts<'_>) -> Result<bool, Refusal> {
        let binding = statement.bindings.next();
        let bindings = &statement.bindings;
        let pos = self.pos;
        let column = |column: usize| Expr::new(ExprKind::Column { binding, column }, pos);
        let value = column(self.outer.len());
        let value = match self.counts {
            false => value,
            true => {
                let zero = Expr::new(ExprKind::Literal(Literal::Number("0".into())), pos);
                Expr::new(ExprKind::Call { name: "coalesce", args: vec![value, zero] }, pos)
            }
        };
        let tied = |(i, outer): (usize, &Expr)| {
            let (left, right) = (Box::new(column(i)), Box::new(outer.clone()));
            Expr::new(ExprKind::Binary { op: BinaryOp::Eq, left, right }, pos)
        };
        let on = self.outer.iter().enumerate().map(tied).reduce(sql::resolve::and);
        let groups = |grouped: Select| {
            let query = Some(Box::new(Query::of(Body::Select(Box::new(grouped)))));
            From::Relation { binding, query, lateral: false, pos }
        };
        let mut done = false;
        let mut select = |s: &mut Select| {
            let mut of_from = BTreeSet::new();
            s.from.iter().for_each(|f| f.bindings(&mut of_from));
            if done || !self.outer.iter().all(|e| refers_outside(e, &of_from).is_none()) {
                return;
            }
            let exprs = s.items.iter_mut().map(|i| &mut i.expr).chain(&mut s.filter);
            for e in exprs.chain(&mut s.group_by).chain(&mut s.having) {
                self.replace(e, &value, &mut done);
            }
            if !done {
                return;
            }
            let join = |left, right, kind, on| From::Join {
                left: Box::new(left),
                right: Box::new(right),
                kind,
                on,
                pos,
            };
            let grouped = self.narrowed(s, bindings, policy);
            let all =
                std::mem::take(&mut s.from).into_iter().reduce(|a, b| join(a, b, JoinKind::Inner, None));
            s.from.extend(all.map(|all| join(all, groups(grouped), JoinKind::Left, on.clone())));
        };
        statement.query.each_select(&mut select);
        if done {
            let columns = self.grouped.items.iter().map(|i| i.name.clone()).collect();
            let name = "group".to_owned();
            statement.bindings.push(Binding {
                name,
                source: Source::Derived,
                columns,
                origin: Origin::AddedBy(Rule::ByGroup),
            });
        }
        Ok(done)
    }

    /// What ties it is further out.
    fn refused(&self) -> Refusal {
        Subquery::Beyond.at(self.pos)
    }
}

/// Whether a condition looks at columns of this binding; None where it looks at others, or holds a subquery.
pub(crate) fn looks_at(e: &Expr, wanted: BindingId) -> Option<bool> {
    match &e.kind {
        ExprKind::Column { binding, .. } => (*binding == wanted).then_some(true),
        ExprKind::Subquery(_) | ExprKind::Exists { .. } | ExprKind::InQuery { .. } => None,
        _ => e.children().into_iter().try_fold(false, |any, c| Some(looks_at(c, wanted)? || any)),
    }
}

/// Whether a relation stands in a FROM where no outer join pads it.
fn keeps(from: &From, wanted: BindingId) -> bool {
    match from {
        From::Relation { binding, .. } => *binding == wanted,
        From::Join { kind: JoinKind::Inner, left, right, .. } => keeps(left, wanted) || keeps(right, wanted),
        From::Join { .. } => false,
    }
}

/// Whether it is NULL where its aggregates are, none of which is a count.
fn is_strict(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Aggregate(a) => !matches!(a.name, "count" | "regr_count"),
        ExprKind::Binary { op, left, right } => {
            let arithmetic =
                matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Mod);
            let constant = |e: &Expr| matches!(e.kind, ExprKind::Literal(_));
            arithmetic && [left, right].iter().all(|e| constant(e) || is_strict(e))
        }
        ExprKind::Negate(e) | ExprKind::Cast { expr: e, .. } => is_strict(e),
        ExprKind::Call { name, args } => {
            let strict = sql::functions::get(name).is_some_and(|f| f.nulls == Nulls::Any);
            strict && args.split_first().is_some_and(|(first, _)| is_strict(first))
        }
        _ => false,
    }
}
