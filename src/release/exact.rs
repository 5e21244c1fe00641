//! Rows of a fetch, as they leave the database driver.

use crate::error::ReleaseError;
use crate::groups::Within;
use crate::numeric;
use bytes::Bytes;
use dp::Spec;
use kernel::Certified;
use postgres_types::{FromSql, Type};
use price::{Proof, covers};
use tokio_postgres::Row;

/// The exact result of one fetch: group keys as raw bytes, and integers.
///
/// No Debug, no Display, no Clone, no Serialize; nothing outside this module can read it.
pub struct Exact {
    pub(super) keys: Vec<Vec<Option<Bytes>>>,
    /// Number of distinct units per group, or what they weigh, where groups are selected.
    pub(super) units: Option<Vec<i128>>,
    pub(super) values: Vec<Vec<i128>>,
    pub(super) rows: usize,
    pub(super) proven: Proof,
    /// The noisy numbers by which its groups were selected as they came, where they were: then all of them stay.
    pub(super) selected: Option<Vec<i128>>,
    /// Where groups are private and their units are not counted: in which of them it is released.
    pub(super) within: Option<Within>,
}

/// Any value as the bytes that came over the wire.
pub(super) struct Raw<'a>(pub(super) &'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

impl Exact {
    /// Decodes the rows of one fetch: group keys, then (where groups are selected) the number of distinct units, then one
    /// integer per aggregate of `spec`. Keys stay raw. Integers are int4, int8 or numeric without a fraction, never NULL,
    /// and saturate at the edges of i128.
    ///
    /// What was proven of the text must be covered by `spec`, for `groups` over all groups together, and where units are counted no integer may exceed what so
    /// many units can add up to.
    pub fn decode(
        rows: &[Row],
        certified: &Certified,
        spec: &Spec,
        groups: bool,
    ) -> Result<Self, ReleaseError> {
        let proven = Proof::from(certified);
        if !covers(&proven, spec, groups) {
            return Err(ReleaseError::Uncertified);
        }
        let keys = certified.keys;
        // Cells have one count.
        let integers = if spec.points.is_some() { 1 } else { spec.aggregates.len() };
        let width = keys + usize::from(spec.selection.is_some()) + integers;
        if rows.iter().any(|row| row.len() != width) {
            return Err(ReleaseError::Shape);
        }
        let key = |column: usize| {
            let cell = |row: &Row| {
                let raw: Option<Raw> = row
                    .try_get(column)
                    .map_err(|_| ReleaseError::Column { column, problem: "something unreadable" })?;
                Ok(raw.map(|raw| Bytes::copy_from_slice(raw.0)))
            };
            rows.iter().map(cell).collect::<Result<Vec<_>, ReleaseError>>()
        };
        let integer = |column: usize| {
            rows.iter().map(|row| decode_integer(row, column)).collect::<Result<Vec<_>, ReleaseError>>()
        };
        let units = spec.selection.as_ref().map(|_| integer(keys)).transpose()?;
        let values: Vec<Vec<i128>> = (width - integers..width).map(integer).collect::<Result<_, _>>()?;
        if let Some(units) = &units {
            for (column, part) in values.iter().zip(&certified.parts) {
                let most = |units: &i128| units.unsigned_abs().saturating_mul(part.linf);
                if column.iter().zip(units).any(|(value, units)| value.unsigned_abs() > most(units)) {
                    return Err(ReleaseError::Impossible);
                }
            }
        }
        let keys = (0..keys).map(key).collect::<Result<_, _>>()?;
        Ok(Self { keys, values, units, rows: rows.len(), proven, selected: None, within: None })
    }

    /// In which groups it is to be released, where they are private and another part selects them.
    #[must_use]
    pub fn within(self, within: Option<Within>) -> Self {
        Self { within, ..self }
    }
}

pub(super) fn decode_integer(row: &Row, column: usize) -> Result<i128, ReleaseError> {
    let wrong = |problem| ReleaseError::Column { column, problem };
    let ty = row.columns().get(column).map(|c| c.type_()).ok_or(ReleaseError::Shape)?;
    let raw: Option<Raw> = row.try_get(column).map_err(|_| wrong("something unreadable"))?;
    let Raw(raw) = raw.ok_or_else(|| wrong("NULL"))?;
    let malformed = || wrong("a malformed integer");
    match *ty {
        Type::INT4 => Ok(i32::from_be_bytes(raw.try_into().map_err(|_| malformed())?).into()),
        Type::INT8 => Ok(i64::from_be_bytes(raw.try_into().map_err(|_| malformed())?).into()),
        Type::NUMERIC => numeric::decode(raw).ok_or_else(|| wrong("a numeric that is no integer")),
        _ => Err(wrong("a type that is no integer")),
    }
}
