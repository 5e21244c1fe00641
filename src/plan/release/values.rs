//! Releases of distinct values, one for each expression of which they are counted or added up.

use super::model::Release;
use crate::aggregates::Builder;
use crate::aggregates::builder::{Distinct, Result};
use crate::aggregates::distinct;
use crate::bound::bounding;
use crate::expr::Scalar;
use crate::groups::Groups;
use crate::groups::key::Key;
use sql::ast::*;

impl Builder<'_, '_> {
    /// A release for each value.
    pub(super) fn of_values(
        &mut self,
        keys: &[Key],
        select: &Select,
        found: &Groups,
    ) -> Result<Vec<Release>> {
        let all = std::mem::take(&mut self.distinct);
        all.into_iter().map(|d| self.of_one_value(d, keys, select, found)).collect()
    }

    fn of_one_value(&self, d: Distinct, keys: &[Key], select: &Select, found: &Groups) -> Result<Release> {
        let bounding = bounding::of_values(&self.source, self.policy, self.settings);
        let mut scalars: Vec<&Scalar> = keys.iter().map(|k| &k.scalar).collect();
        scalars.push(&d.of);
        let work = self.relation.scans.work(&self.source, &scalars, self.facts, select.pos)?;
        let part = |kind| distinct::part(kind, bounding.rows());
        Ok(Release {
            select: select.id,
            set: 0,
            ranking: None,
            round: None,
            source: self.source.clone(),
            parts: d.parts.into_iter().map(part).collect::<Result<_>>()?,
            cells: None,
            keys: keys.to_vec(),
            groups: found.public.then_some(self.group_count),
            public_groups: found.public,
            groups_why: found.why.clone(),
            groups_remedy: found.remedy.clone(),
            only: found.only.clone(),
            outputs: d.outputs,
            bounding,
            work,
            given: self.relation.scans.scope.given.used(),
            zone: self.settings.zone.clone(),
            spec: dp::Spec { l0: 1, ..dp::Spec::default() },
        })
    }
}
