//! Differences between two readings of a schema, in the owner's words.

use super::{Check, Column, ForeignKey, Key, Relation, Schema, SqlType};

/// Differences of `new` from `old` among the tables named, one line each. OIDs differ after every
/// restore and are not compared.
pub fn differences(old: &Schema, new: &Schema, tables: &[(&str, &str)]) -> Vec<String> {
    let mut out = Vec::new();
    if old.server_version != new.server_version {
        out.push(format!("PostgreSQL is {}, was {}", version(new), version(old)));
    }
    if old.engine != new.engine {
        out.push(format!("the engine is {}, was {}", new.engine.word(), old.engine.word()));
    }
    for (schema, name) in tables {
        let table = format!("{schema}.{name}");
        match (old.relation(schema, name), new.relation(schema, name)) {
            (None, None) => {}
            (None, Some(_)) => out.push(format!("table {table} is new")),
            (Some(_), None) => out.push(format!("table {table} is gone")),
            (Some(a), Some(b)) => relation(&table, a, b, &mut out),
        }
    }
    out
}

/// `15.18`, as a server prints its version.
pub fn version(schema: &Schema) -> String {
    format!("{}.{}", schema.server_version / 10_000, schema.server_version % 10_000)
}

fn relation(table: &str, old: &Relation, new: &Relation, out: &mut Vec<String>) {
    if old.kind != new.kind {
        out.push(format!("table {table} is a {:?}, was a {:?}", new.kind, old.kind));
    }
    if old.row_security != new.row_security {
        let (is, was) = if new.row_security { ("has", "had none") } else { ("has no", "had") };
        out.push(format!("table {table} {is} row-level security, {was}"));
    }
    if old.placement != new.placement {
        out.push(format!("table {table} is placed as {:?}, was as {:?}", new.placement, old.placement));
    }
    if old.foreign_part != new.foreign_part {
        let part = |r: &Relation| r.foreign_part.clone().unwrap_or_else(|| "no part".into());
        out.push(format!("of table {table} {} is a foreign table, was {}", part(new), part(old)));
    }
    for c in &new.columns {
        match old.column(&c.name) {
            None => out.push(format!("column {table}.{} is new", c.name)),
            Some(before) => column(table, before, c, out),
        }
    }
    for c in old.columns.iter().filter(|c| new.column(&c.name).is_none()) {
        out.push(format!("column {table}.{} is gone", c.name));
    }
    listed(table, "key", old.keys.iter().map(key), new.keys.iter().map(key), out);
    let keys = |r: &Relation| r.foreign_keys.iter().map(foreign_key).collect::<Vec<_>>();
    listed(table, "foreign key", keys(old).into_iter(), keys(new).into_iter(), out);
    listed(table, "CHECK", old.checks.iter().map(check), new.checks.iter().map(check), out);
}

fn column(table: &str, old: &Column, new: &Column, out: &mut Vec<String>) {
    let mut differ = |what: &str, is: String, was: String| {
        if is != was {
            out.push(format!("column {table}.{}: {what} is {is}, was {was}", new.name));
        }
    };
    differ("type", type_of(new), type_of(old));
    differ("NOT NULL", new.not_null.to_string(), old.not_null.to_string());
    let collation =
        |c: &Column| if c.deterministic_collation { "deterministic" } else { "nondeterministic" }.into();
    differ("collation", collation(new), collation(old));
    let computed = |c: &Column| if c.virtual_expression { "when read" } else { "no" }.into();
    differ("computed", computed(new), computed(old));
    let labels = |c: &Column| c.enum_labels.as_ref().map_or(String::new(), |l| l.join(", "));
    differ("list of labels", labels(new), labels(old));
}

fn type_of(c: &Column) -> String {
    match (&c.ty, c.numeric_precision) {
        (SqlType::Numeric { scale: Some(s) }, Some(p)) => format!("numeric({p},{s})"),
        (SqlType::Enum { name, .. } | SqlType::Other { name, .. }, _) => name.clone(),
        (ty, _) => ty.sql_name().trim_start_matches("pg_catalog.").to_owned(),
    }
}

