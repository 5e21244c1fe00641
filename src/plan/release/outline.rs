//! Outlines of releases: the integers that need noise.

use super::model::Release;
use crate::aggregates::{Part, weights};
use crate::bound::bounding::{self, Spread};
use dp::Sensitivity;

impl Release {
    /// The outline of a release, each of whose selections gets this share of δ.
    pub fn outline(&self, delta: &dp::Ratio) -> dp::Outline {
        let l0 = self.top().unwrap_or_else(|| self.bounding.l0());
        // What no number holds was refused when the release was built.
        let in_one_group = |p: &Part, rows: u32| p.in_one_group(rows).unwrap_or(p.linf);
        let all = |of: &dyn Fn(&Part) -> Sensitivity| -> Vec<Sensitivity> {
            self.parts.iter().filter(|_| self.cells.is_none()).map(of).collect()
        };
        let spread = self.bounding.spread().filter(|_| self.top().is_none() && self.cells.is_none());
        let both = |p: &Part, s: Spread, each: u32| {
            Sensitivity::in_all(in_one_group(p, s.total), in_one_group(p, each))
        };
        let squares =
            |p: &Part, s: Spread| Sensitivity::in_squares(s.squares().into()).times(in_one_group(p, 1));
        dp::Outline {
            // Of private groups there are at least as many as one unit may touch, and of a top as many as come back.
            groups: self.groups.filter(|_| self.top().is_none()).unwrap_or(l0 as usize),
            l0,
            sums: all(&|p| match (spread, self.bounding.of_groups()) {
                (Some(spread), _) => both(p, spread, spread.total),
                (None, bounding::Groups::InAll(n)) => {
                    let all = in_one_group(p, self.bounding.rows());
                    Sensitivity { groups: (*n).into(), ..Sensitivity::in_all(all, all) }
                }
                (None, _) => Sensitivity::in_each(in_one_group(p, self.bounding.rows()), l0.into()),
            }),
            in_each: spread.filter(|s| s.each() < s.total).map(|s| all(&|p| both(p, s, s.each()))),
            squares: spread.map(|s| all(&|p| squares(p, s))),
            weights: weights::of(&self.parts, &self.outputs),
            counted: self.counted(),
            selection_delta: self.selects().then_some(*delta),
            round: self.round,
            points: self.cells.as_ref().map(|c| (c.picks.clone(), c.weight)),
            top: self.top(),
        }
    }
}
