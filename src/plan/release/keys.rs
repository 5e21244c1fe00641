//! Group keys: what a release may be grouped by.

use crate::aggregates::Builder;
use crate::aggregates::builder::Result;
use crate::algebra::equivalence_classes::Col;
use crate::expr::{Choice, Node, Scalar};
use crate::groups::key::{Key, has_canonical_form};
use crate::refusals::group::Group;
use crate::syntax::conditions::split;
use schema::SqlType;
use sql::ast::*;

impl Builder<'_, '_> {
    /// Whether a value is the unit, in every row (`exact`) or wherever it is not NULL.
    pub(crate) fn is_unit(&self, s: &Scalar, exact: bool) -> bool {
        let is = |s: &Scalar, of: &[Col]| match s.node() {
            Node::Column { binding, name } => of.iter().any(|c| c.0 == *binding && c.1 == *name),
            _ => false,
        };
        match s.node() {
            Node::Cast(inner) if inner.ty() == s.ty() => self.is_unit(inner, exact),
            // FULL JOIN: COALESCE over both sides.
            Node::Choice(Choice::Coalesce, list) if list.iter().all(|x| is(x, &self.source.aliases)) => {
                let one = |c: &Col| list.iter().any(|x| is(x, std::slice::from_ref(c)));
                !exact || self.source.exact.iter().any(one) || self.source.unit.columns.iter().all(one)
            }
            _ if exact => is(s, &self.source.exact),
            _ => is(s, &self.source.aliases) || is(s, &self.source.exact),
        }
    }

    /// A key, and the expression over the scans that it was lowered from.
    pub(crate) fn key(&mut self, e: &Expr) -> Result<(Key, Expr)> {
        let over_scans = self.relation.scans.expand(e)?;
        let scalar = self.relation.value_over_scans(&over_scans)?;
        let label = self.label(e);
        if self.is_unit(&scalar, false) {
            return Err(Group::Unit(label).at(e.pos).into());
        }
        if !has_canonical_form(&scalar) {
            return Err(Group::Type(scalar.ty().clone()).at(e.pos).into());
        }
        Ok((Key { expr: e.clone(), scalar, domain: None, label }, over_scans))
    }

    /// The conditions of HAVING over keys alone: they drop groups whatever these hold. What cannot be lowered is left to what
    /// stands above the aggregates.
    pub(crate) fn over_keys(&mut self, having: Option<&Expr>) -> Vec<Scalar> {
        let mut conjuncts = Vec::new();
        having.into_iter().for_each(|e| split(e.clone(), &mut conjuncts));
        let plain = conjuncts.iter().filter(|e| !crate::syntax::grouping::has_aggregate(e));
        plain.filter_map(|e| self.lower(e).ok().filter(|s| *s.ty() == SqlType::Bool)).collect()
    }

    /// A short name for messages: the column's or the function's.
    pub(crate) fn label(&self, e: &Expr) -> String {
        sql::output::output_name(e, self.relation.scans.scope.bindings)
    }
}
