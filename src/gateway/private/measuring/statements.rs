//! The statements that measure units.

use bigdecimal::{BigDecimal, Zero};
use dp::profile::ENDS;
use policy::{Added, ByKey, Calendar, Column, Deviations, Measure, Policy, Privacy, Range, Table};
use schema::SqlType;
use schema::quoted::ident;
use std::fmt::Write as _;

/// Something to be measured of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// The number of its units.
    Units,
    /// The median of a column's values: no more than a centre for what is measured then.
    Median(String),
    /// A number of each unit, in bins.
    Norms(Measure),
}

/// Columns and keys that are measured beside the rows of units.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Columns whose values are added up.
    pub columns: Vec<String>,
    /// Keys of groups, which only budgets that pay for Gaussian noise have a use for.
    pub keys: Vec<ByKey>,
}

impl Wanted {
    /// Norms of a number, of all rows and by each key.
    pub fn norms(&self, added: Added) -> impl Iterator<Item = Measure> + '_ {
        let by = std::iter::once(None).chain(self.keys.iter().cloned().map(Some));
        by.map(move |by| Measure { added: added.clone(), by })
    }
}

/// Number of histograms beside so many columns and keys: of rows, and of each column about 0 and about its median; of all rows, and by
/// each key.
pub fn histograms(columns: usize, keys: usize) -> usize {
    (1 + keys) * (1 + 2 * columns)
}

/// Tables of a policy whose units can have several rows, or why one has nothing to measure.
pub fn measurable(policy: &Policy) -> Vec<(&Table, Result<(), String>)> {
    let private = policy.tables.iter().filter(|t| t.privacy != Privacy::Public);
    private.map(|t| (t, rows_of_units(policy, t).map(drop))).collect()
}

/// Whether a key proves that a unit has one row.
fn has_one_row_each(table: &Table) -> bool {
    let key = |unit: &str| table.keys.iter().any(|key| key.iter().all(|column| column == unit));
    table.proven_rows == Some(1) || table.unit_column().is_some_and(key)
}

/// FROM and the unit's column, where the rows of a table stand with their unit.
fn rows_of_units(policy: &Policy, table: &Table) -> Result<(String, String), String> {
    if has_one_row_each(table) {
        return Err("a key proves that a unit has one row: there is nothing to measure".into());
    }
    let hidden = |table: &Table, column: &str| {
        format!(
            "the columns by which its rows lead to the unit must be declared in the policy: in [table.{}] write \
             columns.{column} = {{}}",
            table.name
        )
    };
    let relation = |t: &Table| format!("{}.{}", ident(&t.schema), ident(&t.name));
    let (mut from, mut at) = (format!("{} AS t0", relation(table)), table);
    // Paths have no circles; a policy that had one would end here.
    for step in 0..=policy.tables.len() {
        let path = match &at.privacy {
            Privacy::Private { unit, .. } => return Ok((from, format!("t{step}.{}", ident(unit)))),
            Privacy::Public => break,
            Privacy::Path(path) => path,
        };
        let Some(next) = policy.tables.get(path.table) else { break };
        let mut on = Vec::new();
        for (own, key) in path.columns.iter().zip(&path.key) {
            for (table, column) in [(at, own), (next, key)] {
                if table.column(column).is_none() {
                    return Err(hidden(table, column));
                }
            }
            on.push(format!("t{step}.{} = t{}.{}", ident(own), step + 1, ident(key)));
        }
        let _ = write!(from, " JOIN {} AS t{} ON {}", relation(next), step + 1, on.join(" AND "));
        at = next;
    }
    Err("its rows lead to no unit".into())
}

/// Columns of a table whose values are added up: numbers within a range that are no keys.
pub fn columns(table: &Table) -> Vec<&Column> {
    let adds = |c: &&Column| {
        let range = matches!(&c.range, Some(Range::Number { low, high }) if low < high);
        let named = table.unit_column() == Some(c.name.as_str());
        let path = matches!(&table.privacy, Privacy::Path(path) if path.columns.contains(&c.name));
        range && c.ty.is_number() && c.domain.is_none() && !named && !path
    };
    table.columns.iter().filter(adds).collect()
}

/// A key of groups as the owner writes it: `ward`, `admitted:month`.
pub fn key(table: &Table, written: &str) -> Result<ByKey, String> {
    let (name, unit) = written.rsplit_once(':').map_or((written, None), |(name, unit)| (name, Some(unit)));
    let Some(column) = table.column(name) else {
        return Err(format!("{} has no column {name:?} in the policy", table.name));
    };
    let to = match unit.map(|word| Calendar::of_word(word).ok_or(word)).transpose() {
        Ok(to) => to,
        Err(word) => return Err(format!("{word:?} is neither month nor year: write --key {name}:month")),
    };
    if to.is_some() && !matches!(column.ty, SqlType::Date | SqlType::Timestamp) {
        return Err(format!("{name} is neither a date nor a timestamp without time zone, and has no months"));
    }
    Ok(ByKey { column: name.into(), to })
}

