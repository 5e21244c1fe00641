//! Releases of points: for what is chosen of each value, cells that are counted.

use super::model::Release;
use crate::aggregates::builder::{Request, Result, too_wide};
use crate::aggregates::{Builder, Cells, Part, PartKind};
use crate::bound::bounding::{self, Bounding, Number};
use crate::expr::Scalar;
use crate::groups::key::Key;
use crate::groups::{self, Groups};
use crate::refusals::aggregate::Aggregation;
use dp::Pick;
use dp::quantile::Side;
use sql::ast::*;

impl Builder<'_, '_> {
    /// The releases of all requests.
    pub(super) fn cells(&mut self, keys: &[Key], select: &Select, found: &Groups) -> Result<Vec<Release>> {
        let requests = std::mem::take(&mut self.requests);
        requests.into_iter().map(|r| self.cells_of(r, keys, select, found)).collect()
    }

    fn cells_of(&self, r: Request, keys: &[Key], select: &Select, found: &Groups) -> Result<Release> {
        let public = found.public;
        let number = if public { Number::Public(self.group_count) } else { Number::Any };
        let base = bounding::bound(&self.source, self.policy, self.settings, keys, number, false);
        let points = groups::size(std::slice::from_ref(&r.key), self.facts).max(1);
        if points.saturating_mul(self.group_count) > self.policy.limits.max_public_groups {
            return Err(Aggregation::Cells.at(r.pos).into());
        }
        let bounding = Bounding::of_cells(&base, public);
        let point = PartKind::Point(Pick::Mode);
        let each = bounding.rows().checked_mul(bounding.steps(&point));
        let weight = each.and_then(|n| n.checked_mul(bounding.l0())).ok_or_else(too_wide)?;
        let mut keys = keys.to_vec();
        keys.push(r.key);
        let scalars: Vec<&Scalar> = keys.iter().map(|k| &k.scalar).collect();
        let work = self.relation.scans.work(&self.source, &scalars, self.facts, select.pos)?;
        let part =
            |p: &Pick| Part { linf: bounding.rows().into(), ..Part::new(PartKind::Point(*p), &named(p)) };
        let mut release = Release {
            select: select.id,
            set: 0,
            zone: self.settings.zone.clone(),
            ranking: None,
            round: None,
            source: self.source.clone(),
            parts: r.picks.iter().map(part).collect(),
            cells: Some(Cells { axis: r.axis, points, picks: r.picks, weight }),
            keys,
            groups: public.then_some(self.group_count),
            public_groups: public,
            groups_why: found.why.clone(),
            groups_remedy: found.remedy.clone(),
            only: found.only.clone(),
            outputs: r.outputs,
            bounding,
            work,
            given: self.relation.scans.scope.given.used(),
            spec: dp::Spec { l0: 1, ..dp::Spec::default() },
        };
        release.move_ends();
        Ok(release)
    }
}

/// What is chosen, in words.
fn named(p: &Pick) -> String {
    match p {
        Pick::Quantile(q) => format!("quantile {}", crate::words::decimal(q)),
        Pick::Least => "least value".into(),
        Pick::Greatest => "greatest value".into(),
        Pick::Mode => "most frequent value".into(),
        Pick::End { of, side: Side::Below, .. } => {
            format!("lower end around quantile {}", crate::words::decimal(of))
        }
        Pick::End { of, side: Side::Above, .. } => {
            format!("upper end around quantile {}", crate::words::decimal(of))
        }
    }
}
