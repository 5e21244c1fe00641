//! Points that are chosen in each group: exact counts of cells in, and of each group only which points were chosen.

use super::{Exact, Noisy, ReleaseError};
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
    let mut out = Noisy {
        keys: vec![Vec::new(); keys.len() + 1],
        values: vec![Vec::new(); points.picks().len()],
        rows: 0,
    };
    let same = |a: usize, b: usize| keys.iter().all(|column| column.get(a) == column.get(b));
    let mut start = 0;
    while start < rows {
        let end = (start + 1..rows).find(|row| !same(start, *row)).unwrap_or(rows);
        let count = |n: &i128| u64::try_from(*n).unwrap_or(if *n < 0 { 0 } else { u64::MAX });
        let group = counts.get(start..end).ok_or(ReleaseError::Shape)?;
        let chosen = points.choose(group.iter().map(count).collect(), rng)?;
        let cell = |place: Option<&usize>| place.and_then(|p| cells.get(start + p)).cloned().flatten();
        for (column, key) in out.keys.iter_mut().zip(&keys) {
            column.push(key.get(start).cloned().flatten());
        }
        if let Some(last) = out.keys.last_mut() {
            last.push(cell(chosen.first()));
        }
        for (column, place) in out.values.iter_mut().zip(&chosen) {
            column.push(integer(cell(Some(place)).as_ref()));
        }
        out.rows += 1;
        start = end;
    }
    Ok(out)
}

/// The int8 of a public point; 0 for a key of another kind.
fn integer(key: Option<&Bytes>) -> i128 {
    key.and_then(|raw| <[u8; 8]>::try_from(raw.as_ref()).ok()).map_or(0, |raw| i64::from_be_bytes(raw).into())
}
