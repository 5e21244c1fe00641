//! A CTE that is read as part of the query around it, with bindings of its own for each time it is read: two scans of
//! one name would be one in the printed text, and a condition that ties them would tie a row to itself.

use sql::ast::*;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The query with fresh bindings from `next` on; `origin` learns which binding each stands for.
pub(crate) fn renumber(
    query: &Query,
    next: &mut BindingId,
    origin: &mut HashMap<BindingId, BindingId>,
) -> Query {
    let mut copy = query.clone();
    let mut fresh = HashMap::new();
    let mut define = |binding: &mut BindingId, _: &mut Option<Box<Query>>| {
        origin.insert(*next, origin.get(binding).copied().unwrap_or(*binding));
        fresh.insert(*binding, *next);
        *binding = *next;
        *next = next.next();
    };
    each_relation(&mut copy, &mut define);
    let mut refer = |binding: &mut BindingId, _: usize| {
        if let Some(own) = fresh.get(binding) {
            *binding = *own;
        }
    };
    Walk { query: &mut |_| {}, relation: &mut |_, _| {}, column: &mut refer, select: &mut |_| {} }
        .query(&mut copy);
    copy
}

/// Numbers for copies.
pub(crate) struct Numbers<'s> {
    next: SelectId,
    /// The statement's bindings.
    pub bindings: &'s mut Bindings,
}

impl<'s> Numbers<'s> {
    /// Those that nothing of this query has.
    pub(crate) fn new(query: &mut Query, bindings: &'s mut Bindings) -> Self {
        let mut next = SelectId::new(0);
        each_select(query, &mut |s| next = s.id.map_or(next, |id| next.max(id.next())));
        Self { next, bindings }
    }

    /// The query with bindings and SELECTs of its own.
    pub(crate) fn copy(&mut self, query: &Query) -> Query {
        let (mut next, mut origin) = (self.bindings.next(), HashMap::new());
        let mut copy = renumber(query, &mut next, &mut origin);
        // In the order of their numbers, which they are pushed under.
        let copies: BTreeMap<BindingId, BindingId> = origin.into_iter().collect();
        for of in copies.into_values() {
            if let Some(own) = self.bindings.get(of).cloned() {
                self.bindings.push(own);
            }
        }
        each_select(&mut copy, &mut |s| {
            s.id = Some(self.next);
            self.next = self.next.next();
        });
        copy
    }
}

/// A query without its numbers and places, and what its relations are: the same for what is written twice in one scope.
pub(crate) type Bare = (Query, Vec<Option<Source>>);

/// See [`Bare`].
pub(crate) fn bare(query: &Query, bindings: &Bindings) -> Bare {
    fn placeless(from: &mut From) {
        match from {
            From::Relation { pos, .. } => *pos = None,
            From::Join { left, right, pos, .. } => {
                *pos = None;
                placeless(left);
                placeless(right);
            }
        }
    }
    let (mut next, mut origin) = (bindings.next(), HashMap::new());
    let mut copy = renumber(query, &mut next, &mut origin);
    let mut select = |s: &mut Select| {
        (s.id, s.pos) = (None, None);
        s.from.iter_mut().for_each(placeless);
    };
    each_select(&mut copy, &mut select);
    let origins: BTreeMap<BindingId, BindingId> = origin.into_iter().collect();
    let source = |of: BindingId| bindings.get(of).map(|b| b.source.clone());
    (copy, origins.into_values().map(source).collect())
}

/// The bindings that a query defines, and those that its columns refer to.
pub(crate) fn defined(query: &Query) -> (HashSet<BindingId>, HashSet<BindingId>) {
    let (mut own, mut columns) = (HashSet::new(), HashSet::new());
    let mut define = |binding: &mut BindingId, _: &mut Option<Box<Query>>| {
        own.insert(*binding);
    };
    let mut refer = |binding: &mut BindingId, _: usize| {
        columns.insert(*binding);
    };
    Walk { query: &mut |_| {}, relation: &mut define, column: &mut refer, select: &mut |_| {} }
        .query(&mut query.clone());
    (own, columns)
}

