//! Outlines of releases: the integers that need noise.

use super::model::Release;
use crate::aggregates::{Part, weights};
use crate::bound::bounding;
use dp::Sensitivity;

impl Release {
    /// The outline of a release, each of whose selections gets this share of δ.
    pub fn outline(&self, delta: &dp::Ratio) -> dp::Outline {
        let l0 = self.top().unwrap_or_else(|| self.bounding.l0());
        let rows = self.bounding.rows();
        // What no number holds was refused when the release was built.
        let one = |p: &Part, rows: u32| {
            let n = p.in_one_group(rows).unwrap_or(p.linf);
            n.saturating_mul(self.bounding.steps(&p.kind).into())
        };
        let all = |of: &dyn Fn(&Part) -> Sensitivity| -> Vec<Sensitivity> {
            self.parts.iter().filter(|_| self.cells.is_none()).map(of).collect()
        };
        let spread = self.bounding.spread().filter(|_| self.top().is_none() && self.cells.is_none());
        let spread = |p: &Part| spread.filter(|_| p.kind.adds_rows());
        dp::Outline {
            // Of private groups there are at least as many as one unit may touch, and of a top as many as come back.
            groups: self.groups.filter(|_| self.top().is_none()).unwrap_or(l0 as usize),
            l0,
            sums: all(&|p| match (spread(p), self.bounding.of_groups()) {
                (Some(most), _) => Sensitivity::in_all(one(p, most), one(p, most)),
                (None, bounding::Groups::InAll(n)) => {
                    let all = one(p, rows);
                    Sensitivity { groups: (*n).into(), ..Sensitivity::in_all(all, all) }
                }
                (None, _) => Sensitivity::in_each(one(p, rows), l0.into()),
            }),
            squares: self.bounding.spread().map(|_| {
                all(&|p| match spread(p) {
                    Some(most) => Sensitivity::in_squares(one(p, most).saturating_mul(one(p, most))),
                    None => Sensitivity::in_each(one(p, rows), l0.into()),
                })
            }),
            steps: self.parts.iter().map(|p| self.bounding.steps(&p.kind)).collect(),
            weights: weights::of(&self.parts, &self.outputs),
            counted: self.counted(),
            selection_delta: self.selects().then_some(*delta),
            round: self.round,
            points: self.cells.as_ref().map(|c| (c.picks.clone(), c.weight)),
            top: self.top(),
        }
    }
}
