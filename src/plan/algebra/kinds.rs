//! Whether relations are public, private or released: one table, which `cut` fills from below, and all that is built from a
//! statement asks.

use policy::{Policy, Privacy};
use sql::ast::*;
use std::collections::BTreeMap;

/// Whose the rows of a relation are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RelationKind {
    /// Rows are nobody's.
    Public,
    /// Each row is one unit's.
    Private,
    /// Rows come from releases, with their noise.
    Released,
}

impl RelationKind {
    /// The kind of rows that are made of rows of both.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Private, _) | (_, Self::Private) => Self::Private,
            (Self::Released, _) | (_, Self::Released) => Self::Released,
            _ => Self::Public,
        }
    }
}

/// The kinds of a statement's CTEs and derived tables. A relation that was not visited counts as private.
#[derive(Default)]
pub(crate) struct Kinds {
    /// Kinds of CTEs.
    pub ctes: BTreeMap<CteId, RelationKind>,
    /// Kinds of derived tables.
    pub derived: BTreeMap<BindingId, RelationKind>,
}

impl Kinds {
    /// The kind of a relation of the statement.
    pub fn of(&self, binding: BindingId, bindings: &Bindings, policy: &Policy) -> RelationKind {
        let known = match bindings.get(binding).map(|b| &b.source) {
            Some(Source::Table(t)) => {
                policy.tables.get(*t).filter(|t| t.privacy == Privacy::Public).map(|_| RelationKind::Public)
            }
            Some(Source::Own(_)) => Some(RelationKind::Released),
            Some(Source::Cte(id)) => self.ctes.get(id).copied(),
            _ => self.derived.get(&binding).copied(),
        };
        known.unwrap_or(RelationKind::Private)
    }
}
