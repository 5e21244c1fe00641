//! Ways through a SELECT whose FROM has a collected relation: what stands where.

use crate::ast::*;
use crate::constants;
use std::collections::HashSet;

/// Where a number stands that only sums and averages tell of: elsewhere than alone in one of them.
pub(super) fn alone(e: &Expr, on_average: &dyn Fn(&Expr) -> bool) -> Option<Pos> {
    if on_average(e) {
        return Some(e.pos);
    }
    let within = |e: &Expr| e.children().into_iter().find_map(|c| alone(c, on_average));
    match &e.kind {
        ExprKind::Aggregate(a) if matches!(a.name, "sum" | "avg" | "count") => {
            let args = a.args.iter().filter(|arg| !on_average(arg));
            args.chain(&a.filter).find_map(|e| alone(e, on_average))
        }
        _ => within(e),
    }
}

/// Whether every row of the collected relation is kept as it is by the joins around it, or dropped.
pub(super) fn kept(from: &[From], binding: BindingId) -> bool {
    fn within(f: &From, binding: BindingId) -> bool {
        match f {
            From::Relation { .. } => true,
            From::Join { left, right, kind, .. } => {
                let mut on_left = HashSet::new();
                left.bindings(&mut on_left);
                let mut on_right = HashSet::new();
                right.bindings(&mut on_right);
                if on_left.contains(&binding) {
                    matches!(kind, JoinKind::Inner | JoinKind::Left) && within(left, binding)
                } else if on_right.contains(&binding) {
                    matches!(kind, JoinKind::Inner | JoinKind::Right) && within(right, binding)
                } else {
                    true
                }
            }
        }
    }
    from.iter().all(|f| within(f, binding))
}

/// The columns of a binding that an expression names.
pub(super) fn columns_of(e: &Expr, of: BindingId, out: &mut HashSet<usize>) {
    e.any(&mut |e| {
        if let ExprKind::Column { binding, column } = e.kind
            && binding == of
        {
            out.insert(column);
        }
        false
    });
}

/// The conditions of joins.
pub(super) fn conditions(f: &From, note: &mut dyn FnMut(&Expr)) {
    if let From::Join { left, right, on, .. } = f {
        conditions(left, note);
        conditions(right, note);
        on.iter().for_each(note);
    }
}

/// The same, to be changed.
pub(super) fn conditions_mut(f: &mut From, change: &mut dyn FnMut(&mut Expr)) {
    if let From::Join { left, right, on, .. } = f {
        conditions_mut(left, change);
        conditions_mut(right, change);
        on.iter_mut().for_each(change);
    }
}

/// Gives the binding its query.
pub(super) fn fill(f: &mut From, binding: BindingId, expansion: &Query) {
    match f {
        From::Relation { binding: b, query, .. } if *b == binding => {
            *query = Some(Box::new(expansion.clone()))
        }
        From::Relation { .. } => {}
        From::Join { left, right, .. } => {
            fill(left, binding, expansion);
            fill(right, binding, expansion);
        }
    }
}

/// Whether a query inside the SELECT names a column of the relation: in an expression, or by LATERAL.
pub(super) fn seen_from_within(select: &Select, order: &[OrderItem], binding: BindingId) -> bool {
    // Of a copy that has no FROM of its own but the queries in it, and no expression but the subqueries.
    let mut found = false;
    let mut inside = |q: &Query| {
        let mut statement = Statement {
            query: q.clone(),
            bindings: Bindings::default(),
            types: Default::default(),
            spend: Default::default(),
        };
        constants::each(&mut statement, &mut |e| {
            found |= matches!(e.kind, ExprKind::Column { binding: b, .. } if b == binding);
        });
    };
    let mut subqueries = |e: &Expr| {
        e.any(&mut |e| {
            if let ExprKind::Subquery(q)
            | ExprKind::Exists { query: q, .. }
            | ExprKind::InQuery { query: q, .. } = &e.kind
            {
                inside(q);
            }
            false
        });
    };
    let items = select.items.iter().map(|i| &i.expr).chain(&select.filter).chain(&select.having);
    items.chain(&select.group_by).chain(order.iter().map(|o| &o.expr)).for_each(&mut subqueries);
    select.from.iter().for_each(|f| conditions(f, &mut subqueries));
    fn queries(f: &From, inside: &mut dyn FnMut(&Query)) {
        match f {
            From::Relation { query, .. } => query.iter().for_each(|q| inside(q)),
            From::Join { left, right, .. } => {
                queries(left, inside);
                queries(right, inside);
            }
        }
    }
    select.from.iter().for_each(|f| queries(f, &mut inside));
    found
}
