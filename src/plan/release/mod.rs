//! Releases: aggregates over a private relation, with its groups, bounds and noise.
//!
//! `keys` lowers what it is grouped by, `groups` decides which of them come back, `aggregates` what is released of each; points
//! and distinct values have releases of their own (`cells`, `values`).

mod cells;
mod keys;
mod light;
mod model;
mod outline;
pub mod ranking;
mod ranks;
mod rounds;
mod values;

pub(crate) use crate::aggregates::Builder;
use crate::aggregates::builder::{Result, too_wide};
use crate::aggregates::sums;
use crate::aggregates::{Average, CentredSum, PartKind};
use crate::algebra::source::PrivateSource;
use crate::bound::bounding::{self, Bounding, Number};
use crate::expr::Scalar;
use crate::groups::key::Key;
use crate::groups::{self, Groups};
use crate::profiled::{self, Own};
use crate::refusals::Refusal;
use crate::refusals::aggregate::Aggregation;
use crate::refusals::group::Group;
use sql::ast::*;

pub use model::{Ranking, Release};

impl Builder<'_, '_> {
    /// The releases, of the same groups: `keys` are the group keys, `all` those of all grouping sets, `above` every expression
    /// over the aggregates.
    pub fn build(
        mut self,
        select: &Select,
        keys: &[Expr],
        all: &[Expr],
        above: &[&Expr],
    ) -> Result<Vec<Release>> {
        let mut built = Vec::with_capacity(keys.len());
        let mut written = Vec::with_capacity(keys.len());
        for k in keys {
            let (key, over_scans) = self.key(k)?;
            built.push(key);
            written.push(over_scans);
        }
        self.relation.scans.optional_side(&self.source.optional, above, all)?;
        // Of grouping sets it drops rows of some, and keeps what they add up to.
        let having = select.having.as_ref().filter(|_| select.grouping_sets.is_empty());
        let having = self.over_keys(having);
        let given = (self.policy, self.settings, self.facts);
        let found = groups::decide(&self.relation.scans, &self.source, given, &mut built, &written, &having)?;
        self.public = found.public;
        if found.public {
            self.group_count = groups::size(&built, self.facts);
        }
        // What is released for a sum serves an average of the same, whichever is written first.
        let sums = sums::beside_others(above);
        for only in [Some(sums.as_slice()), None] {
            above.iter().try_for_each(|e| self.above(e, all, only))?;
        }
        if self.settings.ends.stand_beside(select) {
            for item in &select.items {
                self.end(Reach::Low, &item.expr, false)?;
                self.end(Reach::High, &item.expr, false)?;
            }
        }
        self.relation.scans.note(&mut self.source);
        let scalars: Vec<&Scalar> = built.iter().map(|k| &k.scalar).collect();
        let equal = groups::equal_columns(&self.source);
        if !found.public && self.relation.scans.is_one_unit_each(&scalars, &equal) {
            return Err(one_unit_each(&built, &self.source, select.pos).into());
        }
        let own = self.requests.iter().map(|r| ("a quantile, min, max or mode", r.pos));
        let own = own.chain(self.distinct.iter().map(|d| (d.name(), d.pos))).next();
        if let Some((what, pos)) = own.filter(|_| !self.source.optional.is_empty()) {
            return Err(Aggregation::Optional { what, why: found.why }.at(pos).into());
        }
        let mut cells = self.cells(&built, select, &found)?;
        cells.extend(self.of_values(&built, select, &found)?);
        let Groups { public: public_groups, why: groups_why, remedy: groups_remedy, only } = found;
        if let Some(first) = cells.first_mut().filter(|_| self.parts.is_empty() && public_groups) {
            // What needs no part of its own.
            first.outputs.append(&mut self.outputs);
            return Ok(cells);
        }
        if !public_groups && !self.source.optional.is_empty() {
            return Err(Group::Optional { why: groups_why }.at(select.pos).into());
        }
        let units = self.parts.iter().any(|p| p.kind.counts_units()) || !public_groups;
        let public = public_groups.then_some(self.group_count);
        let number = public.map_or(Number::Private, Number::Public);
        let bounding = bounding::bound(&self.source, self.policy, self.settings, &built, number, units);
        let row_is_unit = !public_groups && bounding.rows() == 1;
        sums::centre(&mut self.parts, &mut self.outputs, row_is_unit);
        self.bound_sums(&bounding, &built);
        for p in &mut self.parts {
            p.linf = p.in_one_group(bounding.rows()).ok_or_else(too_wide)?;
        }
        if self.parts.is_empty() && built.is_empty() {
            return Err(Aggregation::Constant.at(select.pos).into());
        }
        let mut expressions: Vec<&Scalar> = built.iter().map(|k| &k.scalar).collect();
        expressions.extend(self.parts.iter().filter_map(|p| p.kind.argument()));
        let work = self.relation.scans.work(&self.source, &expressions, self.facts, select.pos)?;
        let given = self.relation.scans.scope.given.used();
        let by_given = |k: &Key| k.domain.as_ref().is_some_and(|(d, _)| d.is_given());
        let listed = built.iter().any(by_given) || only.iter().any(Scalar::is_given);
        if public_groups && self.parts.is_empty() && !given.is_empty() && listed {
            return Err(Group::Released.at(select.pos).into());
        }
        let release = Release {
            select: select.id,
            set: 0,
            zone: self.settings.zone.clone(),
            source: self.source,
            cells: None,
            ranking: None,
            round: None,
            keys: built,
            groups: public,
            public_groups,
            groups_why,
            groups_remedy,
            only,
            parts: self.parts,
            outputs: self.outputs,
            bounding,
            work,
            given,
            spec: dp::Spec { l0: 1, ..dp::Spec::default() },
        };
        // What is asked for beside keys is released in the groups that are selected at once.
        if cells.is_empty() && select.grouping_sets.is_empty() {
            return Ok(release.in_rounds());
        }
        cells.insert(0, release);
        Ok(cells)
    }
}