fn key(k: &Key) -> String {
    let mut text = format!("({})", k.columns.join(", "));
    for (holds, word) in [
        (k.primary, " primary"),
        (!k.valid, " invalid"),
        (!k.immediate, " deferrable"),
        (k.partial, " partial"),
    ] {
        if holds {
            text.push_str(word);
        }
    }
    text
}

fn foreign_key(k: &ForeignKey) -> String {
    let (schema, table) = &k.references;
    let weak = if k.valid { "" } else { " not valid" };
    format!("({}) -> {schema}.{table} ({}){weak}", k.columns.join(", "), k.referenced_columns.join(", "))
}

fn check(k: &Check) -> String {
    match (&k.values, &k.low, &k.high) {
        (Some(values), _, _) => format!("of {} IN ({})", k.column, values.join(", ")),
        (None, low, high) => {
            let end = |e: &Option<String>| e.clone().unwrap_or_else(|| "…".into());
            format!("of {} from {} to {}", k.column, end(low), end(high))
        }
    }
}

/// What one list of definitions has and the other has not.
fn listed(
    table: &str,
    what: &str,
    old: impl Iterator<Item = String>,
    new: impl Iterator<Item = String>,
    out: &mut Vec<String>,
) {
    let (old, new): (Vec<String>, Vec<String>) = (old.collect(), new.collect());
    let mut only = |here: &[String], there: &[String], word: &str| {
        for text in here.iter().filter(|t| !there.contains(t)) {
            out.push(format!("{what} {text} of {table} is {word}"));
        }
    };
    only(&new, &old, "new");
    only(&old, &new, "gone");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn each_kind_of_change_is_named() {
        let text = include_str!("../../tests/policy/schema.json");
        let old: Schema = serde_json::from_str(text).unwrap();
        let tables = [("public", "trips"), ("public", "riders"), ("odd", "checks"), ("public", "nowhere")];
        assert_eq!(differences(&old, &old, &tables), [""; 0]);
        let mut new = old.clone();
        let mut change = |name: &str, how: &dyn Fn(&mut Relation)| {
            how(new.relations.iter_mut().find(|r| r.name == name).unwrap());
        };
        change("trips", &|r| {
            r.oid += 1;
            r.keys.clear();
            r.foreign_keys[0].valid = false;
            r.columns.retain(|c| c.name != "minutes");
            r.row_security = true;
            let fare = r.columns.iter_mut().find(|c| c.name == "fare").unwrap();
            (fare.ty, fare.not_null) = (SqlType::Numeric { scale: Some(3) }, false);
        });
        change("riders", &|r| r.columns.push(Column { name: "shoe".into(), ..r.columns[0].clone() }));
        change("checks", &|r| r.checks.retain(|c| c.column != "day"));
        new.relations.retain(|r| r.name != "stations");
        new.server_version = 180_001;
        let found = differences(&old, &new, &[&tables[..], &[("public", "stations")]].concat());
        let expected = [
            &format!("PostgreSQL is 18.1, was {}", version(&old)),
            "table public.trips has row-level security, had none",
            "column public.trips.fare: type is numeric(6,3), was numeric(6,2)",
            "column public.trips.fare: NOT NULL is false, was true",
            "column public.trips.minutes is gone",
            "key (trip_id) primary of public.trips is gone",
            "foreign key (rider_id) -> public.riders (rider_id) not valid of public.trips is new",
            "foreign key (rider_id) -> public.riders (rider_id) of public.trips is gone",
            "column public.riders.shoe is new",
            "CHECK of day from 1 to … of odd.checks is gone",
            "CHECK of day from … to 7 of odd.checks is gone",
            "table public.stations is gone",
        ];
        assert_eq!(found, expected);
    }
}
