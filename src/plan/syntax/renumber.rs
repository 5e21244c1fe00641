//! A CTE that is read as part of the query around it, with bindings of its own for each time it is read: two scans of
//! one name would be one in the printed text, and a condition that ties them would tie a row to itself.

use sql::ast::*;
use std::collections::BTreeMap;

/// The query with fresh bindings from `next` on; `origin` learns which binding each stands for.
pub(crate) fn renumber(
    query: &Query,
    next: &mut BindingId,
    origin: &mut BTreeMap<BindingId, BindingId>,
) -> Query {
    let mut copy = query.clone();
    let mut fresh = BTreeMap::new();
    copy.each_relation(&mut |binding, _| {
        origin.insert(*next, origin.get(binding).copied().unwrap_or(*binding));
        fresh.insert(*binding, *next);
        *binding = *next;
        *next = next.next();
    });
    copy.each_expr(&mut |e| {
        if let ExprKind::Column { binding, .. } = &mut e.kind
            && let Some(own) = fresh.get(binding)
        {
            *binding = *own;
        }
    });
    copy
}

/// Numbers for copies.
pub(crate) struct Numbers<'s> {
    next: SelectId,
    /// The statement's bindings.
    pub bindings: &'s mut Bindings,
}

impl<'s> Numbers<'s> {
    /// Numbers that nothing of this query has.
    pub(crate) fn new(query: &Query, bindings: &'s mut Bindings) -> Self {
        let after = query.selects().filter_map(|s| s.id).map(SelectId::next).max();
        let next = after.unwrap_or(SelectId::new(0));
        Self { next, bindings }
    }

    /// The query with bindings and SELECTs of its own.
    pub(crate) fn copy(&mut self, query: &Query) -> Query {
        let (mut next, mut origin) = (self.bindings.next(), BTreeMap::new());
        let mut copy = renumber(query, &mut next, &mut origin);
        // In the order of their numbers, which they are pushed under.
        let copies: BTreeMap<BindingId, BindingId> = origin.into_iter().collect();
        for of in copies.into_values() {
            if let Some(own) = self.bindings.get(of).cloned() {
                self.bindings.push(own);
            }
        }
        copy.each_select(&mut |s| {
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
    let (mut next, mut origin) = (bindings.next(), BTreeMap::new());
    let mut copy = renumber(query, &mut next, &mut origin);
    PartMut::Query(&mut copy).each(&mut |mut part| {
        match &mut part {
            PartMut::Body(Body::Select(s)) => (s.id, s.pos) = (None, None),
            PartMut::From(From::Relation { pos, .. } | From::Join { pos, .. }) => *pos = None,
            _ => {}
        }
        Some(part)
    });
    let origins: BTreeMap<BindingId, BindingId> = origin.into_iter().collect();
    let source = |of: BindingId| bindings.get(of).map(|b| b.source.clone());
    (copy, origins.into_values().map(source).collect())
}
