//! Finish: PostgreSQL computes the rest of the statement over released columns, which are parameters: arrays in its
//! binary form.
//!
//! Group keys are never decoded: an array is assembled around their raw bytes.

use super::straight;
use crate::gateway::session::ask::Ask;
use crate::gateway::session::statement::Columns;
use crate::gateway::way::private::Released;
use answer::{ClientError, Field, Outcome, SqlState};
use backend::{Param, RelayError, Rows};
use bigdecimal::{BigDecimal, ToPrimitive};
use bytes::{BufMut, Bytes, BytesMut};
use emit::print::{self, ArrayParam, Printed};
use futures::StreamExt;
use plan::Plan;
use release::{Noisy, numeric};
use schema::SqlType;
use std::collections::HashMap;

impl Ask<'_> {
    /// That the finish will give the types that the statement was promised: had it others, nobody must pay for it.
    pub(in crate::gateway) async fn prove_finish(
        &self,
        plan: &Plan,
        (text, arrays): (Printed, Vec<ArrayParam>),
        fields: &[Field],
    ) -> Result<(), ClientError> {
        let gateway = self.gateway;
        let settings = self.settings.backend();
        if let Some(given) = gateway.known.finishes.get(&settings, &text.sql) {
            return same_types(fields, &given);
        }
        let types: Vec<u32> = arrays.iter().map(|a| element(a).array_oid()).collect();
        let (backend, policy) = (&gateway.backend, &gateway.policy);
        let described = backend.describe(&settings, &text.sql, &types).await;
        let given = described.map_err(RelayError::into_finish_error)?.fields;
        // The statement was typed over the tables as they are, and planned as they were when the policy was checked.
        if !have_same_types(fields, &given)
            && let Some(change) = gateway.fingerprints.change(backend, policy, &plan.tables).await
        {
            return Err(change);
        }
        gateway.known.finishes.keep(&settings, &text.sql, &given);
        same_types(fields, &given)
    }

    /// The rows of the analyst's statement over released relations.
    pub(in crate::gateway) async fn finish(&self, released: Released) -> Result<Outcome, ClientError> {
        let Released { plan, mut constants, columns, noisy, .. } = released;
        let policy = &self.gateway.policy;
        if !columns.twice
            && let Some(straight) = print::straight(&plan, policy, &constants)
            && let finishing = record::step(record::Stage::Finish)
            && let Some(rows) = straight::rows(&plan, &noisy, &straight, &columns.fields)?
        {
            drop(finishing);
            let rows = futures::stream::iter(rows.into_iter().map(Ok)).boxed();
            return Ok(Outcome::Rows { fields: columns.fields, rows, verb: "SELECT", count: true });
        }
        constants.own = self.own_rows(&plan.statement).await?;
        let (text, arrays) = print::finish(&plan, policy, &constants);
        let params = params(&plan, &noisy, &arrays)?;
        let (fields, rows) = self.rows(&text.sql, &params, columns, false).await?;
        same_types(&fields, &rows.fields)?;
        Ok(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb: "SELECT", count: true })
    }

    /// The rows of a text over public tables, which may have been altered since it was described.
    pub(in crate::gateway) async fn public_rows(
        &self,
        sql: &str,
        params: &[Param],
        columns: Columns,
    ) -> Result<Outcome, ClientError> {
        let (fields, rows) = self.rows(sql, params, columns, true).await?;
        if !have_same_types(&fields, &rows.fields) {
            return Err(ClientError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cached plan must not change result type",
            )
            .hint("A table was altered since the statement was described: prepare it again."));
        }
        Ok(Outcome::Rows { fields, rows: rows.into_finish_stream(), verb: "SELECT", count: true })
    }

    /// What a text of the finish gives, and the columns that were promised.
    async fn rows(
        &self,
        sql: &str,
        params: &[Param],
        Columns { fields, twice }: Columns,
        public: bool,
    ) -> Result<(Vec<Field>, Rows), ClientError> {
        let gateway = self.gateway;
        let _finishing = record::step(record::Stage::Finish);
        let doubled = twice.then(|| format!("SELECT q.*, q.* FROM ({sql}) AS q"));
        let formats: Vec<i16> = fields.iter().map(|f| f.format).collect();
        let sql = doubled.as_deref().unwrap_or(sql);
        let (asker, settings) = (self.behalf(public), self.settings.backend());
        let rows = gateway.backend.serve(asker, &settings, sql, params, &formats).await;
        Ok((fields, rows.map_err(RelayError::into_finish_error)?))
    }
}

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

fn have_same_types(promised: &[Field], given: &[Field]) -> bool {
    promised.len() == given.len() && promised.iter().zip(given).all(|(a, b)| a.type_oid == b.type_oid)
}

/// The finish must give the types that the statement was promised.
pub fn same_types(promised: &[Field], given: &[Field]) -> Result<(), ClientError> {
    if have_same_types(promised, given) {
        return Ok(());
    }
    let list = |f: &[Field]| f.iter().map(|f| f.type_oid.to_string()).collect::<Vec<_>>().join(",");
    let cause = format!("promised types {} and got {}", list(promised), list(given));
    Err(ClientError::incident(SqlState::INTERNAL, "the answer has other types than the statement", &cause))
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
