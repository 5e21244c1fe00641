//! Sizes and depths of trees.

use super::expr::Expr;
use super::query::Query;
use super::visit::Part;

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

    fn of(part: Part<'_>) -> Self {
        part.parts().into_iter().map(Self::of).fold(Self::default(), Self::beside).below_one()
    }
}

impl Expr {
    /// With the queries inside.
    pub fn size(&self) -> Size {
        Size::of(Part::Expr(self))
    }
}

impl Query {
    /// With everything that stands in it.
    pub fn size(&self) -> Size {
        Size::of(Part::Query(self))
    }
}
