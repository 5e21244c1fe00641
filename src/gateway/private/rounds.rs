//! Keys that are selected in rounds: each is paid for and read as a statement of its own would be, and leaves out what those before it
//! have selected. What all of them have selected is the answer, and stands in the place of the first.

use super::columns;
use answer::ClientError;
use backend::Param;
use bytes::Bytes;
use plan::{Plan, Release};
use release::Noisy;

/// A column of keys for each key.
pub type Columns = Vec<Vec<Option<Bytes>>>;

/// Releases in the order in which they are paid for: all first rounds and all releases without
/// rounds, then second rounds, and so on.
pub fn apart(plan: &Plan, places: &[usize]) -> Vec<Vec<usize>> {
    let round = |place: &usize| plan.releases.get(*place).and_then(|r| r.round).unwrap_or(0);
    let last = places.iter().map(round).max().unwrap_or(0);
    (0..=last).map(|n| places.iter().copied().filter(|place| round(place) == n).collect()).collect()
}

/// The groups that rounds before this release have selected.
pub fn before(plan: &Plan, place: usize, noisy: &[Noisy]) -> Columns {
    let Some(release) = plan.releases.get(place) else { return Columns::new() };
    let mut columns = vec![Vec::new(); if release.is_later_round() { release.keys.len() } else { 0 }];
    for rows in release.rounds_before(&plan.releases).filter_map(|before| noisy.get(before)) {
        for (column, cells) in columns.iter_mut().zip(&rows.keys) {
            column.extend_from_slice(cells);
        }
    }
    columns
}

/// Groups as parameters of a round's fetch.
pub fn parameters(release: &Release, columns: &Columns) -> Result<Vec<Param>, ClientError> {
    let each = release.keys.iter().zip(columns);
    each.map(|(key, cells)| columns::array_of(key.scalar.ty(), cells)).collect()
}

/// Of these releases, those whose answers are whole with the ones that there are now; of rounds the first, in whose place all that they
/// have selected is put together, in the order of the keys' bytes.
pub fn ended(plan: &Plan, places: &[usize], noisy: &mut [Noisy]) -> Vec<usize> {
    let mut out = Vec::with_capacity(places.len());
    for place in places {
        let Some(release) = plan.releases.get(*place) else { continue };
        if release.round.is_none() {
            out.push(*place);
        } else if release.is_last_round() {
            let rounds: Vec<usize> = release.rounds_before(&plan.releases).chain([*place]).collect();
            let (all, first) = (together(&rounds, noisy), rounds.first().copied().unwrap_or(*place));
            if let Some(slot) = noisy.get_mut(first) {
                *slot = all;
            }
            out.push(first);
        }
    }
    out
}

fn together(rounds: &[usize], noisy: &[Noisy]) -> Noisy {
    let all = || rounds.iter().filter_map(|place| noisy.get(*place));
    let width = all().map(|n| n.keys.len()).max().unwrap_or(0);
    let mut rows: Vec<Vec<Option<Bytes>>> = Vec::new();
    for n in all() {
        let row = |row: usize| n.keys.iter().map(|column| column.get(row).cloned().flatten()).collect();
        rows.extend((0..n.rows).map(row));
    }
    rows.sort_unstable();
    let keys = (0..width).map(|i| rows.iter().map(|row| row.get(i).cloned().flatten()).collect()).collect();
    Noisy { keys, values: Vec::new(), rows: rows.len() }
}
