//! The resolver: what is in sight where it stands.

use super::member::Member;
use super::scope::Scope;
use crate::ast::*;
use crate::catalog::Catalog;
use crate::lines::Lines;
use crate::spend::Spend;
use answer::ClientError;
use policy::Limits;
use sqlparser::ast as sp;
use std::collections::HashMap;

pub(super) type Result<T> = std::result::Result<T, ClientError>;

pub(super) struct Resolver<'a> {
    pub(super) catalog: &'a dyn Catalog,
    pub(super) limits: &'a Limits,
    pub(super) lines: &'a Lines,
    /// Of texts that the analyst did not write.
    pub(super) elsewhere: &'a Lines,
    /// Views that are being resolved, outermost first.
    pub(super) views: Vec<String>,
    pub(super) bindings: Bindings,
    /// Bindings of collected relations, and which those are.
    pub(super) collected: Vec<(BindingId, usize)>,
    /// `unnest` of their sets.
    pub(super) members: Vec<Member>,
    /// CTEs in scope: name, id, columns.
    pub(super) ctes: Vec<(String, CteId, Vec<String>)>,
    pub(super) next_cte: CteId,
    /// FROM scopes, outermost first.
    pub(super) scopes: Vec<Scope>,
    /// WINDOW definitions in scope.
    pub(super) windows: Vec<(String, sp::WindowSpec)>,
    pub(super) spend: Spend,
    pub(super) next_select: SelectId,
}

/// Resolves a query against a catalog.
pub fn resolve(
    query: &sp::Query,
    lines: &Lines,
    catalog: &dyn Catalog,
    limits: &Limits,
) -> Result<Statement> {
    let elsewhere = Lines::elsewhere();
    let mut resolver = Resolver {
        catalog,
        limits,
        lines,
        elsewhere: &elsewhere,
        views: Vec::new(),
        bindings: Bindings::default(),
        collected: Vec::new(),
        members: Vec::new(),
        ctes: Vec::new(),
        next_cte: CteId::new(0),
        scopes: Vec::new(),
        windows: Vec::new(),
        spend: Spend::default(),
        next_select: SelectId::new(0),
    };
    let query = resolver.query(query)?;
    Ok(Statement { query, bindings: resolver.bindings, types: HashMap::new(), spend: resolver.spend })
}
