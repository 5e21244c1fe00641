//! `unit_path`: rows that belong to the unit of the row that they refer to.
//!
//! Soundness rule 7: the columns referred to hold a usable key of the other table, so that each row refers to at most
//! one row, and belongs to at most one unit. Rows that refer to none belong to nobody.

use super::error::{At, Findings};
use super::model::{Policy, Privacy, Table, UnitPath};
use super::raw_table::{RawPath, RawTable};
use super::reader::shorten;
use super::suggest::suggest;
use super::type_name::type_name;
use schema::{Column, Relation, SqlType};

/// An example of a path.
pub(super) const EXAMPLE: &str = "unit_path = \"trip_id -> trips.trip_id\"";

/// Words on what proves uniqueness (soundness rule 7).
pub(super) const KEY_HINT: &str = "make it the primary key: the key must be unique, valid, not deferrable, not partial, NOT NULL, on a table without inheritance children";

/// Reads `a -> t.x` and `(a, b) -> t.(x, y)`.
pub(super) fn parse(text: &At<String>, f: &mut Findings) -> Option<At<RawPath>> {
    let mut wrong = |what: String, hint: &str| {
        f.error(&text.span, what, hint.to_owned());
        None
    };
    let example = format!("write for example: {EXAMPLE}, or unit_path = \"(a, b) -> t.(x, y)\"");
    let Some((from, to)) = text.value.split_once("->") else {
        return wrong(format!("unit_path = {:?} has no ->", shorten(&text.value)), &example);
    };
    if to.contains("->") {
        let hint =
            "write the first step; the table that it leads to has a unit_column, or a unit_path of its own";
        return wrong(format!("unit_path = {:?} has several steps", shorten(&text.value)), hint);
    }
    let (from, to) = (from.trim(), to.trim());
    let list = |inner: &str| inner.split(',').map(|c| c.trim().to_owned()).collect::<Vec<_>>();
    let columns = match from.strip_prefix('(').and_then(|c| c.strip_suffix(')')) {
        Some(inner) => list(inner),
        None => vec![from.to_owned()],
    };
    let target = match to.strip_suffix(')').and_then(|t| t.rsplit_once(".(")) {
        Some((table, inner)) => Some((table.trim(), list(inner))),
        None => to.rsplit_once('.').map(|(table, column)| (table.trim(), vec![column.trim().to_owned()])),
    };
    let Some((table, key)) = target else {
        return wrong(format!("unit_path leads to {:?}, not to a table and a column", shorten(to)), &example);
    };
    if columns.iter().chain(&key).any(String::is_empty) || table.is_empty() {
        return wrong(format!("unit_path = {:?} lacks a name", shorten(&text.value)), &example);
    }
    if columns.len() != key.len() {
        let what = format!("unit_path has {} column(s) here and {} there", columns.len(), key.len());
        return wrong(what, "each column here stands for one there");
    }
    Some(At { value: RawPath { columns, table: table.to_owned(), key }, span: text.span.clone() })
}

/// The step against the schema.
pub(super) fn check(
    own: usize,
    raws: &[RawTable],
    relations: &[Option<&Relation>],
    f: &mut Findings,
) -> Option<Privacy> {
    let raw = raws.get(own)?;
    let path = raw.unit_path.as_ref()?;
    let relation = relations.get(own).copied().flatten()?;
    let RawPath { columns, table, key } = &path.value;
    let private = || raws.iter().filter(|t| !t.public).map(|t| t.name.value.as_str());
    let Some(to) = raws.iter().position(|t| t.name.value == *table) else {
        let what = format!("unit_path leads to {:?}, which the policy does not name", shorten(table));
        f.error(&path.span, what, format!("a private table of this policy: {}", suggest(table, private())));
        return None;
    };
    let parent = raws.get(to)?;
    if parent.public {
        let what = format!("unit_path leads to {table:?}, which is public: its rows belong to no unit");
        f.error(&path.span, what, "lead to a private table, or make this one public, too");
        return None;
    }
    if cyclic(own, raws) {
        let what = format!("unit_path of {:?} comes back to where it was", raw.name.value);
        f.error(&path.span, what, "a path ends at a table with a unit_column");
        return None;
    }
    let there = relations.get(to).copied().flatten()?;
    let mut types = Vec::with_capacity(columns.len());
    let mut nullable = false;
    let mut right = true;
    for (here, name) in columns.iter().zip(key) {
        let from = named(path, &raw.name.value, relation, here, f);
        let to = named(path, table, there, name, f);
        let (Some(from), Some(to)) = (from, to) else { return None };
        right &= fits(path, from, to, table, f);
        types.push(from.ty.clone());
        nullable |= !from.not_null;
    }
    if !there.usable_keys().iter().any(|k| k.iter().all(|c| key.contains(c))) {
        let what = format!(
            "{} is not a key of {table:?}: a row of {:?} could belong to many units",
            key.join(", "),
            raw.name.value
        );
        f.error(&path.span, what, KEY_HINT);
        return None;
    }
    let (columns, key) = (columns.clone(), key.clone());
    right.then_some(Privacy::Path(UnitPath { columns, types, nullable, table: to, key }))
}

