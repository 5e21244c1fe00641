//! Walks over queries and expressions, by what is looked for.
//!
//! A place that asks something of every query, SELECT, relation or expression takes a walk from here. Only what does
//! something of its own at each kind of part, as printing does, matches on them itself.

use super::visit::{Part, PartMut, Parts};
use super::{BindingId, Body, Expr, ExprKind, From, Query, Select};
use std::collections::BTreeSet;

impl Query {
    /// All parts, itself first.
    pub fn parts(&self) -> Parts<'_> {
        Part::Query(self).all()
    }

    /// Sources of the rows: the query itself, its CTEs, branches and relations. The walk ends at
    /// expressions.
    pub fn sources(&self) -> Parts<'_> {
        Part::Query(self).entering(|p| !matches!(p, Part::Expr(_)))
    }

    /// All SELECTs.
    pub fn selects(&self) -> impl Iterator<Item = &Select> {
        self.parts().filter_map(|part| match part {
            Part::Body(Body::Select(s)) => Some(&**s),
            _ => None,
        })
    }

    /// All expressions.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.parts().filter_map(Part::expr)
    }

    /// The columns that stand anywhere in it: binding, and place.
    pub fn columns(&self) -> impl Iterator<Item = (BindingId, usize)> {
        self.expressions().filter_map(Expr::column)
    }

    /// The bindings that it defines.
    pub fn defined(&self) -> BTreeSet<BindingId> {
        let binding = |part| match part {
            Part::From(From::Relation { binding, .. }) => Some(*binding),
            _ => None,
        };
        self.parts().filter_map(binding).collect()
    }

    /// Changes each query, the outer ones first.
    pub fn each_query(&mut self, f: &mut dyn FnMut(&mut Query)) {
        PartMut::Query(self).each(&mut |mut part| {
            if let PartMut::Query(q) = &mut part {
                f(q);
            }
            Some(part)
        });
    }

    /// Changes each SELECT, before what stands in it.
    pub fn each_select(&mut self, f: &mut dyn FnMut(&mut Select)) {
        PartMut::Query(self).each(&mut |mut part| {
            if let PartMut::Body(Body::Select(s)) = &mut part {
                f(s);
            }
            Some(part)
        });
    }

    /// Changes each relation: its binding, and the query of a derived table.
    pub fn each_relation(&mut self, f: &mut dyn FnMut(&mut BindingId, &mut Option<Box<Query>>)) {
        PartMut::Query(self).each(&mut |mut part| {
            if let PartMut::From(From::Relation { binding, query, .. }) = &mut part {
                f(binding, query);
            }
            Some(part)
        });
    }

    /// Changes each expression, after what stands in it.
    pub fn each_expr(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.exprs_mut().into_iter().for_each(|e| e.each(f));
    }

    /// The outermost expressions, of its CTEs, branches and derived tables, too.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        let mut found = Vec::new();
        PartMut::Query(self).each(&mut |part| match part {
            PartMut::Expr(e) => {
                found.push(e);
                None
            }
            part => Some(part),
        });
        found
    }
}

impl From {
    fn entries(&self) -> Parts<'_> {
        Part::From(self).entering(|p| matches!(p, Part::From(From::Join { .. })))
    }

    /// The relations that are joined in it: their bindings, and the queries of derived tables.
    pub fn relations(&self) -> impl Iterator<Item = (BindingId, Option<&Query>)> {
        self.entries().filter_map(|part| match part {
            Part::From(From::Relation { binding, query, .. }) => Some((*binding, query.as_deref())),
            _ => None,
        })
    }

    /// The conditions of its joins.
    pub fn conditions(&self) -> impl Iterator<Item = &Expr> {
        self.entries().filter_map(Part::expr)
    }

    /// Adds the bindings that stand in it, those inside derived tables left out.
    pub fn bindings(&self, out: &mut BTreeSet<BindingId>) {
        out.extend(self.relations().map(|(binding, _)| binding));
    }

    /// The relations that are joined in it.
    pub fn relations_mut(&mut self) -> Vec<&mut From> {
        self.entries_mut().0
    }

    /// The conditions of its joins.
    pub fn conditions_mut(&mut self) -> Vec<&mut Expr> {
        self.entries_mut().1
    }

    fn entries_mut(&mut self) -> (Vec<&mut From>, Vec<&mut Expr>) {
        let (mut relations, mut conditions) = (Vec::new(), Vec::new());
        PartMut::From(self).each(&mut |part| {
            match part {
                PartMut::From(from @ From::Relation { .. }) => relations.push(from),
                PartMut::Expr(e) => conditions.push(e),
                part => return Some(part),
            }
            None
        });
        (relations, conditions)
    }
}

