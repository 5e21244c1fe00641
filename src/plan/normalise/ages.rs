//! Sums and averages of ages: `avg(age(discharged_at, born))`.
//!
//! An age has months and a rest below a month, and no one length. PostgreSQL adds them up each by itself, and so does this:
//! the statement is written anew, with `avg(months) * interval '1 month' + justify_hours(avg(seconds) * interval '1 second')`
//! in its place, of which both are numbers with a range.

use super::rule::{Around, Entry, Rewrite, Site};
use crate::facts::Facts;
use crate::refusals::Refusal;
use crate::refusals::aggregate::Aggregation;
use policy::Policy;
use sql::ast::*;

/// The rule.
pub(super) const RULE: Entry = Entry {
    adds: Rule::MonthsOfAges,
    example: "SELECT avg(age(started_at, timestamp '2000-01-01')) FROM trips",
    may: |part| matches!(part, Part::Expr(e) if is_of_ages(e)),
    matched,
};

fn matched(site: &Site<'_>, _: &dyn Around) -> Option<Box<dyn Rewrite>> {
    let Site::Aggregates(select, above) = site else { return None };
    let of_ages = above.iter().any(|e| e.parts().any(is_of_ages));
    of_ages.then(|| -> Box<dyn Rewrite> { Box::new(Ages { select: select.id, pos: select.pos }) })
}

/// A SELECT in which sums and averages of ages become those of their parts.
struct Ages {
    select: Option<SelectId>,
    pos: Pos,
}

impl Rewrite for Ages {
    fn put(&self, statement: &mut Statement, _: &Policy, _: &Facts<'_>) -> Result<bool, Refusal> {
        Ok(without_ages(&mut statement.query, self.select))
    }

    fn refused(&self) -> Refusal {
        Aggregation::AgesWhole.at(self.pos)
    }
}

/// Whether an expression is a sum or an average of ages.
fn is_of_ages(e: &Expr) -> bool {
    let ExprKind::Aggregate(a) = &e.kind else { return false };
    let plain = !a.distinct && a.order_by.is_empty() && a.within_group.is_empty();
    let age = |e: &Expr| matches!(&e.kind, ExprKind::Call { name: "age", args } if args.len() == 2);
    plain && matches!(a.name, "sum" | "avg") && matches!(a.args.as_slice(), [one] if age(one))
}

/// Whether this is what an average of ages has below its months: beside them it is small, and its error says little of both.
pub fn is_rest(a: &Aggregate) -> bool {
    a.origin == Origin::AddedBy(Rule::RestOfAges)
}

/// Seconds of a day.
const DAY: &str = "86400";

/// Leaves none in this SELECT. Whether there is such a SELECT.
fn without_ages(query: &mut Query, select: Option<SelectId>) -> bool {
    let mut found = false;
    query.each_query(&mut |q| {
        let own = matches!(&q.body, Body::Select(s) if s.id == select);
        let order: &mut [OrderItem] = if own { &mut q.order_by } else { &mut [] };
        order.iter_mut().for_each(|o| replace(&mut o.expr));
        found |= in_body(&mut q.body, select);
    });
    found
}

fn in_body(body: &mut Body, select: Option<SelectId>) -> bool {
    match body {
        Body::Select(s) if s.id == select => {
            s.items.iter_mut().map(|i| &mut i.expr).chain(&mut s.having).for_each(replace);
            true
        }
        Body::SetOp { left, right, .. } => in_body(left, select) | in_body(right, select),
        Body::Select(_) | Body::Values(_) | Body::Rows { .. } | Body::Query(_) => false,
    }
}

fn replace(e: &mut Expr) {
    match &e.kind {
        ExprKind::Aggregate(a) if is_of_ages(e) => *e = of_parts(a, e.pos),
        _ => e.children_mut().into_iter().for_each(replace),
    }
}

/// A sum or an average of ages, from those of their months and seconds.
fn of_parts(a: &Aggregate, pos: Pos) -> Expr {
    let new = |kind| Expr::new(kind, pos);
    let binary = |op, left, right| new(ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) });
    let times = |left, right| binary(BinaryOp::Mul, left, right);
    let number = |n: &str| new(ExprKind::Literal(Literal::Number(n.to_owned())));
    let field = |(field, length): (&str, &str)| {
        let expr = a.args.first().cloned().unwrap_or_else(|| new(ExprKind::Literal(Literal::Null)));
        let field = new(ExprKind::Extract { field: field.to_owned(), expr: Box::new(expr) });
        if length == "1" { field } else { times(number(length), field) }
    };
    let of = |fields: &[(&str, &str)], unit: &str, rule: Rule| {
        let sum = fields.iter().copied().map(field).reduce(|a, b| binary(BinaryOp::Add, a, b));
        let call = Aggregate { args: sum.into_iter().collect(), origin: Origin::AddedBy(rule), ..a.clone() };
        times(new(ExprKind::Aggregate(Box::new(call))), new(ExprKind::Interval(unit.to_owned())))
    };
    let months = of(&[("year", "12"), ("month", "1")], "1 month", Rule::MonthsOfAges);
    let seconds = [("day", DAY), ("hour", "3600"), ("minute", "60"), ("second", "1")];
    let rest =
        ExprKind::Call { name: "justify_hours", args: vec![of(&seconds, "1 second", Rule::RestOfAges)] };
    binary(BinaryOp::Add, months, new(rest))
}