impl Builder<'_, '_> {
    /// Bounds sums by norms of their own, where these were measured: about the centre that was, where a count gives it back.
    fn bound_sums(&mut self, bounding: &Bounding, keys: &[Key]) {
        let Some(profiled) = bounding.profiled().filter(|_| bounding.may_bound_sums()) else { return };
        let outputs = &self.outputs;
        // What else follows from a sum may need the centre that it has.
        let alone = |at: usize| {
            let mut all = outputs.iter().map(|(_, o)| o).filter(|o| o.parts().contains(&at));
            all.all(|o| {
                let average = o.of::<Average>().is_some_and(|a| a.sum == at);
                average || o.of::<CentredSum>().is_some_and(|s| s.sum == at)
            })
        };
        for (at, part) in self.parts.iter_mut().enumerate() {
            let PartKind::Sum(value) = &part.kind else { continue };
            let moves = value.centre() != 0 && alone(at);
            let centres = profiled::centres(&self.source, self.policy, value);
            let values = centres
                .into_iter()
                .filter(|_| moves)
                .map(|centre| value.about(centre))
                .chain([value.clone()]);
            let found = values.filter_map(|value| {
                let items = profiled::of_sums(&self.source, self.policy, keys, &value);
                Some((value, Own::of(items, profiled.valid)?))
            });
            if let Some((value, own)) = found.into_iter().next() {
                part.kind = PartKind::Sum(value);
                part.own = Some(own);
            }
        }
    }
}

/// Refuses groups that would all be dropped, at a price.
fn one_unit_each(keys: &[Key], source: &PrivateSource, pos: Pos) -> Refusal {
    let named = |binding: BindingId| source.named().any(|s| s.binding == binding);
    let unit = source.unit.columns.iter().find(|c| named(c.0)).map(|(_, unit)| unit.clone());
    Group::OneUnitEach { keys: keys.iter().map(|k| k.label.clone()).collect(), unit }.at(pos)
}
