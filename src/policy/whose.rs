//! `unit_column`: a column that says whose a row is, and not which row it is.
//!
//! The schema tells it by foreign keys: values that come from the same column as the unit's are the unit's. A primary
//! key that comes from nowhere may number rows, each of which would then be protected alone, and nobody who has several.
//! It does where the table has a likelier column, or a way to the unit; where not, rows may be one for each unit.

use super::error::Findings;
use super::model::Unit;
use super::raw::RawPolicy;
use super::raw_table::RawTable;
use schema::{ForeignKey, Relation, Schema};

/// Names that every table may give its own key: they do not say that two columns mean the same.
const OF_ANY_TABLE: [&str; 8] = ["id", "_id", "uuid", "guid", "key", "pk", "code", "no"];

/// The column that an owner has to name.
const WHOSE: &str =
    "the column that says whose each row is, or the way to it: unit_path = \"… -> table.column\"";

/// A column of the database.
type Origin = (String, String, String);

/// Refuses unit columns that are somebody else's, and warns where another column names the unit. Gives the tables of which
/// something was said.
pub(super) fn check(
    raw: &RawPolicy,
    unit: &Unit,
    relations: &[Option<&Relation>],
    schema: &Schema,
    f: &mut Findings,
) -> Vec<usize> {
    let mut said = Vec::new();
    let Some(own) = relations.get(unit.table).copied().flatten() else { return said };
    let units = origins(schema, own, &unit.column);
    let is_units = |r: &Relation, column: &str| origins(schema, r, column).iter().any(|o| units.contains(o));
    let named = format!("{}.{}", own.name, unit.column);
    let names = named_after(&own.name, &unit.column);
    let is_named = |column: &str| names.contains(&plain(column));
    for (i, (t, r)) in raw.tables.iter().zip(relations).enumerate() {
        let (Some(written), Some(r), false) = (&t.unit_column, r, t.public || i == unit.table) else {
            continue;
        };
        let column = written.value.as_str();
        let ty = |r: &Relation, name: &str| r.column(name).map(|c| c.ty.oid());
        // Another type is a mistake of its own, which was reported.
        if ty(r, column).is_none() || ty(r, column) != ty(own, &unit.column) || is_units(r, column) {
            continue;
        }
        let meant = format!("unit_path = \"{column} -> {named}\"");
        let single = |k: &&ForeignKey| k.columns == [column];
        if let Some(key) = r.foreign_keys.iter().find(single) {
            let there = format!("{}.{}", key.references.1, key.referenced_columns.join(", "));
            let what = format!("{column:?} refers to {there}, and not to the unit, {named}");
            let right = way(r, raw, relations, &is_units)
                .map_or_else(|| format!("name {WHOSE}"), |way| format!("write {way}"));
            let hint = format!("{right}; if its values are those of {named} all the same, {meant} says so");
            f.error(&written.span, what, hint);
            said.push(i);
            continue;
        }
        let other = || {
            let after = r.columns.iter().find(|c| c.name != column && is_named(&c.name))?;
            Some(format!("unit_column = {:?}, which is named after the unit", after.name))
        };
        let numbers = !is_named(column) && r.keys.iter().any(|k| k.primary && k.columns == [column]);
        let likelier = match numbers {
            true => way(r, raw, relations, &is_units).or_else(other),
            false => way_without_join(r, &is_units).or_else(other),
        };
        let all_the_same = format!("if {column} holds values of {named} all the same, {meant} says so");
        match (numbers, likelier) {
            (true, Some(likelier)) => f.error(
                &written.span,
                format!(
                    "{column:?} is the primary key of {:?}: each row would be a unit of its own, and nobody with several \
                     rows would be protected",
                    t.name.value
                ),
                format!("write {likelier}; {all_the_same}"),
            ),
            (true, None) => f.warn(
                &written.span,
                format!(
                    "{column:?} is the primary key of {:?}, and no foreign key says that it is {named}: if it numbers rows, \
                     nobody with several of them is protected",
                    t.name.value
                ),
                format!("{all_the_same}, and so does a foreign key; if not, name {WHOSE}"),
            ),
            (false, Some(likelier)) => f.warn(
                &written.span,
                format!("{column:?} may not say whose each row of {:?} is", t.name.value),
                format!("write {likelier}; {all_the_same}"),
            ),
            (false, None) => continue,
        }
        said.push(i);
    }
    said
}

/// The way to the unit that foreign keys of a table show.
fn way(
    r: &Relation,
    raw: &RawPolicy,
    relations: &[Option<&Relation>],
    is_units: &impl Fn(&Relation, &str) -> bool,
) -> Option<String> {
    if let Some(way) = way_without_join(r, is_units) {
        return Some(way);
    }
    let leads = |k: &&ForeignKey| {
        let mut private = raw.tables.iter().zip(relations).filter(|(t, _): &(&RawTable, _)| !t.public);
        let same = |o: &Relation| (&o.schema, &o.name) == (&k.references.0, &k.references.1);
        !same(r) && private.any(|(_, o)| o.is_some_and(same))
    };
    let key = r.foreign_keys.iter().find(leads)?;
    let list = |names: &[String]| match names {
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    };
    let (from, to) = (list(&key.columns), list(&key.referenced_columns));
    Some(format!("unit_path = \"{from} -> {}.{to}\", the way to the unit by a foreign key", key.references.1))
}

/// A column that comes from where the unit does.
fn way_without_join(r: &Relation, is_units: &impl Fn(&Relation, &str) -> bool) -> Option<String> {
    let c = r.columns.iter().find(|c| is_units(r, &c.name))?;
    Some(format!("unit_column = {:?}, which refers to the unit", c.name))
}

/// Names, plain, that a column has where it is named after the unit: the unit column's own if that tells what it is, or
/// else with the name of its table before it.
fn named_after(table: &str, column: &str) -> Vec<String> {
    if !OF_ANY_TABLE.contains(&column.to_lowercase().as_str()) {
        return vec![plain(column)];
    }
    let one = table.strip_suffix('s').unwrap_or(table);
    [table, one].map(|table| plain(&format!("{table}{column}"))).to_vec()
}

/// A name however its words are joined.
fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

/// Columns from which a column's values come, by foreign keys over any number of steps; itself among them.
fn origins(schema: &Schema, r: &Relation, column: &str) -> Vec<Origin> {
    let mut found: Vec<Origin> = vec![(r.schema.clone(), r.name.clone(), column.to_owned())];
    let mut next = 0;
    while let Some((in_schema, name, column)) = found.get(next).cloned() {
        next += 1;
        let Some(r) = schema.relation(&in_schema, &name) else { continue };
        for key in &r.foreign_keys {
            for (_, to) in
                key.columns.iter().zip(&key.referenced_columns).filter(|(from, _)| **from == column)
            {
                let origin = (key.references.0.clone(), key.references.1.clone(), to.clone());
                if !found.contains(&origin) {
                    found.push(origin);
                }
            }
        }
    }
    found
}
