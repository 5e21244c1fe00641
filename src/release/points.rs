//! Points that are chosen in each group: exact counts of cells in, and of each group only which points were chosen.

use crate::error::ReleaseError;
use crate::exact::Exact;
use crate::groups::{key, rows_of};
use crate::noisy::Noisy;
use bytes::Bytes;
use dp::{Entropy, Points, PointsError};

impl From<PointsError> for ReleaseError {
    fn from(e: PointsError) -> Self {
        match e {
            PointsError::Dp(e) => Self::Spec(e),
            PointsError::Entropy(e) => Self::Entropy(e),
        }
    }
}

/// Chooses points in each group. Rows are cells, in the order of the fetch, which is that of a public domain: the groups one
/// after the other, and in each its points, whose keys are the last. Each value of the answer is a chosen point: its key
/// where that is an integer, and the last key is the first choice.
///
/// Guarantee: that of [`Points`], since the order and number of cells are public. Every cell of every group is looked at.
pub(super) fn choose(exact: Exact, points: &Points, rng: &mut impl Entropy) -> Result<Noisy, ReleaseError> {
    let Exact { mut keys, values, rows, .. } = exact;
    let (Some(cells), [counts]) = (keys.pop(), values.as_slice()) else { return Err(ReleaseError::Shape) };
    let mut out = empty(keys.len(), points);
    let same = |a: usize, b: usize| keys.iter().all(|column| column.get(a) == column.get(b));
    let mut start = 0;
    while start < rows {
        let end = (start + 1..rows).find(|row| !same(start, *row)).unwrap_or(rows);
        let group = counts.get(start..end).ok_or(ReleaseError::Shape)?;
        let chosen = points.choose(group.iter().map(count).collect(), rng)?;
        let cell = |place: usize| cells.get(start + place).cloned().flatten();
        let key = keys.iter().map(|column| column.get(start).cloned().flatten());
        push(&mut out, key, &chosen, cell);
        start = end;
    }
    Ok(out)
}

/// Chooses points in groups that are released. Rows are the cells that have rows, in any order; the others have none. Of
/// cells of other groups nothing is told, nor which there are.
///
/// Guarantee: with the release that selected the groups, that of adaptive composition (Dwork and Roth 2014, Theorem 3.16; for
/// zCDP Bun and Steinke 2016, Lemma 2.3): whatever groups are given, this is [`Points`] over their cells, of which one unit
/// changes no more than of all cells.
pub(super) fn choose_within(
    exact: Exact,
    points: &Points,
    groups: &[Vec<Option<Bytes>>],
    (first, n): (i64, usize),
    rng: &mut impl Entropy,
) -> Result<Noisy, ReleaseError> {
    let Exact { mut keys, values, rows, .. } = exact;
    let (Some(cells), [counts]) = (keys.pop(), values.as_slice()) else { return Err(ReleaseError::Shape) };
    let own = rows_of(groups, &keys, rows)?;
    let mut out = empty(keys.len(), points);
    for (group, rows) in own.iter().enumerate() {
        let mut counted = vec![0u64; n];
        for row in rows {
            let point = cells.get(*row).and_then(Option::as_ref);
            let place = point.and(usize::try_from(integer(point) - i128::from(first)).ok());
            let (Some(slot), Some(rows)) = (place.and_then(|p| counted.get_mut(p)), counts.get(*row)) else {
                return Err(ReleaseError::Shape);
            };
            *slot = count(rows);
        }
        let chosen = points.choose(counted, rng)?;
        let cell = |place: usize| {
            let point = i64::try_from(place).ok().and_then(|p| first.checked_add(p))?;
            Some(Bytes::copy_from_slice(&point.to_be_bytes()))
        };
        push(&mut out, key(groups, group).into_iter(), &chosen, cell);
    }
    Ok(out)
}

pub(super) fn empty(keys: usize, points: &Points) -> Noisy {
    Noisy { keys: vec![Vec::new(); keys + 1], values: vec![Vec::new(); points.picks().len()], rows: 0 }
}

pub(super) fn count(n: &i128) -> u64 {
    u64::try_from(*n).unwrap_or(if *n < 0 { 0 } else { u64::MAX })
}

/// Adds a group and what was chosen in it.
pub(super) fn push(
    out: &mut Noisy,
    key: impl Iterator<Item = Option<Bytes>>,
    chosen: &[usize],
    cell: impl Fn(usize) -> Option<Bytes>,
) {
    let last = chosen.first().and_then(|place| cell(*place));
    out.keys.iter_mut().zip(key.chain([last])).for_each(|(column, key)| column.push(key));
    for (column, place) in out.values.iter_mut().zip(chosen) {
        column.push(integer(cell(*place).as_ref()));
    }
    out.rows += 1;
}

/// The int8 of a public point; 0 for a key of another kind.
pub(super) fn integer(key: Option<&Bytes>) -> i128 {
    key.and_then(|raw| <[u8; 8]>::try_from(raw.as_ref()).ok()).map_or(0, |raw| i64::from_be_bytes(raw).into())
}
