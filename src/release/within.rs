//! Releases in private groups that were selected with others: by a part before it, or earlier.
//!
//! Guarantee: with the release that selected the groups, that of adaptive composition (Dwork and
//! Roth 2014, Theorem 3.16; for zCDP Bun and Steinke 2016, Lemma 2.3). Whatever groups are given,
//! what is released in them is a function of their rows alone, of which one unit changes no more
//! than of all. Of other groups nothing is told, nor which there are; a given group that the fetch
//! does not have is an empty one.

use super::{Exact, Noisy, ReleaseError, points};
use bytes::Bytes;
use dp::{Entropy, Spec};
use std::collections::HashMap;

/// In which groups, where those of a fetch are private and it does not count their units.
pub struct Within {
    /// The groups.
    pub groups: Groups,
    /// The least point, as an int8, and the number of points, one after the other, where points are
    /// chosen.
    pub grid: Option<(i64, usize)>,
}

/// Groups that are released.
pub enum Groups {
    /// Groups that the part at this place selects, which is released before.
    Of(usize),
    /// Groups that were released earlier: a column for each key.
    Released(Vec<Vec<Option<Bytes>>>),
}

/// Releases one part in groups that are released; `before`: what was released of the parts before it.
pub(super) fn perturb(
    exact: Exact,
    within: &Within,
    spec: &Spec,
    before: &[Noisy],
    rng: &mut impl Entropy,
) -> Result<Noisy, ReleaseError> {
    let groups = match &within.groups {
        Groups::Of(place) => &before.get(*place).ok_or(ReleaseError::Shape)?.keys,
        Groups::Released(keys) => keys,
    };
    match (&spec.points, within.grid, &spec.top) {
        (Some(points), Some(grid), None) => points::choose_within(exact, points, groups, grid, rng),
        (None, None, None) => add_noise(&exact, spec, groups, rng),
        _ => Err(ReleaseError::Shape),
    }
}

/// Adds noise to the integers of these groups, drawn before a value is looked at. How many there are is public.
fn add_noise(
    exact: &Exact,
    spec: &Spec,
    groups: &[Vec<Option<Bytes>>],
    rng: &mut impl Entropy,
) -> Result<Noisy, ReleaseError> {
    let own = rows_of(groups, &exact.keys, exact.rows)?;
    let columns = spec.aggregates.iter().zip(&exact.values).map(|(noise, values)| {
        let drawn = noise.sampler()?.draw(own.len(), rng)?;
        let value = |rows: &[usize]| rows.first().and_then(|row| values.get(*row)).copied().unwrap_or(0);
        Ok(own.iter().zip(&drawn).map(|(rows, noise)| value(rows).saturating_add(*noise)).collect())
    });
    let values = columns.collect::<Result<_, ReleaseError>>()?;
    Ok(Noisy { keys: groups.to_vec(), values, rows: own.len() })
}

/// The key of a row.
pub(super) fn key(columns: &[Vec<Option<Bytes>>], row: usize) -> Vec<Option<Bytes>> {
    columns.iter().map(|column| column.get(row).cloned().flatten()).collect()
}

/// The rows of each of these groups, by their keys; rows of other groups are dropped unlooked at.
pub(super) fn rows_of(
    groups: &[Vec<Option<Bytes>>],
    keys: &[Vec<Option<Bytes>>],
    rows: usize,
) -> Result<Vec<Vec<usize>>, ReleaseError> {
    if groups.len() != keys.len() {
        return Err(ReleaseError::Shape);
    }
    let known = groups.first().map_or(0, Vec::len);
    let places: HashMap<Vec<Option<Bytes>>, usize> = (0..known).map(|row| (key(groups, row), row)).collect();
    let mut own: Vec<Vec<usize>> = vec![Vec::new(); known];
    for row in 0..rows {
        if let Some(list) = places.get(&key(keys, row)).and_then(|place| own.get_mut(*place)) {
            list.push(row);
        }
    }
    Ok(own)
}