/// The statement that measures something.
pub(super) fn statement(policy: &Policy, table: &Table, question: &Question) -> Result<String, String> {
    let (from, unit) = rows_of_units(policy, table)?;
    Ok(match question {
        Question::Units => {
            format!("SELECT count(*) FROM (SELECT {unit} AS unit FROM {from} GROUP BY {unit}) AS u")
        }
        Question::Median(column) => {
            format!("SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY t0.{}) FROM {from}", ident(column))
        }
        Question::Norms(of) => {
            let added = added(table, &of.added);
            let (norms, square) = match &of.by {
                None => (format!("SELECT {unit} AS unit, {added} AS v FROM {from} GROUP BY {unit}"), false),
                Some(by) => {
                    let key = match by.to {
                        None => format!("t0.{}", ident(&by.column)),
                        Some(unit) => format!("date_trunc('{}', t0.{})", unit.word(), ident(&by.column)),
                    };
                    let each = format!(
                        "SELECT {unit} AS unit, {key} AS key, {added} AS n FROM {from} GROUP BY {unit}, {key}"
                    );
                    (format!("SELECT g.unit, sum(g.n * g.n) AS v FROM ({each}) AS g GROUP BY g.unit"), true)
                }
            };
            let one = match &of.added {
                Added::Rows => BigDecimal::from(1),
                Added::Deviations(d) => &d.grid * BigDecimal::from(d.steps),
            };
            let mut bins = String::new();
            for (k, end) in ENDS.iter().enumerate() {
                let end = BigDecimal::from(*end) * &one;
                let end = if square { &end * &end } else { end };
                let _ = write!(bins, " WHEN s.v <= {} THEN {k}", end.normalized().to_plain_string());
            }
            format!(
                "SELECT b.bin, count(*) FROM (SELECT s.unit, CASE{bins} ELSE {} END AS bin FROM ({norms}) AS s) AS b GROUP BY b.bin",
                ENDS.len()
            )
        }
    })
}

/// The aggregate that rows of a unit add up to.
fn added(table: &Table, of: &Added) -> String {
    let Added::Deviations(d) = of else { return "count(*)".into() };
    let number = |d: &BigDecimal| d.normalized().to_plain_string();
    let x = format!("t0.{}", ident(&d.column));
    let exact = table.column(&d.column).is_some_and(|c| is_exact(c, d));
    // Rounding to the grid moves a value by no more than half a step.
    let rounded =
        if exact { String::new() } else { format!(" + {}", number(&(&d.grid / BigDecimal::from(2)))) };
    let off = if d.about.is_zero() { String::new() } else { format!(" - ({})", number(&d.about)) };
    let (low, high) = (number(&d.low), number(&d.high));
    format!(
        "coalesce(sum(CASE WHEN {x} IS NOT NULL THEN abs(least(greatest({x}, {low}), {high}){off}){rounded} END), 0)"
    )
}

/// Whether the values of a column lie on the grid.
fn is_exact(column: &Column, d: &Deviations) -> bool {
    let on = |scale: i64| (BigDecimal::new(1.into(), scale) / &d.grid).is_integer();
    match &column.ty {
        ty if ty.is_integer() => on(0),
        SqlType::Numeric { scale: Some(scale) } => on(i64::from(*scale)),
        _ => false,
    }
}

/// The statement whose plan says how values of a column are added up. Nobody runs it.
pub(super) fn sum(policy: &Policy, table: &Table, column: &str) -> Result<String, String> {
    let (from, _) = rows_of_units(policy, table)?;
    Ok(format!("SELECT sum(t0.{}) FROM {from}", ident(column)))
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use std::path::Path;

    /// The policy of the bike share.
    pub(crate) fn bikes() -> Policy {
        let schema = serde_json::from_str(include_str!("../../../../tests/policy/schema.json")).unwrap();
        let text = include_str!("../../../../config/bikes.toml");
        let raw = policy::parse(text, "bikes.toml", Path::new("")).unwrap_or_else(|e| panic!("{e}"));
        raw.check(&schema).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn units_with_one_row_each_are_not_measured() {
        let policy = bikes();
        let said: Vec<_> =
            measurable(&policy).into_iter().map(|(t, r)| (t.name.as_str(), r.is_ok())).collect();
        assert_eq!(said, [("riders", false), ("trips", true), ("payments", true)]);
    }

    #[test]
    fn rows_lead_to_their_unit() {
        let mut policy = bikes();
        let trips = policy.tables.iter().position(|t| t.name == "trips").unwrap();
        let payments = policy.tables.iter().position(|t| t.name == "payments").unwrap();
        let path = policy::UnitPath {
            columns: vec!["amount".into()],
            types: Vec::new(),
            nullable: false,
            table: trips,
            key: vec!["fare".into()],
        };
        policy.tables[payments].privacy = Privacy::Path(path);
        let (from, unit) = rows_of_units(&policy, &policy.tables[payments]).unwrap();
        assert_eq!(
            from,
            "\"public\".\"payments\" AS t0 JOIN \"public\".\"trips\" AS t1 ON t0.\"amount\" = t1.\"fare\""
        );
        assert_eq!(unit, "t1.\"rider_id\"");
        policy.tables[trips].columns.retain(|c| c.name != "fare");
        let why = rows_of_units(&policy, &policy.tables[payments]).unwrap_err();
        assert!(why.ends_with("in [table.trips] write columns.fare = {}"), "{why}");
    }
}
