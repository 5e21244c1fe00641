//! Scalar subqueries that are tied to the row around them along the path to the unit: `fare > (SELECT sum(l.km) FROM legs l WHERE
//! l.trip_id = t.trip_id)`, where legs have `unit_path = "trip_id -> trips.trip_id"`.
//!
//! The row that the path leads to is the row around, so that both are of one unit. The subquery is written anew with the table
//! that the path leads to, and the equality of units: `FROM legs l, trips u WHERE l.trip_id = t.trip_id AND u.trip_id =
//! l.trip_id AND u.rider_id = t.rider_id`. That has the same rows, since the path ends at a key; and it is planned, and proven,
//! as if it had been asked.

use super::rule::{Around, Entry, Rewrite, Site};
use crate::facts::Facts;
use crate::refusals::Refusal;
use crate::refusals::subquery::Subquery;
use crate::syntax::conditions::{conjuncts, single};
use policy::{Policy, Privacy};
use sql::ast::*;

/// The rule.
pub(super) const RULE: Entry = Entry {
    adds: Rule::AlongPath,
    example: "SELECT count(*) FROM trips t WHERE t.fare > (SELECT sum(l.km) FROM legs l WHERE l.trip_id = t.trip_id)",
    may: |part| matches!(part, Part::Expr(Expr { kind: ExprKind::Subquery(_), .. })),
    matched,
};

fn matched(site: &Site<'_>, around: &dyn Around) -> Option<Box<dyn Rewrite>> {
    let Site::Subquery(q, pos) = site else { return None };
    Some(Box::new(AlongPath::of(q, around.bindings(), around.policy(), *pos)?))
}

/// Such a subquery, and what it lacks.
struct AlongPath {
    /// The number of its SELECT.
    select: Option<SelectId>,
    /// The table that the path leads to, under a new name.
    led_to: Binding,
    /// What is equal of its columns: to columns of the table with the path, and the unit to that of the row around.
    equal: Vec<(usize, Expr)>,
    pos: Pos,
}

impl AlongPath {
    /// A subquery that is tied along a path of one step, and not by the unit.
    fn of(q: &Query, bindings: &Bindings, policy: &Policy, pos: Pos) -> Option<Self> {
        let Ok(Some((s, []))) = single(q, pos) else { return None };
        let conditions = conjuncts(s.filter.as_slice());
        let mut ties: Vec<(&Expr, &Expr)> = Vec::new();
        for c in &conditions {
            if let ExprKind::Binary { op: BinaryOp::Eq, left, right } = &c.kind {
                ties.extend([(&**left, &**right), (&**right, &**left)]);
            }
        }
        s.from.iter().find_map(|from| {
            let From::Relation { binding: inner, query: None, .. } = from else { return None };
            let of = bindings.get(*inner)?;
            let Privacy::Path(path) = &policy.tables.get(of.table()?)?.privacy else { return None };
            let unit = policy.tables.get(path.table)?.unit_column()?;
            let place = |b: &Binding, name: &str| b.columns.iter().position(|c| c == name);
            let mut around = None;
            let mut equal = Vec::new();
            for (column, key) in path.columns.iter().zip(&path.key) {
                let wanted = place(of, column)?;
                let (own, outer) = ties.iter().find_map(|(own, other)| match (&own.kind, &other.kind) {
                    (
                        ExprKind::Column { binding, column },
                        ExprKind::Column { binding: outer, column: at },
                    ) if binding == inner && *column == wanted && around.is_none_or(|a| a == *outer) => {
                        let b = bindings.get(*outer).filter(|b| b.table() == Some(path.table))?;
                        (b.columns.get(*at) == Some(key)).then_some((*own, *outer))
                    }
                    _ => None,
                })?;
                around = Some(outer);
                equal.push((place(bindings.get(outer)?, key)?, own.clone()));
            }
            let around = around?;
            let led_to = Binding {
                name: "path".to_owned(),
                origin: Origin::AddedBy(Rule::AlongPath),
                ..bindings.get(around)?.clone()
            };
            let column = place(&led_to, unit)?;
            let unit = Expr::new(ExprKind::Column { binding: around, column }, pos);
            let inside =
                s.from.iter().any(|f| matches!(f, From::Relation { binding, .. } if *binding == around));
            // With the unit among what ties it, it is planned as it stands.
            if inside || ties.iter().any(|(_, other)| **other == unit) {
                return None;
            }
            equal.push((column, unit));
            Some(Self { select: s.id, led_to, equal, pos })
        })
    }
}

impl Rewrite for AlongPath {
    fn put(&self, statement: &mut Statement, _: &Policy, _: &Facts<'_>) -> Result<bool, Refusal> {
        let binding = statement.bindings.next();
        let mut found = false;
        statement.query.each_query(&mut |q| {
            let Body::Select(s) = &mut q.body else { return };
            if s.id != self.select {
                return;
            }
            found = true;
            s.from.push(From::Relation { binding, query: None, lateral: false, pos: self.pos });
            let equal = self.equal.iter().map(|(column, other)| {
                let left = Box::new(Expr::new(ExprKind::Column { binding, column: *column }, self.pos));
                let right = Box::new(other.clone());
                Expr::new(ExprKind::Binary { op: BinaryOp::Eq, left, right }, self.pos)
            });
            s.filter = s.filter.take().into_iter().chain(equal).reduce(sql::resolve::and);
        });
        if found {
            statement.bindings.push(self.led_to.clone());
        }
        Ok(found)
    }

    fn refused(&self) -> Refusal {
        Subquery::AlongPath.at(self.pos)
    }
}
