//! Releases in private groups that were selected with others: by a part before it, or earlier.
//!
//! Guarantee: with the release that selected the groups, that of adaptive composition (Dwork and
//! Roth 2014, Theorem 3.16; for zCDP Bun and Steinke 2016, Lemma 2.3). Whatever groups are given,
//! what is released in them is a function of their rows alone, of which one unit changes no more
//! than of all. Of other groups nothing is told, nor which there are; a given group that the fetch
//! does not have is an empty one.

use crate::error::ReleaseError;
use crate::exact::Exact;
use crate::groups::rows_of;
use crate::noisy::Noisy;
use crate::points;
use bytes::Bytes;
use dp::{Entropy, Spec};

pub use crate::groups::{Groups, Within};

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
        Ok(own
            .iter()
            .zip(&drawn)
            .map(|(rows, drawn)| noise.number(value(rows).saturating_add(*drawn)))
            .collect())
    });
    let values = columns.collect::<Result<_, ReleaseError>>()?;
    Ok(Noisy { keys: groups.to_vec(), values, rows: own.len() })
}
