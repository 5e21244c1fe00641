//! Shares of units: what is left of a unit's counts and sums where their norm over its groups is
//! above a bound. The kernel knows these texts to the letter.

use plan::bound::bounding::{MOST_ROWS, Norm, STEPS};
use plan::expr::GridValue;
use plan::profiled::Own;

/// A sum in `steps` of its grid, of a unit of which `n` rows count as `most`, where there are more.
pub(super) fn scaled(s: &GridValue, sum: &str, n: &str, most: u32, steps: u32) -> String {
    let all = u64::from(most) * u64::from(steps);
    let scaled = match s.is_int4() {
        // sum · all / n without a product that could overflow.
        true => format!("({sum} / {n}) * {all} + ({sum} % {n}) * {all} / {n}"),
        false => format!("pg_catalog.div({sum} * {all}, {n}::pg_catalog.numeric)"),
    };
    let times = if steps == 1 { String::new() } else { format!(" * {steps}") };
    format!("CASE WHEN {n} > {most} THEN {scaled} ELSE {sum}{times} END")
}

/// A unit's share of counted rows in a group: with w = C/‖n₀‖ where the norm of its rows over its groups is above C.
pub(super) fn share_of_rows(i: usize, norm: Norm) -> String {
    let capped = |i: usize| format!("LEAST(c.n{i}, {MOST_ROWS})::pg_catalog.int4");
    let (Norm::Sum(most) | Norm::Squares(most)) = norm;
    let share = share(&capped(i), &capped(0), "int8", most.into(), matches!(norm, Norm::Squares(_)));
    format!("{share} AS m{i}")
}

/// A unit's share of its sum in a group: with w = C/‖s‖ where the norm of its sums over its groups is above C.
pub(super) fn share_of_sum(i: usize, own: &Own) -> String {
    let sum = format!("c.s{i}");
    format!("{} AS t{i}", share(&sum, &sum, "numeric", own.most(), own.is_squared()))
}

/// w·x in steps of 1/[`STEPS`], cut towards zero: with w = C/‖y‖ where the norm of y over the unit's groups is above C, and else 1.
///
/// Of squares, the factor is less than exact by more than double precision rounds. `wide` holds the squares of y.
fn share(x: &str, y: &str, wide: &str, most: u64, squares: bool) -> String {
    let steps = most.saturating_mul(STEPS.into());
    let share = if squares {
        let all = format!("pg_catalog.sum({y}::pg_catalog.{wide} * {y}) OVER v");
        format!(
            "{all} > {most}::pg_catalog.{wide} * {most} THEN pg_catalog.trunc({x}::pg_catalog.float8 * {steps}::pg_catalog.float8 / pg_catalog.sqrt(({all})::pg_catalog.float8) * 0.999999999::pg_catalog.float8)"
        )
    } else {
        let all = format!("pg_catalog.sum(pg_catalog.abs({y})) OVER v");
        format!("{all} > {most} THEN pg_catalog.div({x}::pg_catalog.numeric * {steps}, {all})")
    };
    format!(", CASE WHEN {share}::pg_catalog.int8 ELSE {x}::pg_catalog.int8 * {STEPS} END")
}
