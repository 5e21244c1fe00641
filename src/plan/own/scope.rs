//! The scope of one release: the statement as all relations of the release read it, and the numbers that they share.

use super::given::Given;
use crate::algebra::kinds::{Kinds, RelationKind};
use crate::algebra::rows::RowsPerUnit;
use crate::syntax::renumber::renumber;
use answer::ClientError;
use policy::{Policy, Table};
use schema::SqlType;
use sql::Spend;
use sql::ast::*;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// What server and session make of times.
pub(crate) struct Server {
    /// EXTRACT's type.
    pub extract: SqlType,
    /// Moments without a zone are UTC's.
    pub utc: bool,
    /// Days are shown as ISO writes them.
    pub iso: bool,
}

/// The statement around a release, as its relations see it. Numbers that are given out are shared by all of them.
pub(crate) struct Scope<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The statement's bindings.
    pub bindings: &'a Bindings,
    /// Queries of CTEs by id.
    pub ctes: &'a BTreeMap<CteId, &'a Query>,
    /// Kinds of the statement's relations.
    pub kinds: &'a Kinds,
    /// What server and session make of times.
    pub server: Server,
    /// Rows of a unit as they are declared.
    pub rows: RowsPerUnit,
    /// Stages that were released before.
    pub given: Given,
    /// The account of the statement, in all of its releases.
    spend: Spend,
    /// The number of the next binding that the statement does not have.
    next: Cell<BindingId>,
    /// Which of the statement's bindings a binding of a copied CTE stands for.
    origin: RefCell<BTreeMap<BindingId, BindingId>>,
    /// The number of relations so far.
    relations: Cell<usize>,
    /// How deep the expression stands that is expanded.
    level: Cell<usize>,
}

impl<'a> Scope<'a> {
    /// The scope of one release.
    pub fn new(
        policy: &'a Policy,
        (bindings, ctes, kinds): (&'a Bindings, &'a BTreeMap<CteId, &'a Query>, &'a Kinds),
        server: Server,
        rows: RowsPerUnit,
        given: Given,
        spend: Spend,
    ) -> Self {
        Self {
            policy,
            bindings,
            ctes,
            kinds,
            server,
            rows,
            given,
            spend,
            next: Cell::new(bindings.next()),
            origin: RefCell::default(),
            relations: Cell::new(0),
            level: Cell::new(0),
        }
    }

    /// The number of one more relation that the statement does not have.
    pub fn fresh(&self) -> BindingId {
        let fresh = self.next.get();
        self.next.set(fresh.next());
        fresh
    }

    /// A CTE's query with bindings of its own.
    pub fn renumbered(&self, query: &Query) -> Query {
        let mut next = self.next.get();
        let copy = renumber(query, &mut next, &mut self.origin.borrow_mut());
        self.next.set(next);
        copy
    }

    /// Whether the release may have one more relation.
    pub fn takes_relation(&self, most: usize) -> bool {
        self.relations.set(self.relations.get() + 1);
        self.relations.get() <= most
    }

    /// The statement's binding that a binding stands for.
    pub fn origin(&self, binding: BindingId) -> BindingId {
        self.origin.borrow().get(&binding).copied().unwrap_or(binding)
    }

    /// Says that a binding stands for the same as another.
    pub fn stands_for(&self, binding: BindingId, other: BindingId) {
        let origin = self.origin(other);
        self.origin.borrow_mut().insert(binding, origin);
    }

    /// The statement's binding behind a number.
    pub fn binding(&self, binding: BindingId) -> Option<&'a Binding> {
        self.bindings.get(self.origin(binding))
    }

    /// A table of the policy.
    pub fn table(&self, index: usize) -> Option<&'a Table> {
        self.policy.tables.get(index)
    }

    /// The query of a CTE that a binding reads.
    pub fn cte(&self, binding: BindingId) -> Option<&'a Query> {
        match self.binding(binding).map(|b| &b.source) {
            Some(Source::Cte(id)) => self.ctes.get(id).copied(),
            _ => None,
        }
    }

    /// Whether a part of FROM holds private rows.
    pub fn is_private(&self, from: &From) -> bool {
        match from {
            From::Join { left, right, .. } => self.is_private(left) || self.is_private(right),
            From::Relation { binding, .. } => {
                let kind = self.kinds.of(self.origin(*binding), self.bindings, self.policy);
                kind == RelationKind::Private
            }
        }
    }

    /// Whether the rows of a query are private.
    pub fn is_private_body(&self, body: &Body) -> bool {
        match body {
            Body::Select(s) => s.from.iter().any(|f| self.is_private(f)),
            Body::SetOp { left, right, .. } => self.is_private_body(left) || self.is_private_body(right),
            Body::Query(q) => self.is_private_body(&q.body),
            Body::Values(_) | Body::Rows { .. } => false,
        }
    }

    /// Charges the statement's account for more expressions.
    pub fn charge(&self, more: usize, of: &str) -> Result<(), ClientError> {
        self.spend.take(more, of, &self.policy.limits)
    }

    /// Looks at expressions, which does not count as writing them.
    pub fn uncharged<T>(&self, look: impl FnOnce() -> T) -> T {
        self.spend.uncharged(look)
    }

    /// Goes one level down.
    pub fn deeper<T>(&self, inside: impl FnOnce(usize) -> T) -> T {
        let level = self.level.get();
        self.level.set(level + 1);
        let done = inside(level + 1);
        self.level.set(level);
        done
    }

    /// The level that stands open.
    pub fn level(&self) -> usize {
        self.level.get()
    }
}
