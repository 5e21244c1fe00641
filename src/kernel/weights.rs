//! Groups by weights of their units: `x`, groups that are left out; `e`, which ranks a unit's other groups and counts them; `g`, where
//! each of the first L of them gets what a unit adds that has so many. All three are compared to the letter.
//!
//! `x` is made of parameters alone, which were released before: of `c` it takes rows by their keys, each row by itself, so that what is
//! left of a unit follows from its own rows. Of these it has n, told apart by their keys and counted in `t`; ranks are 1 to n, so that
//! s = min(n, L) are kept, which is `LEAST(t, L)` in each of them. To each of these groups, and to no other, the unit adds ⌊w/s⌋ or
//! ⌊w/√s⌋: s·⌊w/s⌋ ≤ w, and s·⌊w/√s⌋² ≤ w².
//!
//! In double precision the second is what it is in numbers, for all s up to w². Where w/√s is a whole number s is a square, and
//! nothing is rounded. Else let m be the next whole number: m²s - w² is a whole number above 0, so that m is larger than w/√s by a
//! part of 1/(2w² + w√s) at least, which is over 10^-13, and what root and quotient are rounded by is under 10^-15.

use super::claim::Weights;
use super::domain::same_keys;
use super::facts::{Column, Key};
use grammar::Result;
use grammar::parser::Parser;
use schema::SqlType;

/// `c`: rows with a unit, keys, and what was added up.
pub(crate) struct Units {
    pub(super) unit: Column,
    pub(super) columns: Vec<(String, Column)>,
    pub keys: Vec<Key>,
    /// Groups of one unit are at most so many.
    pub(super) groups: Option<u64>,
    /// Rows of units that have at most so many are together in their groups.
    pub(super) light: Option<u64>,
    /// The first count is of all rows.
    pub(super) counts_rows: bool,
}

/// A random order of a unit's groups: by nothing but the seed, the unit and what the keys equal, and without ties. None where
/// equal values of a type could have different hashes.
pub(crate) fn order(units: &Units) -> Option<String> {
    let mut hash = match units.unit.ty.as_ref().is_some_and(SqlType::is_integer) {
        true => "pg_catalog.hashint8extended(c.u, $1::pg_catalog.int8)".to_owned(),
        false => "pg_catalog.hashtextextended(c.u::pg_catalog.text, $1::pg_catalog.int8)".to_owned(),
    };
    for (i, key) in units.keys.iter().enumerate() {
        let text = |key: String| {
            format!("pg_catalog.hashtextextended(COALESCE({key}::pg_catalog.text, ''), {hash})")
        };
        hash = match &key.column.ty {
            Some(t) if t.is_integer() => format!("pg_catalog.hashint8extended(COALESCE(c.k{i}, 0), {hash})"),
            Some(t) if t.is_float() => format!("pg_catalog.hashfloat8extended(COALESCE(c.k{i}, 0), {hash})"),
            // One of no scale that has one form was trimmed.
            Some(SqlType::Numeric { scale }) if scale.is_some() || !key.one_form => {
                text(format!("pg_catalog.trim_scale(c.k{i})"))
            }
            _ if key.column.is_alone() => text(format!("c.k{i}")),
            _ => return None,
        };
    }
    let keys = (0..units.keys.len()).map(|i| format!(", c.k{i}"));
    units.unit.is_alone().then(|| hash + &keys.collect::<String>())
}

/// Texts for each of n keys, in a list.
pub(crate) fn listed(n: usize, one: impl Fn(usize) -> String) -> String {
    (0..n).map(one).collect::<Vec<_>>().join(", ")
}

/// w.
const WHOLE: u64 = 1_000_000;

/// Weights, and of how many groups at most, where that is what follows `c`.
pub(crate) fn stages(p: &mut Parser, units: &Units) -> Result<Option<(Weights, u64)>> {
    let types: Option<Vec<&SqlType>> = units.keys.iter().map(|k| k.column.ty.as_ref()).collect();
    let Some(types) = types.filter(|types: &Vec<_>| !types.is_empty()) else { return Ok(None) };
    let left_out = p.given_ahead().map_or(Ok(false), |first| p.exactly(&given(&types, first)))?;
    // Rows whose keys are not among them. NULL is a key like others.
    let same = same_keys("c", "x", types.iter().map(|ty| (Some(*ty), true)));
    let kept =
        if left_out { format!(" WHERE NOT EXISTS (SELECT 1 FROM x WHERE {same})") } else { String::new() };
    let Some(order) = order(units) else { return Ok(None) };
    let ranked = format!(
        "e AS (SELECT c.*, pg_catalog.row_number() OVER w AS r, pg_catalog.count(*) OVER v AS t FROM c{kept} \
         WINDOW v AS (PARTITION BY c.u), w AS (PARTITION BY c.u ORDER BY {order})),"
    );
    if !p.exactly(&ranked)? {
        return Ok(None);
    }
    let Some(most) = p.number_behind("<=").filter(|n| *n > 0) else { return Ok(None) };
    let keys = listed(types.len(), |i| format!("e.k{i}"));
    let places = listed(types.len(), |i| (i + 1).to_string());
    let root = format!("pg_catalog.sqrt(LEAST(e.t, {most})::pg_catalog.float8)");
    for (weights, each) in [
        (Weights::Sum(WHOLE), format!("({WHOLE} / LEAST(e.t, {most}))")),
        (Weights::Squares(WHOLE), format!("pg_catalog.floor({WHOLE}::pg_catalog.float8 / {root})")),
    ] {
        let g = format!(
            "g AS (SELECT {keys}, COALESCE(pg_catalog.sum({each}::pg_catalog.int4), 0) AS weight FROM e WHERE e.r <= {most} GROUP BY {places})"
        );
        if p.exactly(&g)? {
            return Ok(Some((weights, most)));
        }
    }
    Ok(None)
}

/// Parameters of these types, side by side.
fn given(types: &[&SqlType], first: u64) -> String {
    let columns = listed(types.len(), |i| format!("k{i}"));
    let arrays =
        types.iter().zip(first..).map(|(ty, n)| format!("pg_catalog.unnest(${n}::{}[])", ty.sql_name()));
    let arrays = arrays.collect::<Vec<_>>().join(", ");
    format!("x AS MATERIALIZED (SELECT x0.* FROM ROWS FROM ({arrays}) AS x0({columns})),")
}
