//! Ways through the tree: the parts of an expression, the expressions of a query, the bindings of a FROM.

use super::{Body, Distinct, Expr, ExprKind, From, Query};

impl Expr {
    /// The direct parts of this expression; queries inside it are not entered.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Column { .. }
            | ExprKind::Output(_)
            | ExprKind::Literal(_)
            | ExprKind::Param(_)
            | ExprKind::Interval(_)
            | ExprKind::Session(_)
            | ExprKind::Subquery(_)
            | ExprKind::Exists { .. } => Vec::new(),
            ExprKind::Negate(e) | ExprKind::Not(e) => vec![e],
            ExprKind::Binary { left, right, .. } => vec![left, right],
            ExprKind::Any { expr, array, .. } => vec![expr, array],
            ExprKind::Is { expr, .. }
            | ExprKind::Cast { expr, .. }
            | ExprKind::Extract { expr, .. }
            | ExprKind::InQuery { expr, .. }
            | ExprKind::Reach { expr, .. } => vec![expr],
            ExprKind::Like { expr, pattern, .. } | ExprKind::Matches { expr, pattern, .. } => {
                vec![expr, pattern]
            }
            ExprKind::In { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
            ExprKind::Between { expr, low, high, .. } => vec![expr, low, high],
            ExprKind::AtTimeZone { expr, zone } => vec![expr, zone],
            ExprKind::Case { branches, otherwise } => {
                branches.iter().flat_map(|(w, t)| [w, t]).chain(otherwise.as_deref()).collect()
            }
            ExprKind::Call { args, .. } | ExprKind::Array(args) => args.iter().collect(),
            ExprKind::Aggregate(a) => a
                .args
                .iter()
                .chain(a.order_by.iter().map(|o| &o.expr))
                .chain(a.filter.as_ref())
                .chain(a.within_group.iter().map(|o| &o.expr))
                .collect(),
            ExprKind::Window { function, partition_by, order_by, .. } => std::iter::once(&**function)
                .chain(partition_by)
                .chain(order_by.iter().map(|o| &o.expr))
                .collect(),
        }
    }

    /// Whether this expression, or a part of it (queries not entered), satisfies `test`.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        test(self) || self.children().into_iter().any(|c| c.any(test))
    }

    /// The direct parts of this expression, in the order of [`Self::children`]; queries inside it are not entered.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            ExprKind::Column { .. }
            | ExprKind::Output(_)
            | ExprKind::Literal(_)
            | ExprKind::Param(_)
            | ExprKind::Interval(_)
            | ExprKind::Session(_)
            | ExprKind::Subquery(_)
            | ExprKind::Exists { .. } => Vec::new(),
            ExprKind::Negate(e) | ExprKind::Not(e) => vec![e],
            ExprKind::Binary { left, right, .. } => vec![left, right],
            ExprKind::Any { expr, array, .. } => vec![expr, array],
            ExprKind::Is { expr, .. }
            | ExprKind::Cast { expr, .. }
            | ExprKind::Extract { expr, .. }
            | ExprKind::InQuery { expr, .. }
            | ExprKind::Reach { expr, .. } => vec![expr],
            ExprKind::Like { expr, pattern, .. } | ExprKind::Matches { expr, pattern, .. } => {
                vec![expr, pattern]
            }
            ExprKind::In { expr, list, .. } => std::iter::once(&mut **expr).chain(list).collect(),
            ExprKind::Between { expr, low, high, .. } => vec![expr, low, high],
            ExprKind::AtTimeZone { expr, zone } => vec![expr, zone],
            ExprKind::Case { branches, otherwise } => {
                branches.iter_mut().flat_map(|(w, t)| [w, t]).chain(otherwise.as_deref_mut()).collect()
            }
            ExprKind::Call { args, .. } | ExprKind::Array(args) => args.iter_mut().collect(),
            ExprKind::Aggregate(a) => a
                .args
                .iter_mut()
                .chain(a.order_by.iter_mut().map(|o| &mut o.expr))
                .chain(a.filter.as_mut())
                .chain(a.within_group.iter_mut().map(|o| &mut o.expr))
                .collect(),
            ExprKind::Window { function, partition_by, order_by, .. } => std::iter::once(&mut **function)
                .chain(partition_by)
                .chain(order_by.iter_mut().map(|o| &mut o.expr))
                .collect(),
        }
    }

    /// Does `f` to each direct part, in its place; queries inside are not entered.
    pub fn each_child<E>(&mut self, f: &mut dyn FnMut(&mut Expr) -> Result<(), E>) -> Result<(), E> {
        self.children_mut().into_iter().try_for_each(f)
    }
}

impl From {
    /// The bindings that stand in it, those inside derived tables left out.
    pub fn bindings(&self, out: &mut std::collections::HashSet<super::BindingId>) {
        match self {
            From::Relation { binding, .. } => {
                out.insert(*binding);
            }
            From::Join { left, right, .. } => {
                left.bindings(out);
                right.bindings(out);
            }
        }
    }

    fn exprs<'a>(&'a self, out: &mut Vec<&'a Expr>) {
        match self {
            From::Relation { query, .. } => out.extend(query.iter().flat_map(|q| q.exprs())),
            From::Join { left, right, on, .. } => {
                left.exprs(out);
                right.exprs(out);
                out.extend(on);
            }
        }
    }
}

impl Query {
    /// The outermost expressions of this query, of its CTEs, branches and derived tables; those of subqueries inside
    /// expressions are left to the caller.
    pub fn exprs(&self) -> Vec<&Expr> {
        let mut out: Vec<&Expr> = self.with.iter().flat_map(|c| c.query.exprs()).collect();
        self.body.exprs(&mut out);
        out.extend(self.order_by.iter().map(|o| &o.expr));
        out.extend(self.limit.iter().chain(&self.offset));
        out
    }
}

impl Body {
    fn exprs<'a>(&'a self, out: &mut Vec<&'a Expr>) {
        match self {
            Body::Select(s) => {
                s.from.iter().for_each(|f| f.exprs(out));
                out.extend(s.items.iter().map(|i| &i.expr));
                out.extend(s.filter.iter().chain(&s.group_by).chain(&s.having));
                if let Distinct::On(on) = &s.distinct {
                    out.extend(on);
                }
            }
            Body::SetOp { left, right, .. } => {
                left.exprs(out);
                right.exprs(out);
            }
            Body::Values(rows) => out.extend(rows.iter().flatten()),
            Body::Rows { args, .. } => out.extend(args),
            Body::Query(q) => out.extend(q.exprs()),
        }
    }
}
