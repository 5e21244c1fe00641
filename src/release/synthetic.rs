//! Answers from rows that are made up: exact, since nobody is in them.

use super::points::{count, empty, integer, push};
use crate::error::ReleaseError;
use crate::noisy::{Noisy, pick};
use crate::numeric;
use bytes::Bytes;
use dp::{Pick, Points, Spec};
use std::collections::BTreeMap;

/// Rows of a fetch over synthetic tables: cells in PostgreSQL's binary form, columns by the OIDs of
/// their types.
///
/// It takes cells that the finish login was sent, which reads no private row; the rows of a fetch
/// of private tables are of another type ([`super::Exact`]), and there is no way from that to this.
#[derive(Clone, Debug)]
pub struct Made {
    /// Type OIDs of the columns.
    pub types: Vec<u32>,
    /// The rows.
    pub rows: Vec<Vec<Option<Bytes>>>,
}

/// The answer that a release has for synthetic rows: values without noise, all groups that there are, the points that are
/// asked for. `keys` is the number of group keys, of which that of a cell is the last.
///
/// # Errors
/// The rows have another shape than the release.
pub fn answer(made: Made, keys: usize, spec: &Spec) -> Result<Noisy, ReleaseError> {
    let integers = if spec.points.is_some() { 1 } else { spec.aggregates.len() };
    let selects = spec.selection.is_some();
    let width = keys + usize::from(selects) + integers;
    let Made { types, mut rows } = made;
    if types.len() != width || rows.iter().any(|row| row.len() != width) {
        return Err(ReleaseError::Shape);
    }
    // As a selection's rows, which come in the order of their keys.
    if selects {
        rows.sort_by(|a, b| a.get(..keys).cmp(&b.get(..keys)));
    }
    let column =
        |i: usize| -> Vec<Option<Bytes>> { rows.iter().map(|row| row.get(i).cloned().flatten()).collect() };
    // Of what is counted in parts of a row the number of rows, as with noise; points are chosen by parts.
    let noises = spec.aggregates.iter().map(Some).chain(std::iter::repeat(None));
    let values = (width - integers..width).zip(noises).map(|(i, noise)| {
        let ty = types.get(i).copied().unwrap_or_default();
        let value = |cell: &Option<Bytes>| {
            let steps = decode(cell.as_ref(), ty, i)?;
            Ok::<i128, ReleaseError>(
                noise.filter(|_| spec.points.is_none()).map_or(steps, |noise| noise.number(steps)),
            )
        };
        column(i).iter().map(value).collect::<Result<Vec<_>, _>>()
    });
    let values: Vec<Vec<i128>> = values.collect::<Result<_, _>>()?;
    let noisy = Noisy { keys: (0..keys).map(column).collect(), values, rows: rows.len() };
    if let Some(points) = &spec.points {
        return choose(noisy, points);
    }
    let Some(top) = &spec.top else { return Ok(noisy) };
    let [counts] = noisy.values.as_slice() else { return Err(ReleaseError::Shape) };
    let mut order: Vec<usize> = (0..noisy.rows).collect();
    order.sort_by_key(|row| std::cmp::Reverse(counts.get(*row).copied()));
    order.truncate(usize::try_from(top.choices()).unwrap_or(usize::MAX));
    Ok(Noisy {
        keys: noisy.keys.iter().map(|c| pick(c, &order)).collect(),
        values: noisy.values.iter().map(|c| pick(c, &order)).collect(),
        rows: order.len(),
    })
}

fn decode(cell: Option<&Bytes>, ty: u32, column: usize) -> Result<i128, ReleaseError> {
    let wrong = |problem| ReleaseError::Column { column, problem };
    let raw = cell.ok_or_else(|| wrong("NULL"))?.as_ref();
    let malformed = || wrong("a malformed integer");
    match ty {
        23 => Ok(i32::from_be_bytes(raw.try_into().map_err(|_| malformed())?).into()),
        20 => Ok(i64::from_be_bytes(raw.try_into().map_err(|_| malformed())?).into()),
        1700 => numeric::decode(raw).ok_or_else(|| wrong("a numeric that is no integer")),
        _ => Err(wrong("a type that is no integer")),
    }
}

/// The points of each group, from the counts of its cells. Cells of public groups come in the order of their points, those of
/// private ones in any, and are whole numbers.
fn choose(cells: Noisy, points: &Points) -> Result<Noisy, ReleaseError> {
    let Noisy { mut keys, values, rows } = cells;
    let (Some(point), [counts]) = (keys.pop(), values.as_slice()) else { return Err(ReleaseError::Shape) };
    let mut groups: BTreeMap<Vec<Option<Bytes>>, Vec<(usize, u64)>> = BTreeMap::new();
    let mut order = Vec::new();
    for row in 0..rows {
        let key: Vec<_> = keys.iter().map(|column| column.get(row).cloned().flatten()).collect();
        let group = groups.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            Vec::new()
        });
        group.push((row, counts.get(row).map_or(0, count)));
    }
    let cell = |row: usize| point.get(row).cloned().flatten();
    let mut out = empty(keys.len(), points);
    for key in order {
        let mut group = groups.remove(&key).unwrap_or_default();
        group.sort_by_key(|(row, _)| integer(cell(*row).as_ref()));
        let chosen: Vec<usize> = points.picks().iter().map(|p| place(p, &group)).collect();
        push(&mut out, key.into_iter(), &chosen, cell);
    }
    Ok(out)
}

/// The row of a group's cell that is picked; the first where no cell has rows.
fn place(pick: &Pick, group: &[(usize, u64)]) -> usize {
    let found = match pick {
        Pick::Least => group.iter().find(|(_, n)| *n > 0),
        Pick::Greatest => group.iter().rfind(|(_, n)| *n > 0),
        Pick::Mode => group.iter().rev().max_by_key(|(_, n)| *n),
        Pick::Quantile(q) | Pick::End { of: q, .. } => {
            let all: u128 = group.iter().map(|(_, n)| u128::from(*n)).sum();
            let mut below = 0u128;
            group.iter().find(|(_, n)| {
                below += u128::from(*n);
                below > 0 && below.saturating_mul(*q.denom()) >= all.saturating_mul(*q.numer())
            })
        }
    };
    found.or(group.first()).map(|(row, _)| *row).unwrap_or_default()
}
