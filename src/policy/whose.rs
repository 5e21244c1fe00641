//! `unit_column`: a column that says whose a row is, and not which row it is.
//!
//! The schema tells it by foreign keys: values that come from the same column as the unit's are the unit's. A key of the
//! table itself, which comes from nowhere, numbers rows: each would be protected alone, and nobody who has several.

use super::error::Findings;
use super::model::Unit;
use super::raw::RawPolicy;
use super::raw_table::RawTable;
use schema::{ForeignKey, Relation, Schema};

/// Names that every table may give its own key: they do not say that two columns mean the same.
const OF_ANY_TABLE: [&str; 8] = ["id", "_id", "uuid", "guid", "key", "pk", "code", "no"];

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
    let telling = !OF_ANY_TABLE.contains(&unit.column.to_lowercase().as_str());
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
        let single = |k: &&ForeignKey| k.columns == [column];
        let (what, which) = if let Some(key) = r.foreign_keys.iter().find(single) {
            let there = format!("{}.{}", key.references.1, key.referenced_columns.join(", "));
            (format!("{column:?} refers to {there}, and not to the unit, {named}"), "unit")
        } else if r.keys.iter().any(|k| !k.partial && k.columns == [column])
            && !(telling && column == unit.column)
        {
            let what = format!(
                "{column:?} is a key of {:?}: each row would be a unit of its own, and nobody with several rows would be \
                 protected",
                t.name.value
            );
            (what, "row")
        } else {
            // No foreign key says anything of it: what one says of another column, or its name, is likelier to be meant.
            let known =
                r.columns.iter().find(|c| is_units(r, &c.name)).map(|c| (c, "which refers to the unit"));
            let named = || r.columns.iter().find(|c| telling && c.name == unit.column);
            if let Some((other, why)) = known.or_else(|| Some((named()?, "as the unit is called")))
                && other.name != column
            {
                let what = format!(
                    "{:?} has a column {:?}, {why}, and its unit_column is {column:?}",
                    t.name.value, other.name
                );
                let hint = format!("write unit_column = {:?}, if it says whose each row is", other.name);
                f.warn(&written.span, what, hint);
                said.push(i);
            }
            continue;
        };
        let all_the_same = format!("unit_path = \"{column} -> {named}\"");
        let by = match which {
            "row" => format!(
                "if {column} holds values of {named} all the same, one row for each, {all_the_same} says so"
            ),
            _ => format!("if its values are those of {named} all the same, {all_the_same} says so"),
        };
        let hint = match way(r, raw, relations, &is_units) {
            Some(way) => format!("write {way}; {by}"),
            None => format!(
                "name the column that says whose each row is, or the way to it: unit_path = \"… -> table.column\"; {by}"
            ),
        };
        f.error(&written.span, what, hint);
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
    if let Some(c) = r.columns.iter().find(|c| is_units(r, &c.name)) {
        return Some(format!("unit_column = {:?}, which refers to the unit", c.name));
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
