//! Private groups that are released with others, and the rows of each.

use crate::error::ReleaseError;
use bytes::Bytes;
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
