//! Numbers of distinct values: `count(DISTINCT x)` where x is not the unit.
//!
//! The fetch has a row for each unit, group and value, keeps few of each unit's, and counts values in each group. All rows of
//! a unit together change these counts by no more than it has values there, whatever values others have. Where groups are private,
//! values are counted in those that another release of the same rows selects.

use super::keys::has_canonical_form;
use super::{Builder, Key, Output, Part, PartKind, Release, Result};
use crate::bounding;
use crate::expr::{Node, Scalar, filtered};
use crate::groups::Groups;
use crate::work;
use answer::ClientError;
use schema::SqlType;
use sql::ast::*;

/// A count of distinct values.
pub(super) struct Distinct {
    /// The value, NULL where FILTER is not true.
    of: Scalar,
    outputs: Vec<(Aggregate, Output)>,
    /// Where it stands.
    pub(super) pos: Pos,
}

impl Distinct {
    /// Whether it serves this aggregate already.
    pub(super) fn has(&self, a: &Aggregate) -> bool {
        self.outputs.iter().any(|(have, _)| have == a)
    }
}

impl Builder<'_, '_> {
    /// Notes that values are to be counted; `when` is FILTER.
    pub(super) fn distinct(
        &mut self,
        a: &Aggregate,
        value: Scalar,
        when: Option<Scalar>,
        pos: Pos,
    ) -> Result<()> {
        if matches!(value.node(), Node::Null) {
            self.outputs.push((a.clone(), Output::Zero(SqlType::Int8)));
            return Ok(());
        }
        if self.is_unit(&value, false) {
            return Err(ClientError::unsupported(
                "count(DISTINCT …) of a unit column of an optional side is not supported",
            )
            .hint(self.unit_hint())
            .at(pos)
            .into());
        }
        if !has_canonical_form(&value) {
            let ty = value.ty().sql_name().replace("pg_catalog.", "");
            return Err(ClientError::unsupported(format!("count(DISTINCT …) of type {ty} is not supported"))
                .detail("Values of this type have several forms that compare equal.")
                .hint("Count text, numbers, dates, timestamps, booleans, enums or uuids.")
                .at(pos)
                .into());
        }
        let of = match when {
            None => value,
            Some(when) => filtered(when, value),
        };
        let output = (a.clone(), Output::Count(0));
        match self.distinct.iter_mut().find(|d| d.of == of) {
            Some(same) => same.outputs.push(output),
            None => self.distinct.push(Distinct { of, outputs: vec![output], pos }),
        }
        Ok(())
    }

    /// A release for each value.
    pub(super) fn counts_of_values(
        &mut self,
        keys: &[Key],
        select: &Select,
        found: &Groups,
    ) -> Result<Vec<Release>> {
        let all = std::mem::take(&mut self.distinct);
        all.into_iter().map(|d| self.count_of_values(d, keys, select, found)).collect()
    }

    fn count_of_values(&self, d: Distinct, keys: &[Key], select: &Select, found: &Groups) -> Result<Release> {
        let bounding = bounding::of_values(&self.source, self.policy, self.settings);
        let mut scalars: Vec<&Scalar> = keys.iter().map(|k| &k.scalar).collect();
        scalars.push(&d.of);
        let work = work::bound(&self.source, &scalars, self.policy, self.sizes, select.pos)?;
        let linf = bounding.rows().into();
        Ok(Release {
            select: select.id,
            set: 0,
            ranking: None,
            source: self.source.clone(),
            parts: vec![Part { kind: PartKind::Values(d.of), linf, label: "count of values".into() }],
            cells: None,
            keys: keys.to_vec(),
            public_groups: found.public,
            groups_why: found.why.clone(),
            groups_remedy: found.remedy.clone(),
            only: found.only.clone(),
            outputs: d.outputs,
            bounding,
            work,
            given: self.flattener.given.used(),
            spec: dp::Spec { l0: 1, aggregates: Vec::new(), selection: None, points: None, top: None },
        })
    }
}
