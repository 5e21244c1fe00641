//! Releases in private groups without a selection of their own: the groups are those that the first
//! release of the same rows selects, now or earlier.

use plan::{Plan, Release};
use release::within::{Groups, Within};

/// For each of these releases, in which groups it is released, where these are private and selected by another. `of`: the
/// groups that a release selects, by its place in the plan.
pub fn selected(plan: &Plan, places: &[usize], of: impl Fn(usize) -> Option<Groups>) -> Vec<Option<Groups>> {
    let each = |place: &usize| {
        let release = plan.releases.get(*place)?;
        of(release.first(&plan.releases).filter(|_| release.is_within())?)
    };
    places.iter().map(each).collect()
}

/// A release in these groups.
pub fn within(release: &Release, groups: Groups) -> Option<Within> {
    let grid = match &release.cells {
        Some(cells) => Some((cells.first()?, cells.points)),
        None => None,
    };
    Some(Within { groups, grid })
}