impl Select {
    /// The relations of its FROM: their bindings, and the queries of derived tables.
    pub fn relations(&self) -> impl Iterator<Item = (BindingId, Option<&Query>)> {
        self.from.iter().flat_map(From::relations)
    }

    /// The conditions of its joins.
    pub fn conditions(&self) -> impl Iterator<Item = &Expr> {
        self.from.iter().flat_map(From::conditions)
    }
}

impl Expr {
    /// The direct parts of this expression; queries inside it are not entered.
    pub fn children(&self) -> Vec<&Expr> {
        Part::Expr(self).parts().into_iter().filter_map(Part::expr).collect()
    }

    /// The direct parts of this expression, in the order of [`Self::children`]; queries inside it are not entered.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        let mut parts = Vec::new();
        PartMut::Expr(self).inside(&mut parts);
        let child = |part| if let PartMut::Expr(e) = part { Some(e) } else { None };
        parts.into_iter().filter_map(child).collect()
    }

    /// The direct parts that are computed over the rows of its SELECT: of a function over a window its arguments.
    pub fn operands(&self) -> Vec<&Expr> {
        let mut children = self.children();
        if let ExprKind::Window { function, .. } = &self.kind {
            children.splice(..1, function.children());
        }
        children
    }

    /// The query that this expression is, or that it is compared with.
    pub fn query(&self) -> Option<&Query> {
        Part::Expr(self).parts().into_iter().find_map(Part::query)
    }

    /// The query that this expression is, or that it is compared with.
    pub fn query_mut(&mut self) -> Option<&mut Query> {
        let mut parts = Vec::new();
        PartMut::Expr(self).inside(&mut parts);
        parts.into_iter().find_map(|part| if let PartMut::Query(q) = part { Some(q) } else { None })
    }

    /// The binding and the place of the column that it is.
    pub fn column(&self) -> Option<(BindingId, usize)> {
        match self.kind {
            ExprKind::Column { binding, column } => Some((binding, column)),
            _ => None,
        }
    }

    /// The expression and all expressions in it, those of queries inside it, too.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        Part::Expr(self).all().filter_map(Part::expr)
    }

    fn own(&self) -> Parts<'_> {
        Part::Expr(self).entering(|p| matches!(p, Part::Expr(_)))
    }

    /// The expression and its parts; queries inside it are not entered.
    pub fn parts(&self) -> impl Iterator<Item = &Expr> {
        self.own().filter_map(Part::expr)
    }

    /// The queries that stand in it, those inside others left out.
    pub fn subqueries(&self) -> impl Iterator<Item = &Query> {
        self.own().filter_map(Part::query)
    }

    /// Whether this expression, or a part of it (queries not entered), satisfies `test`.
    pub fn any(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        self.parts().any(test)
    }

    /// The aggregates over rows, those inside others left out: of one over a window those in its arguments.
    pub fn aggregates(&self) -> Vec<&Expr> {
        match self.kind {
            ExprKind::Aggregate(_) => vec![self],
            _ => self.operands().into_iter().flat_map(Self::aggregates).collect(),
        }
    }

    /// Does `f` to each direct part, in its place; queries inside are not entered.
    pub fn each_child<E>(&mut self, f: &mut dyn FnMut(&mut Expr) -> Result<(), E>) -> Result<(), E> {
        self.children_mut().into_iter().try_for_each(f)
    }

    /// Changes each expression in it, those of queries inside it, too, and then itself.
    fn each(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        if let Some(q) = self.query_mut() {
            q.each_expr(f);
        }
        self.children_mut().into_iter().for_each(|e| e.each(f));
        f(self);
    }
}