/// The columns of this binding that are looked at anywhere in a query, in order.
pub(crate) fn looked_at(query: &Query, wanted: BindingId) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    let mut refer = |binding: &mut BindingId, column: usize| {
        if *binding == wanted {
            columns.insert(column);
        }
    };
    Walk { query: &mut |_| {}, relation: &mut |_, _| {}, column: &mut refer, select: &mut |_| {} }
        .query(&mut query.clone());
    columns
}

/// Visits each query, the outer ones first.
pub(crate) fn each_query(query: &mut Query, f: &mut dyn FnMut(&mut Query)) {
    Walk { query: f, relation: &mut |_, _| {}, column: &mut |_, _| {}, select: &mut |_| {} }.query(query);
}

/// Visits each binding, with the query of a derived table.
pub(crate) fn each_relation(query: &mut Query, f: &mut dyn FnMut(&mut BindingId, &mut Option<Box<Query>>)) {
    Walk { query: &mut |_| {}, relation: f, column: &mut |_, _| {}, select: &mut |_| {} }.query(query);
}

/// Visits each SELECT, before what is in it.
pub(crate) fn each_select(query: &mut Query, f: &mut dyn FnMut(&mut Select)) {
    Walk { query: &mut |_| {}, relation: &mut |_, _| {}, column: &mut |_, _| {}, select: f }.query(query);
}

/// Visits the bindings and SELECTs of a query, wherever they stand in it.
struct Walk<'f> {
    query: &'f mut dyn FnMut(&mut Query),
    /// Where a relation is bound; with the query of a derived table.
    relation: &'f mut dyn FnMut(&mut BindingId, &mut Option<Box<Query>>),
    /// Where a column refers to one.
    column: &'f mut dyn FnMut(&mut BindingId, usize),
    /// A SELECT, before what is in it.
    select: &'f mut dyn FnMut(&mut Select),
}

impl Walk<'_> {
    fn query(&mut self, q: &mut Query) {
        (self.query)(q);
        q.with.iter_mut().for_each(|c| self.query(&mut c.query));
        self.body(&mut q.body);
        let order = q.order_by.iter_mut().map(|o| &mut o.expr);
        order.chain(&mut q.limit).chain(&mut q.offset).for_each(|e| self.expr(e));
    }

    fn body(&mut self, body: &mut Body) {
        match body {
            Body::Select(s) => {
                (self.select)(s);
                s.from.iter_mut().for_each(|f| self.from(f));
                s.items.iter_mut().for_each(|i| self.expr(&mut i.expr));
                let rest = s.filter.iter_mut().chain(&mut s.group_by).chain(&mut s.having);
                rest.for_each(|e| self.expr(e));
                if let Distinct::On(on) = &mut s.distinct {
                    on.iter_mut().for_each(|e| self.expr(e));
                }
            }
            Body::SetOp { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            Body::Query(q) => self.query(q),
            Body::Values(rows) => rows.iter_mut().flatten().for_each(|e| self.expr(e)),
            Body::Rows { args, .. } => args.iter_mut().for_each(|e| self.expr(e)),
        }
    }

    fn from(&mut self, from: &mut From) {
        match from {
            From::Relation { binding, query, .. } => {
                (self.relation)(binding, query);
                query.iter_mut().for_each(|q| self.query(q));
            }
            From::Join { left, right, on, .. } => {
                self.from(left);
                self.from(right);
                on.iter_mut().for_each(|e| self.expr(e));
            }
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        match &mut e.kind {
            ExprKind::Column { binding, column } => (self.column)(binding, *column),
            ExprKind::Subquery(query) | ExprKind::Exists { query, .. } | ExprKind::InQuery { query, .. } => {
                self.query(query);
            }
            _ => {}
        }
        e.children_mut().into_iter().for_each(|c| self.expr(c));
    }
}
