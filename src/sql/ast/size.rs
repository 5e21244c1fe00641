//! How large a tree is, and how deep.

use super::{Body, Expr, ExprKind, From, Query};

/// The size of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Expressions, relations and queries.
    pub nodes: usize,
    /// The longest way from its root.
    pub levels: usize,
}

impl Size {
    fn beside(self, other: Self) -> Self {
        Self { nodes: self.nodes.saturating_add(other.nodes), levels: self.levels.max(other.levels) }
    }

    fn below_one(self) -> Self {
        Self { nodes: self.nodes.saturating_add(1), levels: self.levels.saturating_add(1) }
    }
}

fn all(parts: impl Iterator<Item = Size>) -> Size {
    parts.fold(Size::default(), Size::beside)
}

impl Expr {
    /// With the queries inside.
    pub fn size(&self) -> Size {
        let query = match &self.kind {
            ExprKind::Subquery(query) | ExprKind::Exists { query, .. } | ExprKind::InQuery { query, .. } => {
                query.size()
            }
            _ => Size::default(),
        };
        query.beside(all(self.children().into_iter().map(Self::size))).below_one()
    }
}

impl Query {
    /// With everything that stands in it.
    pub fn size(&self) -> Size {
        let with = all(self.with.iter().map(|c| c.query.size()));
        let exprs = self.order_by.iter().map(|o| &o.expr).chain(&self.limit).chain(&self.offset);
        with.beside(self.body.size()).beside(all(exprs.map(Expr::size))).below_one()
    }
}

impl Body {
    fn size(&self) -> Size {
        let inner = match self {
            Self::Select(s) => {
                let on = match &s.distinct {
                    super::Distinct::On(on) => on.as_slice(),
                    _ => &[],
                };
                let items = s.items.iter().map(|i| &i.expr);
                let exprs = items.chain(&s.filter).chain(&s.group_by).chain(&s.having).chain(on);
                all(s.from.iter().map(From::size)).beside(all(exprs.map(Expr::size)))
            }
            Self::SetOp { left, right, .. } => left.size().beside(right.size()),
            Self::Values(rows) => all(rows.iter().flatten().map(Expr::size)),
            Self::Rows { args, .. } => all(args.iter().map(Expr::size)),
            Self::Query(q) => q.size(),
        };
        inner.below_one()
    }
}

impl From {
    fn size(&self) -> Size {
        let inner = match self {
            Self::Relation { query, .. } => all(query.iter().map(|q| q.size())),
            Self::Join { left, right, on, .. } => {
                left.size().beside(right.size()).beside(all(on.iter().map(Expr::size)))
            }
        };
        inner.below_one()
    }
}
