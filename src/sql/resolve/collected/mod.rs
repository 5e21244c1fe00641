//! Collected relations, by local differential privacy, as relations of estimates.
//!
//! A report does not say what its writer said, but every randomiser gives an unbiased *weight* for
//! each value of the domain: (1 - q)/(p - q) where the report supports it and -q/(p - q) where it
//! does not, so that over the reports the weights of a value add up to an unbiased estimate of how
//! many said it (Wang, Blocki, Li and Jha 2017). Columns are randomised independently, and the
//! weights of several multiply. The relation is therefore reports × the values in question,
//! `expansion`, and a SELECT over it is one in which count(*) adds up weights, `weigh`. PostgreSQL
//! computes it over the table of the reports: post-processing, which costs nothing.

mod build;
mod estimate;
mod expansion;
mod look;
mod members;
mod projected;
mod weigh;

use super::resolver::Resolver;
use super::scope::Scope;
use crate::ast::*;
use policy::Collect;

/// A collected relation in a FROM.
#[derive(Clone)]
pub(super) struct Bound<'a> {
    /// Number of the binding.
    pub binding: BindingId,
    /// The relation.
    pub collect: &'a Collect,
}

impl Resolver<'_> {
    /// Binds a collected relation. Its query is made when it is known which of its columns are used.
    pub(super) fn collected(
        &mut self,
        name: String,
        columns: Vec<String>,
        index: usize,
        pos: Pos,
    ) -> (From, Scope) {
        let bound = self.bind(name, Source::Derived, columns, None, pos);
        if let From::Relation { binding, .. } = &bound.0 {
            self.collected.push((*binding, index));
        }
        bound
    }

    fn bound(&self, binding: BindingId) -> Option<Bound<'_>> {
        let (_, index) = self.collected.iter().find(|(b, _)| *b == binding)?;
        Some(Bound { binding, collect: self.catalog.collects().get(*index)? })
    }

    /// A binding of a query of ours.
    fn unnamed(&mut self, source: Source, columns: usize) -> BindingId {
        let columns = (0..columns).map(|i| format!("c{i}")).collect();
        self.bindings.push(Binding {
            name: String::new(),
            source,
            columns,
            origin: Origin::AddedBy(Rule::Collected),
        })
    }

    /// A SELECT of ours.
    fn of_items(&mut self, items: Vec<Item>, from: Vec<From>, group_by: Vec<Expr>) -> Select {
        let id = self.select_id();
        Select { id, from, group_by, ..Select::of(items, None) }
    }
}
