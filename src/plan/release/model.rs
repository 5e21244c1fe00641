//! A release: a private relation, its groups, and the integers that are released of each.

use crate::Bounding;
use crate::aggregates::PartKind;
use crate::aggregates::{Bounds, Cells, Drawn, Output, Part};
use crate::algebra::source::PrivateSource;
use crate::bound::bounding::Norm;
use crate::bound::work::Work;
use crate::expr::Scalar;
use crate::groups::key::Key;
use crate::profiled::{NoiseOfOne, Own};
use dp::Pick;
use dp::quantile::Side;
use sql::ast::{Aggregate, SelectId};

/// A release: one maximal private aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The SELECT it stands for.
    pub select: Option<SelectId>,
    /// Place among the SELECT's grouping sets; 0 when there is one.
    pub set: usize,
    /// The private relation.
    pub source: PrivateSource,
    /// Group keys.
    pub keys: Vec<Key>,
    /// Number of groups, when they are public.
    pub groups: Option<usize>,
    /// All groups come back; else they are selected by a threshold.
    pub public_groups: bool,
    /// Why groups are public or private, for EXPLAIN.
    pub groups_why: String,
    /// A remedy for those who miss private groups: what makes them public.
    pub groups_remedy: String,
    /// Conditions over the keys ([`crate::expr::StandIn::Key`]) that narrow the public domain.
    pub only: Vec<Scalar>,
    /// Released integers.
    pub parts: Vec<Part>,
    /// The analyst's aggregates, and how each is computed.
    pub outputs: Vec<(Aggregate, Output)>,
    /// Contribution bounding.
    pub bounding: Bounding,
    /// Cells of points: the last key is the point, and there is a part for each choice.
    pub cells: Option<Cells>,
    /// ORDER BY a count DESC LIMIT k, where groups are public.
    pub ranking: Option<Ranking>,
    /// Number of the round, from 0, when keys alone are selected in rounds.
    pub round: Option<usize>,
    /// Work that one row can make PostgreSQL do.
    pub work: Work,
    /// The stages whose values its rows are compared with, by their indexes in [`crate::Plan::stages`].
    pub given: Vec<usize>,
    /// The session's time zone, where its rows are compared or cut by it.
    pub zone: String,
    /// The noise; set once the statement's price is split.
    pub spec: dp::Spec,
}

impl Release {
    /// The part that is the number of units by which groups are selected.
    pub(super) fn counted(&self) -> Option<usize> {
        let is_units = |p: &Part| match p.kind {
            PartKind::Units(None) => true,
            PartKind::Count(None) => self.bounding.rows() == 1,
            _ => false,
        };
        self.parts.iter().position(is_units).filter(|_| self.selects())
    }

    /// Takes the bound on rows that a profile wants with this noise for the bound that it has; the widest without.
    pub(crate) fn follow_profile(&mut self, spec: Option<&dp::Spec>) {
        let gaussian = spec.is_some_and(is_gaussian);
        let half = spec.and_then(|spec| self.half_of_a_row(spec));
        self.bounding.follow_profile(half.map(|half| NoiseOfOne { half, gaussian }));
        let rows = self.bounding.rows();
        for (i, p) in self.parts.iter_mut().enumerate() {
            let Some(own) = &mut p.own else { continue };
            let noise = spec.and_then(|spec| spec.aggregates.get(i));
            own.follow(noise.map(|n| NoiseOfOne { half: half_of_one(n), gaussian }));
        }
        for p in self.parts.iter_mut().filter(|p| p.kind.adds_rows()) {
            p.linf = p.in_one_group(rows).unwrap_or(u128::MAX);
        }
        self.parts.iter_mut().filter(|p| p.kind.is_chosen()).for_each(|p| p.linf = rows.into());
        if let Some(cells) = &mut self.cells {
            let steps = self.parts.first().map_or(1, |p| self.bounding.steps(&p.kind));
            cells.weight = rows.saturating_mul(steps).saturating_mul(self.bounding.l0());
        }
        self.move_ends();
    }

    /// Takes ends of quantiles' intervals as far out as what is cut may move a rank; where nobody knows how far, they are NULL.
    pub(crate) fn move_ends(&mut self) {
        let Some(part) = self.parts.first() else { return };
        let (lost, steps) = (self.bounding.lost(&part.kind), f64::from(self.bounding.steps(&part.kind)));
        let lost = if lost.is_nan() { 0.0 } else { lost };
        let moved = |pick: &mut Pick| {
            let Pick::End { of, side, beyond, .. } = pick else { return };
            let q = *of.numer() as f64 / *of.denom() as f64;
            let share = if *side == Side::Below { 1.0 - q } else { q };
            // One row is what a rank is rounded by. The cast cuts at the ends.
            *beyond = libm::ceil(lost * share * steps + steps - 1.0) as u64;
        };
        self.cells.iter_mut().flat_map(|c| &mut c.picks).for_each(moved);
        let points = self.parts.iter_mut().filter_map(|p| match &mut p.kind {
            PartKind::Point(pick) => Some(pick),
            _ => None,
        });
        points.for_each(moved);
    }

    /// Half the interval of the noise of its integers, for each row of the bound that it has.
    fn half_of_a_row(&self, spec: &dp::Spec) -> Option<f64> {
        if let Some((points, cells)) = spec.points.as_ref().zip(self.cells.as_ref()) {
            return Some(points.error95(cells.points) / f64::from(points.weight().max(1)));
        }
        let by_rows = |p: &Part| p.kind.adds_rows() && p.own.is_none();
        let drawn = self.parts.iter().zip(&spec.aggregates);
        let drawn = drawn.filter(|(p, noise)| by_rows(p) && !noise.sensitivity.is_none());
        let each: Vec<f64> = drawn.map(|(_, noise)| half_of_one(noise)).collect();
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    }

