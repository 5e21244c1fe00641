//! Visits of a tree: the parts that stand directly in a part, and all that stand in one: to be
//! read, as an iterator, and to be changed.

use super::expr::{Aggregate, Expr, ExprKind};
use super::query::{Body, Cte, Distinct, From, Item, OrderItem, Query, Select};

/// A part of a tree.
#[derive(Clone, Copy)]
pub enum Part<'t> {
    /// A query, with its WITH and ORDER BY.
    Query(&'t Query),
    /// The body of a query.
    Body(&'t Body),
    /// An entry of FROM, or a side of a join.
    From(&'t From),
    /// An expression.
    Expr(&'t Expr),
}

/// A part of a tree that can be changed.
pub enum PartMut<'t> {
    /// A query, with its WITH and ORDER BY.
    Query(&'t mut Query),
    /// The body of a query.
    Body(&'t mut Body),
    /// An entry of FROM, or a side of a join.
    From(&'t mut From),
    /// An expression.
    Expr(&'t mut Expr),
}

/// Writes `inside`, in the order in which parts are computed: FROM stands before the select list, a query before what it
/// is compared with.
macro_rules! inside {
    ($Part:ident $(, $mut:ident)?) => {
        impl<'t> $Part<'t> {
            /// Adds what stands directly in it.
            pub(super) fn inside(self, out: &mut Vec<Self>) {
                match self {
                    Self::Query(Query { with, body, order_by, limit, offset }) => {
                        for Cte { query, .. } in with {
                            out.push(Self::Query(query));
                        }
                        out.push(Self::Body(body));
                        for OrderItem { expr, .. } in order_by {
                            out.push(Self::Expr(expr));
                        }
                        out.extend(limit.into_iter().chain(offset).map(Self::Expr));
                    }
                    Self::Body(body) => match body {
                        Body::Select(s) => {
                            let Select { distinct, items, from, filter, group_by, having, .. } = &$($mut)? **s;
                            out.extend(from.into_iter().map(Self::From));
                            for Item { expr, .. } in items {
                                out.push(Self::Expr(expr));
                            }
                            out.extend(filter.into_iter().chain(group_by).chain(having).map(Self::Expr));
                            if let Distinct::On(on) = distinct {
                                out.extend(on.into_iter().map(Self::Expr));
                            }
                        }
                        Body::SetOp { left, right, .. } => out.extend([Self::Body(left), Self::Body(right)]),
                        Body::Values(rows) => out.extend(rows.into_iter().flatten().map(Self::Expr)),
                        Body::Rows { args, .. } => out.extend(args.into_iter().map(Self::Expr)),
                        Body::Query(query) => out.push(Self::Query(query)),
                    },
                    Self::From(From::Relation { query, .. }) => {
                        if let Some(query) = query {
                            out.push(Self::Query(query));
                        }
                    }
                    Self::From(From::Join { left, right, on, .. }) => {
                        out.extend([Self::From(left), Self::From(right)]);
                        out.extend(on.into_iter().map(Self::Expr));
                    }
                    Self::Expr(Expr { kind, .. }) => match kind {
                        ExprKind::Column { .. }
                        | ExprKind::Output(_)
                        | ExprKind::Literal(_)
                        | ExprKind::Param(_)
                        | ExprKind::Interval(_)
                        | ExprKind::Session(_) => {}
                        ExprKind::Subquery(query) | ExprKind::Exists { query, .. } => out.push(Self::Query(query)),
                        ExprKind::InQuery { expr, query, .. } => {
                            out.extend([Self::Query(query), Self::Expr(expr)]);
                        }
                        ExprKind::Negate(expr)
                        | ExprKind::Not(expr)
                        | ExprKind::Is { expr, .. }
                        | ExprKind::Cast { expr, .. }
                        | ExprKind::Extract { expr, .. }
                        | ExprKind::Reach { expr, .. } => out.push(Self::Expr(expr)),
                        ExprKind::Binary { left: a, right: b, .. }
                        | ExprKind::Any { expr: a, array: b, .. }
                        | ExprKind::Like { expr: a, pattern: b, .. }
                        | ExprKind::Matches { expr: a, pattern: b, .. }
                        | ExprKind::AtTimeZone { expr: a, zone: b } => {
                            out.extend([Self::Expr(a), Self::Expr(b)]);
                        }
                        ExprKind::Between { expr, low, high, .. } => {
                            out.extend([Self::Expr(expr), Self::Expr(low), Self::Expr(high)]);
                        }
                        ExprKind::In { expr, list, .. } => {
                            out.push(Self::Expr(expr));
                            out.extend(list.into_iter().map(Self::Expr));
                        }
                        ExprKind::Case { branches, otherwise } => {
                            for (when, then) in branches {
                                out.extend([Self::Expr(when), Self::Expr(then)]);
                            }
                            if let Some(expr) = otherwise {
                                out.push(Self::Expr(expr));
                            }
                        }
                        ExprKind::Call { args, .. } | ExprKind::Array(args) => {
                            out.extend(args.into_iter().map(Self::Expr));
                        }
                        ExprKind::Aggregate(a) => {
                            let Aggregate { args, order_by, filter, within_group, .. } = &$($mut)? **a;
                            out.extend(args.into_iter().map(Self::Expr));
                            for OrderItem { expr, .. } in order_by {
                                out.push(Self::Expr(expr));
                            }
                            out.extend(filter.into_iter().map(Self::Expr));
                            for OrderItem { expr, .. } in within_group {
                                out.push(Self::Expr(expr));
                            }
                        }
                        ExprKind::Window { function, partition_by, order_by, .. } => {
                            out.push(Self::Expr(function));
                            out.extend(partition_by.into_iter().map(Self::Expr));
                            for OrderItem { expr, .. } in order_by {
                                out.push(Self::Expr(expr));
                            }
                        }
                    },
                }
            }

            /// Puts what stands directly in it on top of a stack, the first uppermost.
            fn open(self, stack: &mut Vec<Self>) {
                let below = stack.len();
                self.inside(stack);
                if let Some(inside) = stack.get_mut(below..) {
                    inside.reverse();
                }
            }
        }
    };
}

inside!(Part);
inside!(PartMut, mut);

/// Parts of a tree, each before what stands in it.
pub struct Parts<'t> {
    next: Vec<Part<'t>>,
    /// Whether the walk goes into a part.
    enters: fn(Part<'_>) -> bool,
}

impl<'t> Iterator for Parts<'t> {
    type Item = Part<'t>;

    fn next(&mut self) -> Option<Part<'t>> {
        let part = self.next.pop()?;
        if (self.enters)(part) {
            part.open(&mut self.next);
        }
        Some(part)
    }
}

impl<'t> Part<'t> {
    /// The part and all that stand in it.
    pub fn all(self) -> Parts<'t> {
        self.entering(|_| true)
    }

    /// The part and those that stand in it, where the walk goes only into these parts.
    pub fn entering(self, enters: fn(Part<'_>) -> bool) -> Parts<'t> {
        Parts { next: vec![self], enters }
    }

    /// Parts that stand directly in it.
    pub fn parts(self) -> Vec<Self> {
        let mut inside = Vec::new();
        self.inside(&mut inside);
        inside
    }

    /// The expression that it is.
    pub fn expr(self) -> Option<&'t Expr> {
        if let Self::Expr(e) = self { Some(e) } else { None }
    }

    /// The query that it is.
    pub fn query(self) -> Option<&'t Query> {
        if let Self::Query(q) = self { Some(q) } else { None }
    }
}

impl<'t> PartMut<'t> {
    /// Calls `f` for it and what stands in it, each part before those inside it. The walk goes into what `f` gives back.
    pub fn each(self, f: &mut dyn FnMut(Self) -> Option<Self>) {
        let mut next = vec![self];
        while let Some(part) = next.pop() {
            if let Some(part) = f(part) {
                part.open(&mut next);
            }
        }
    }
}
