//! Ways through a SELECT whose FROM has a collected relation: what stands where.

use crate::ast::*;
use std::collections::BTreeSet;

/// Position of a number that only sums and averages tell of, and that stands elsewhere than alone
/// in one of them.
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
                let is_on = |side: &From| side.relations().any(|(b, _)| b == binding);
                if is_on(left) {
                    matches!(kind, JoinKind::Inner | JoinKind::Left) && within(left, binding)
                } else if is_on(right) {
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
pub(super) fn columns_of(e: &Expr, of: BindingId, out: &mut BTreeSet<usize>) {
    let columns = e.parts().filter_map(Expr::column);
    out.extend(columns.filter(|(binding, _)| *binding == of).map(|(_, column)| column));
}

/// Gives the binding its query.
pub(super) fn fill(f: &mut From, binding: BindingId, expansion: &Query) {
    for relation in f.relations_mut() {
        if let From::Relation { binding: b, query, .. } = relation
            && *b == binding
        {
            *query = Some(Box::new(expansion.clone()));
        }
    }
}

/// Whether a query inside the SELECT names a column of the relation: in an expression, or by LATERAL.
pub(super) fn seen_from_within(select: &Select, order: &[OrderItem], binding: BindingId) -> bool {
    let items = select.items.iter().map(|i| &i.expr).chain(&select.filter).chain(&select.having);
    let exprs = items.chain(&select.group_by).chain(order.iter().map(|o| &o.expr));
    let subqueries = exprs.chain(select.conditions()).flat_map(Expr::subqueries);
    let derived = select.relations().filter_map(|(_, query)| query);
    subqueries.chain(derived).flat_map(Query::columns).any(|(b, _)| b == binding)
}