fn named<'r>(
    path: &At<RawPath>,
    table: &str,
    relation: &'r Relation,
    column: &str,
    f: &mut Findings,
) -> Option<&'r Column> {
    let found = relation.column(column);
    if found.is_none() {
        let what = format!("unit_path: {table:?} has no column {:?}", shorten(column));
        f.error(&path.span, what, suggest(column, relation.columns.iter().map(|c| c.name.as_str())));
    }
    found
}

/// Equal values are the same on both sides, and comparing them cannot fail.
fn fits(path: &At<RawPath>, from: &Column, to: &Column, table: &str, f: &mut Findings) -> bool {
    let types = || {
        format!("{:?} is {}, {table}.{} is {}", from.name, type_name(&from.ty), to.name, type_name(&to.ty))
    };
    let (what, hint) = if from.ty.oid() != to.ty.oid() {
        (types(), "a path follows columns of one type")
    } else if matches!(from.ty, SqlType::Other { .. }) {
        (types(), "a path follows integers, text, varchar, uuid, dates, enums and numerics")
    } else if !(from.deterministic_collation && to.deterministic_collation) {
        (
            "unit_path needs deterministic collations on both sides".to_owned(),
            "different spellings would be one row there and two here",
        )
    } else if from.virtual_expression || to.virtual_expression {
        (
            "unit_path follows a column that is computed when it is read".to_owned(),
            "its expression may fail on chosen rows: use a stored column",
        )
    } else {
        return true;
    };
    f.error(&path.span, what, hint);
    false
}

/// Whether the path of this table leads back to it.
fn cyclic(own: usize, raws: &[RawTable]) -> bool {
    let next = |at: usize| {
        let path = raws.get(at)?.unit_path.as_ref()?;
        raws.iter().position(|t| t.name.value == path.value.table)
    };
    let mut at = own;
    for _ in 0..=raws.len() {
        match next(at) {
            Some(to) if to == own => return true,
            Some(to) => at = to,
            None => return false,
        }
    }
    false
}

/// Turns the number of rows for each row that a path leads to into the number of rows of one unit.
pub(super) fn multiply_proven_rows(tables: &mut [Table]) {
    let total = |mut at: usize| {
        let mut rows: u32 = 1;
        // Paths have no cycles; the count is a second proof of it.
        for _ in 0..tables.len() {
            let table = tables.get(at)?;
            rows = rows.checked_mul(table.proven_rows?)?;
            match &table.privacy {
                Privacy::Path(path) => at = path.table,
                _ => return Some(rows),
            }
        }
        None
    };
    let totals: Vec<Option<u32>> = (0..tables.len()).map(total).collect();
    for (table, rows) in tables.iter_mut().zip(totals) {
        table.proven_rows = rows;
    }
}

impl UnitPath {
    /// As it is written in a policy.
    pub fn text(&self, policy: &Policy) -> String {
        let list = |names: &[String]| match names {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        };
        let table = policy.tables.get(self.table).map_or("", |t| t.name.as_str());
        format!("{} -> {table}.{}", list(&self.columns), list(&self.key))
    }
}
