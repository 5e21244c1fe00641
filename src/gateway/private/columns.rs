//! Released columns as PostgreSQL's binary arrays, which are parameters of a finish.
//!
//! Group keys are never decoded: an array is assembled around their raw bytes.

use answer::{ClientError, SqlState};
use backend::Param;
use bigdecimal::{BigDecimal, ToPrimitive};
use bytes::{BufMut, Bytes, BytesMut};
use emit::print::ArrayParam;
use plan::Plan;
use release::{Noisy, numeric};
use schema::SqlType;
use std::collections::HashMap;

/// The type of a released column's cells.
pub(in crate::gateway) fn element(array: &ArrayParam) -> SqlType {
    match array {
        ArrayParam::Key { ty, .. } => ty.clone(),
        ArrayParam::Count { .. } => SqlType::Int8,
        ArrayParam::Sum { .. } => SqlType::Numeric { scale: None },
    }
}

/// The parameters of the finish, in order.
pub fn params(plan: &Plan, noisy: &[Noisy], arrays: &[ArrayParam]) -> Result<Vec<Param>, ClientError> {
    arrays.iter().map(|a| array_of(&element(a), &cells(plan, noisy, a)?)).collect()
}

/// Cells of a type as one parameter.
pub(in crate::gateway) fn array_of(ty: &SqlType, cells: &[Option<Bytes>]) -> Result<Param, ClientError> {
    Ok(Param::new(ty.array_oid(), Some(array(ty.oid(), cells).ok_or_else(defect)?)))
}

/// The cells of a released column, in PostgreSQL's binary form.
pub(in crate::gateway) fn cells(
    plan: &Plan,
    noisy: &[Noisy],
    array: &ArrayParam,
) -> Result<Vec<Option<Bytes>>, ClientError> {
    match array {
        ArrayParam::Key { release, key, .. } => {
            let cells = noisy.get(*release).and_then(|rows| rows.keys.get(*key)).ok_or_else(defect)?;
            beside(plan, noisy, *release, cells.clone()).ok_or_else(defect)
        }
        ArrayParam::Count { .. } => {
            Ok(values(plan, noisy, array)?.into_iter().map(|v| v.map(int8)).collect())
        }
        ArrayParam::Sum { grid, .. } => {
            let cell = |v: Option<i128>| match v {
                None => Ok(None),
                Some(v) => scaled(v, grid).map(Some).ok_or_else(defect),
            };
            values(plan, noisy, array)?.into_iter().map(cell).collect()
        }
    }
}

/// The cells of a released aggregate, in grid units.
pub(in crate::gateway) fn values(
    plan: &Plan,
    noisy: &[Noisy],
    array: &ArrayParam,
) -> Result<Vec<Option<i128>>, ClientError> {
    debug_assert!(plan.releases.len() == noisy.len());
    let (ArrayParam::Count { release, part } | ArrayParam::Sum { release, part, .. }) = array else {
        return Err(defect());
    };
    let cells = noisy.get(*release).and_then(|rows| rows.values.get(*part)).ok_or_else(defect)?;
    beside(plan, noisy, *release, cells.iter().copied().map(Some).collect()).ok_or_else(defect)
}

/// The cells of a column in the order of the rows that its SELECT, or its grouping set, has, which are those of its first release: by their keys,
/// since one of them may be an answer of an earlier time, with other values of a public table. NULL where there is no such row.
fn beside<T: Clone>(
    plan: &Plan,
    noisy: &[Noisy],
    release: usize,
    cells: Vec<Option<T>>,
) -> Option<Vec<Option<T>>> {
    let of = plan.releases.get(release)?;
    let first = of.first(&plan.releases)?;
    if first == release {
        return Some(cells);
    }
    let keys = of.group_keys().len();
    let key = |rows: &Noisy, row: usize| -> Vec<Option<Bytes>> {
        rows.keys.iter().take(keys).filter_map(|column| column.get(row).cloned()).collect()
    };
    let (rows, of_first) = (noisy.get(release)?, noisy.get(first)?);
    let own: HashMap<Vec<Option<Bytes>>, &Option<T>> =
        cells.iter().enumerate().map(|(row, cell)| (key(rows, row), cell)).collect();
    let cell = |row| own.get(&key(of_first, row)).copied().cloned().flatten();
    Some((0..of_first.rows).map(cell).collect())
}

/// The error of an answer whose columns are not those of its plan.
pub(in crate::gateway) fn defect() -> ClientError {
    ClientError::incident(
        SqlState::INTERNAL,
        "the answer could not be assembled",
        &"a released column is missing",
    )
}

/// A count, saturated to bigint.
pub(in crate::gateway) fn int8(v: i128) -> Bytes {
    let v = i64::try_from(v).unwrap_or(if v < 0 { i64::MIN } else { i64::MAX });
    Bytes::copy_from_slice(&v.to_be_bytes())
}

/// `v` grid units as numeric.
fn scaled(v: i128, grid: &BigDecimal) -> Option<Bytes> {
    let grid = grid.normalized();
    let (mantissa, scale) = grid.as_bigint_and_exponent();
    let (mantissa, scale) = if scale < 0 {
        (mantissa * num_bigint::BigInt::from(10).pow(u32::try_from(-scale).ok()?), 0)
    } else {
        (mantissa, scale)
    };
    let value = v.saturating_mul(mantissa.to_i128()?);
    Some(numeric::encode(value, u16::try_from(scale).ok()?))
}

/// PostgreSQL's binary array: dimensions, a flag for NULLs, the element type, one dimension, the elements.
fn array(element: u32, cells: &[Option<Bytes>]) -> Option<Bytes> {
    let mut out = BytesMut::new();
    if cells.is_empty() {
        out.put_i32(0);
        out.put_i32(0);
        out.put_u32(element);
        return Some(out.freeze());
    }
    out.put_i32(1);
    out.put_i32(i32::from(cells.iter().any(Option::is_none)));
    out.put_u32(element);
    out.put_i32(i32::try_from(cells.len()).ok()?);
    out.put_i32(1);
    for c in cells {
        match c {
            None => out.put_i32(-1),
            Some(bytes) => {
                out.put_i32(i32::try_from(bytes.len()).ok()?);
                out.put_slice(bytes);
            }
        }
    }
    Some(out.freeze())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn arrays_hold_raw_cells() {
        let cells = [Some(Bytes::from_static(b"a")), None];
        let bytes = array(25, &cells).unwrap();
        let expected: Vec<u8> = [
            &1i32.to_be_bytes()[..],
            &1i32.to_be_bytes(),
            &25i32.to_be_bytes(),
            &2i32.to_be_bytes(),
            &1i32.to_be_bytes(),
            &1i32.to_be_bytes(),
            b"a",
            &(-1i32).to_be_bytes(),
        ]
        .concat();
        assert_eq!(bytes, expected);
        assert_eq!(array(25, &[]).unwrap().len(), 12);
    }

    #[test]
    fn counts_and_sums_saturate() {
        assert_eq!(int8(i128::MAX), Bytes::copy_from_slice(&i64::MAX.to_be_bytes()));
        assert_eq!(int8(i128::MIN), Bytes::copy_from_slice(&i64::MIN.to_be_bytes()));
        let quarter: BigDecimal = "0.25".parse().unwrap();
        assert_eq!(scaled(3, &quarter).unwrap(), numeric::encode(75, 2));
        let tens: BigDecimal = "1e1".parse().unwrap();
        assert_eq!(scaled(-3, &tens).unwrap(), numeric::encode(-30, 0));
        assert_eq!(scaled(i128::MAX, &tens).unwrap(), numeric::encode(i128::MAX, 0));
    }
}
