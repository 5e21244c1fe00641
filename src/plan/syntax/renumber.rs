//! A CTE that is read as part of the query around it, with bindings of its own for each time it is read: two scans of
//! one name would be one in the printed text, and a condition that ties them would tie a row to itself.

use sql::ast::*;
use std::collections::HashMap;

/// The query with fresh bindings from `next` on; `origin` learns which binding each stands for.
pub(crate) fn renumber(query: &Query, next: &mut usize, origin: &mut HashMap<usize, usize>) -> Query {
    let mut copy = query.clone();
    let mut fresh = HashMap::new();
    copy.each_relation(&mut |binding, _| {
        origin.insert(*next, origin.get(binding).copied().unwrap_or(*binding));
        fresh.insert(*binding, *next);
        *binding = *next;
        *next += 1;
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
    next: usize,
    /// The statement's bindings.
    pub bindings: &'s mut Vec<Binding>,
}

impl<'s> Numbers<'s> {
    /// Those that nothing of this query has.
    pub(crate) fn new(query: &Query, bindings: &'s mut Vec<Binding>) -> Self {
        // Those SELECTs that are none of the analyst's share one number.
        let next = query.selects().map(|s| s.id.wrapping_add(1)).max().unwrap_or(0);
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
        copy.each_select(&mut |s| {
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
    let (mut next, mut origin) = (bindings.len(), HashMap::new());
    let mut copy = renumber(query, &mut next, &mut origin);
    PartMut::Query(&mut copy).each(&mut |mut part| {
        match &mut part {
            PartMut::Body(Body::Select(s)) => (s.id, s.pos) = (0, None),
            PartMut::From(From::Relation { pos, .. } | From::Join { pos, .. }) => *pos = None,
            _ => {}
        }
        Some(part)
    });
    let source = |own| bindings.get(*origin.get(&own)?).map(|b| b.source.clone());
    (copy, (bindings.len()..next).map(source).collect())
}