    /// Takes the noise that was chosen.
    pub fn draws(&mut self, spec: dp::Spec) {
        self.parts.iter_mut().zip(&spec.aggregates).for_each(|(part, noise)| part.linf = noise.linf());
        self.spec = spec;
    }

    /// What bounds leave of a unit.
    fn bounds(&self) -> Bounds {
        let point = PartKind::Point(Pick::Mode);
        Bounds {
            rows: self.bounding.lost(&point),
            units: self.bounding.lost(&PartKind::Units(None)),
            steps: self.bounding.steps(&point),
            most: self.bounding.rows(),
        }
    }

    /// Number of groups that are chosen, when not all of them are released.
    pub fn top(&self) -> Option<u32> {
        self.ranking.as_ref().filter(|r| r.chosen).map(|r| r.k)
    }

    /// The most rows that its counts and sums are short of in one group for what bounds cut, NaN where nobody knows, also of sums with
    /// norms of their own; None where it has no others, or all rows of a unit count.
    pub fn lost_rows(&self) -> Option<f64> {
        if self.own_norms().any(|own| own.lost().is_nan()) {
            return Some(f64::NAN);
        }
        let adds = |p: &&Part| p.own.is_none() && (p.kind.adds_rows() || p.kind.is_chosen());
        let adds = self.parts.iter().find(adds)?;
        Some(self.bounding.lost(&adds.kind)).filter(|lost| *lost != 0.0)
    }

    /// A threshold decides which of its groups come back.
    pub fn selects(&self) -> bool {
        !self.public_groups && !self.is_within()
    }

    /// Groups are private, and those that the first release of the same rows selects: points are
    /// chosen, or values counted, in no others.
    pub fn is_within(&self) -> bool {
        !self.public_groups && (self.cells.is_some() || self.values().is_some())
    }

    /// The first of these releases that has the same rows: of the same SELECT, and grouping set of it.
    pub fn first(&self, all: &[Release]) -> Option<usize> {
        all.iter().position(|r| (r.select, r.set) == (self.select, self.set))
    }

    /// The keys of the groups that come back: all but the point of a cell.
    pub fn group_keys(&self) -> &[Key] {
        match (&self.cells, self.keys.split_last()) {
            (Some(_), Some((_, groups))) => groups,
            _ => &self.keys,
        }
    }

    /// Whose distinct values are counted or added up, where they are.
    pub fn values(&self) -> Option<&Scalar> {
        self.parts.first()?.kind.values()
    }

    /// Parts with their noise.
    pub fn drawn(&self) -> Drawn<'_> {
        self.added_up(1)
    }

    /// Parts with their noise, when `groups` groups of the release are added up.
    pub fn added_up(&self, groups: usize) -> Drawn<'_> {
        Drawn {
            parts: &self.parts,
            spec: &self.spec,
            cells: self.cells.as_ref(),
            groups,
            bounds: self.bounds(),
        }
    }

    /// In which norm rows of a unit are bounded over its groups, where they are: that of the noise.
    pub fn norm(&self) -> Option<Norm> {
        let adds = |p: &Part| p.own.is_none() && (p.kind.adds_rows() || p.kind.is_chosen());
        let most = self.bounding.spread().filter(|_| self.parts.iter().any(adds))?;
        Some(if is_gaussian(&self.spec) { Norm::Squares(most) } else { Norm::Sum(most) })
    }

    /// Whether its fetch has joins that no index could serve: with a public domain, with groups that are left out, or of rows that are all computed. Of these
    /// the planner of the database knows least, and a nested loop costs their product.
    pub fn joins_without_index(&self) -> bool {
        let listed = self.public_groups && !self.keys.is_empty() || self.is_later_round();
        listed || self.source.joins_computed_rows()
    }

    /// Whether its rows are those of several tables.
    pub fn joins_tables(&self) -> bool {
        self.source.scans.len() > 1
    }

    /// The number of a unit's rows in a group matters: it does not when private groups are
    /// selected, and nothing else, nor where all sums have norms of their own.
    pub fn counts_rows(&self) -> bool {
        match self.parts.as_slice() {
            [] => !self.selects(),
            parts => parts.iter().any(|p| p.own.is_none()),
        }
    }

    /// The norms of sums that have one of their own.
    pub fn own_norms(&self) -> impl Iterator<Item = &Own> {
        self.parts.iter().filter_map(|p| p.own.as_ref())
    }

    /// Nothing private is read: public groups without aggregates.
    pub fn is_domain_only(&self) -> bool {
        self.public_groups && self.parts.is_empty()
    }
}

fn is_gaussian(spec: &dp::Spec) -> bool {
    spec.aggregates.iter().any(|n| matches!(n.distribution, dp::Distribution::Gaussian { .. }))
}

/// Half the interval of noise, for each one of the bound.
fn half_of_one(noise: &dp::Noise) -> f64 {
    noise.error95() / noise.linf().max(1) as f64
}

/// The fate of ORDER BY and LIMIT.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranking {
    /// LIMIT.
    pub k: u32,
    /// The first groups are chosen; else all of them are released.
    pub chosen: bool,
    /// Why, for EXPLAIN.
    pub why: String,
}
