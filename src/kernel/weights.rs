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

use super::domain::same_keys;
use super::stages::{Units, listed, order};
use grammar::Result;
use grammar::parser::Parser;
use schema::SqlType;

/// What a unit adds to the number by which its groups are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// 1 to each.
    Units,
    /// ⌊w/s⌋ to each of s groups.
    Sum(u64),
    /// ⌊w/√s⌋ to each of s groups.
    Squares(u64),
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
