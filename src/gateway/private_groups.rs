//! Points that are chosen in private groups: in those that the first release of the same rows selects, now or earlier.

use plan::{Plan, Release};
use release::points::{Groups, Within};

/// For each of these releases, in which groups points are chosen, where these are private. `of`: the groups that a release
/// selects, by its place in the plan.
pub fn selected(plan: &Plan, places: &[usize], of: impl Fn(usize) -> Option<Groups>) -> Vec<Option<Groups>> {
    let each = |place: &usize| {
        let release = plan.releases.get(*place)?;
        let private = release.cells.is_some() && !release.public_groups;
        of(release.first(&plan.releases).filter(|_| private)?)
    };
    places.iter().map(each).collect()
}

/// The points of a release, chosen in these groups.
pub fn points_within(release: &Release, groups: Groups) -> Option<Within> {
    let cells = release.cells.as_ref()?;
    Some(Within { groups, first: cells.first()?, points: cells.points })
}
