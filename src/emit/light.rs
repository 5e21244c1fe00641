//! Units that no bound cuts, told from others (`plan::release::Release::light`): `h` counts the rows of each unit, and the stage
//! behind it, which groups rows by unit and key, takes those of light units together, under NULL as their unit.
//!
//! PostgreSQL's planner sees through `h`, which is named once: it is an aggregate over a scan, of which few rows are kept for a
//! hash, and no unit has two.

use plan::bound::bounding::STEPS;

/// The unit of a row of the stage behind.
pub(super) const UNIT: &str = "h.u AS u";

/// `h`, of ` FROM … WHERE …`.
pub(super) fn rows_of_units(unit: &str, rows: &str) -> String {
    format!("SELECT {unit} AS u, pg_catalog.count(*) AS n{rows} GROUP BY 1")
}

/// The join that leaves `h.u` NULL for units of at most `most` rows.
pub(super) fn heavy(unit: &str, most: u32) -> String {
    format!(" LEFT JOIN h ON h.u = {unit} AND h.n > {most}")
}

/// Sum of a row of a stage in steps of its grid: where it is of light units, its own sum, in this column; else the share of one
/// unit, bounded. `is_int8`: so is the sum, in steps.
pub(super) fn or_bounded(stage: &str, column: &str, bounded: &str, is_int8: bool) -> String {
    let (ty, wide) = if is_int8 { ("int8", "") } else { ("numeric", "::pg_catalog.numeric") };
    format!(
        "(CASE WHEN {stage}.u IS NULL THEN {stage}.{column}{wide} * {STEPS} ELSE {bounded} END)::pg_catalog.{ty}"
    )
}
