//! A CTE that is read as part of the query around it, with bindings of its own for each time it is read: two scans of
//! one name would be one in the printed text, and a condition that ties them would tie a row to itself.

use sql::ast::*;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The query with fresh bindings from `next` on; `origin` learns which binding each stands for.
pub(crate) fn renumber(query: &Query, next: &mut usize, origin: &mut HashMap<usize, usize>) -> Query {
    let mut copy = query.clone();
    let mut fresh = HashMap::new();
    let mut define = |binding: &mut usize, _: &mut Option<Box<Query>>| {
        origin.insert(*next, origin.get(binding).copied().unwrap_or(*binding));
        fresh.insert(*binding, *next);
        *binding = *next;
        *next += 1;
    };
    each_relation(&mut copy, &mut define);
    let mut refer = |binding: &mut usize, _: usize| {
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
    next: usize,
    /// The statement's bindings.
    pub bindings: &'s mut Vec<Binding>,
}

impl<'s> Numbers<'s> {
    /// Those that nothing of this query has.
    pub(crate) fn new(query: &mut Query, bindings: &'s mut Vec<Binding>) -> Self {
        let mut next = 0;
        // Those SELECTs that are none of the analyst's share one number.
        each_select(query, &mut |s| next = next.max(s.id.wrapping_add(1)));
        Self { next, bindings }
    }

    /// The query with bindings and SELECTs of its own.
    pub(crate) fn copy(&mut self, query: &Query) -> Query {
        let (first, mut origin) = (self.bindings.len(), HashMap::new());
        let mut next = first;
        let mut copy = renumber(query, &mut next, &mut origin);
        let of = |b: usize| origin.get(&b).and_then(|o| self.bindings.get(*o)).cloned();
        let own: Vec<Binding> = (first..next).filter_map(of).collect();
        self.bindings.extend(own);
        each_select(&mut copy, &mut |s| {
            s.id = self.next;
            self.next += 1;
        });
        copy
    }
}

/// A query without its numbers and places, and what its relations are: the same for what is written twice in one scope.
pub(crate) type Bare = (Query, Vec<Option<Source>>);

/// See [`Bare`].
pub(crate) fn bare(query: &Query, bindings: &[Binding]) -> Bare {
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
    let (mut next, mut origin) = (bindings.len(), HashMap::new());
    let mut copy = renumber(query, &mut next, &mut origin);
    let mut select = |s: &mut Select| {
        (s.id, s.pos) = (0, None);
        s.from.iter_mut().for_each(placeless);
    };
    each_select(&mut copy, &mut select);
    let source = |own| bindings.get(*origin.get(&own)?).map(|b| b.source.clone());
    (copy, (bindings.len()..next).map(source).collect())
}

/// The bindings that a query defines, and those that its columns refer to.
pub(crate) fn defined(query: &Query) -> (HashSet<usize>, HashSet<usize>) {
    let (mut own, mut columns) = (HashSet::new(), HashSet::new());
    let mut define = |binding: &mut usize, _: &mut Option<Box<Query>>| {
        own.insert(*binding);
    };
    let mut refer = |binding: &mut usize, _: usize| {
        columns.insert(*binding);
    };
    Walk { query: &mut |_| {}, relation: &mut define, column: &mut refer, select: &mut |_| {} }
        .query(&mut query.clone());
    (own, columns)
}

/// The columns of this binding that are looked at anywhere in a query, in order.
pub(crate) fn looked_at(query: &Query, wanted: usize) -> BTreeSet<usize> {
    let mut columns = BTreeSet::new();
    let mut refer = |binding: &mut usize, column: usize| {
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
pub(crate) fn each_relation(query: &mut Query, f: &mut dyn FnMut(&mut usize, &mut Option<Box<Query>>)) {
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
    relation: &'f mut dyn FnMut(&mut usize, &mut Option<Box<Query>>),
    /// Where a column refers to one.
    column: &'f mut dyn FnMut(&mut usize, usize),
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
